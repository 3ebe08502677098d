"""What a server answers, in whatever shape: what it carried out arrives, what can not be used is named."""

import json

import pytest
import trio

from tests.actors.upstream_world import World, misbehaving, refused, stdio, text
from tests.servers.zoo import zoo

INFO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "x", "version": "1"},
}
DISCOVERED = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, "ttlMs": 0}
IN = "introduces_itself"


def without(key):
    return {name: value for name, value in INFO.items() if name != key}


@pytest.mark.parametrize(
    "said",
    [
        INFO | {"serverInfo": {"name": "x"}},
        INFO | {"serverInfo": {"version": "1"}},
        INFO | {"serverInfo": {"name": None, "version": 2, "icons": "no"}},
        INFO | {"serverInfo": "x"},
        INFO | {"capabilities": None},
        INFO | {"capabilities": []},
        INFO | {"capabilities": {"tools": True, "logging": None, "experimental": {"x": True}, "tasks": 5}},
        INFO | {"capabilities": {"tools": {"listChanged": "yes"}, "extensions": []}},
        INFO | {"instructions": ["a", "b"], "_meta": "odd"},
        without("serverInfo"),
        without("capabilities"),
        DISCOVERED,
        DISCOVERED | {"capabilities": None, "ttlMs": "soon", "resultType": None, "_meta": 3},
        DISCOVERED | {"supportedVersions": "2026-07-28", "cacheScope": "all", "instructions": {}},
        DISCOVERED | {"_meta": {"io.modelcontextprotocol/serverInfo": {"name": "x"}}},
    ],
)
async def test_a_handshake_that_leaves_out_what_nobody_uses_connects(nursery, said):
    protocol = "2026-07-28" if "supportedVersions" in said else "legacy"
    world = await World(misbehaving(IN, json.dumps(said), protocol=protocol)).start(nursery)
    assert (await world.reach(IN, "ready", "failed"))["reason"] == ""
    assert text(await world.call(IN)) == "ok"


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (without("protocolVersion"), "protocolVersion is missing"),
        (INFO | {"protocolVersion": 7}, "protocolVersion is a number, not text"),
        (INFO | {"protocolVersion": None}, "protocolVersion is null, not text"),
        (DISCOVERED | {"supportedVersions": {}}, "supportedVersions is an object"),
        ([], "its answer to initialize is a list"),
    ],
)
async def test_a_handshake_that_can_not_be_used_names_the_field(nursery, said, words):
    protocol = "2026-07-28" if "supportedVersions" in said else "legacy"
    world = await World(misbehaving(IN, json.dumps(said), protocol=protocol)).start(nursery)
    assert words in (await world.reach(IN, "failed"))["reason"]


async def test_a_refused_handshake_says_why_whatever_else_the_server_answers(nursery):
    refusal = '{"jsonrpc":"2.0","id":ID,"error":{"code":-32602,"message":"no licence"}}'
    odd = '{"jsonrpc":"2.0","id":ID,"result":{}}'
    answers = ("initialize", refusal, "server/discover", odd)
    world = await World(misbehaving(IN, json.dumps(INFO), *answers)).start(nursery)
    assert "no licence" in (await world.reach(IN, "failed"))["reason"]


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        ('{"jsonrpc":"2.0","id":ID,"result":[]}', "", "was a list"),
        ('{"jsonrpc":"2.0","id":ID,"result":"ok"}', "", "ok"),
        ('{"jsonrpc":"2.0","id":ID,"result":null}', "", "was null"),
        ('{"id":ID,"result":{"content":null}}', "", ""),
        ('{"jsonrpc":"1.0","id":"ID","result":{}}', "", ""),
        ('{"jsonrpc":"2.0","id":null,"result":{"content":"all"}}', "", "all"),
        (
            '{"jsonrpc":"2.0","id":ID,"error":{"code":"X","message":"project is missing"}}',
            "SERVER_ERROR",
            "missing",
        ),
        ('{"jsonrpc":"2.0","id":ID,"error":{"message":"project is missing"}}', "SERVER_ERROR", "missing"),
        ('{"jsonrpc":"2.0","id":null,"error":"broken"}', "SERVER_ERROR", "broken"),
        ('{"error":{"code":-32600,"message":"no"}}', "SERVER_ERROR", "no"),
        ('{"jsonrpc":"2.0","id":ID,"message":"hi"}', "BAD_RESULT", "neither result nor error"),
    ],
)
async def test_an_answer_that_is_no_json_rpc_ends_its_call(nursery, line, code, words):
    world = await World(misbehaving(IN, json.dumps(INFO), "tools/call", line)).start(nursery)
    await world.reach(IN, "ready")
    if code:
        assert words in await refused(code, world.call, IN)
    else:
        assert words in " ".join(block["text"] for block in (await world.call(IN))["content"])


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{"jsonrpc":"2.0","id":ID,"result":[]}', "is a list"),
        ('{"jsonrpc":"2.0","id":ID,"result":"ok"}', "is text"),
        ('{"jsonrpc":"2.0","id":ID,"error":{"message":"no project"}}', "no project"),
        ('{"jsonrpc":"2.0","id":null,"error":"no project"}', "no project"),
        ('{"jsonrpc":"2.0","id":ID,"result":{"tools":{}}}', "no list of tools"),
    ],
)
async def test_a_list_that_is_none_says_what_came(nursery, line, words):
    world = await World(misbehaving(IN, json.dumps(INFO), "tools/list", line)).start(nursery)
    assert words in (await world.reach(IN, "failed"))["reason"]


async def test_progress_keeps_a_call_alive(nursery):
    world = await World(misbehaving("works_long")).start(nursery)
    await world.reach("works_long", "ready")
    assert text(await world.call("works_long", timeout_s=1, s=3)) == "built"
    words = await refused("INDETERMINATE", world.call, "works_long", timeout_s=0.5, s=2, silent=True)
    assert "within 0.5 s" in words


async def test_progress_keeps_a_call_alive_for_so_long_only(nursery):
    world = await World(misbehaving("works_long"), max_call_s=1.5).start(nursery)
    await world.reach("works_long", "ready")
    words = await refused("INDETERMINATE", world.call, "works_long", timeout_s=1, s=20)
    assert "within 1.5 s, whatever progress" in words


class Client:
    """Answers all that it is asked with the key."""

    def __init__(self):
        self.rounds = []

    async def ask_all(self, server, asked):
        await trio.lowlevel.checkpoint()
        self.rounds.append(asked)
        return {key: {"action": "accept", "content": {"name": key}} for key in asked}

    def tell(self, server, method, params):
        pass


async def test_what_a_server_asks_at_once_is_answered_at_once_by_its_keys(nursery):
    entry = zoo("offers", "--stateless")
    spec = stdio("offers", entry["command"], *entry["args"], protocol="2026-07-28")
    world, client = await World(spec).start(nursery), Client()
    await world.reach("offers", "ready")
    answers = {key: {"action": "accept", "content": {"name": key}} for key in ("who", "q 2")}
    result = await world.fleet.call("offers", "ask_both", {}, timeout_s=30, client=client)
    assert json.loads(text(result)) == answers
    params = {"name": "ask_both"}
    prompt = await world.fleet.request("offers", "prompts/get", params, timeout_s=30, client=client)
    assert json.loads(prompt["description"]) == answers
    assert [set(asked) for asked in client.rounds] == [{"who", "q 2"}] * 2


@pytest.mark.parametrize(
    "requests", ["[]", '"x"', '{"a":5}', '{"a":{"method":7}}', '{"a":{"method":"x/y","params":[]}}', "{}"]
)
async def test_what_a_server_asks_in_an_odd_shape_is_unsupported(nursery, requests):
    line = '{"id":ID,"result":{"resultType":"input_required","inputRequests":' + requests + "}}"
    world = await World(misbehaving(IN, json.dumps(INFO), "tools/call", line)).start(nursery)
    await world.reach(IN, "ready")
    await refused("UNSUPPORTED", world.fleet.call, IN, "echo", {}, timeout_s=30, client=Client())
