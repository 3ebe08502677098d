"""Servers over HTTP: Streamable HTTP in both forms of answer, and the legacy transport with SSE."""

import json
import subprocess
import sys

import pytest
import trio

from tests.actors.upstream_world import World, refused, text
from tests.servers.zoo import HERE
from toolsearchd.config.model import ServerSpec

# The SDK leaves httpx's generators to the garbage collector, which trio tells of.
pytestmark = [
    pytest.mark.filterwarnings("ignore:Async generator .* was garbage collected:ResourceWarning"),
    pytest.mark.filterwarnings(
        "ignore:Exception ignored in. <async_generator:pytest.PytestUnraisableExceptionWarning"
    ),
]


class RemoteServer:
    """`remote.py` as a process; `port` stays the same over a restart."""

    def __init__(self, mode):
        self.mode, self.port, self.process = mode, 0, None
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            [sys.executable, "-I", HERE / "remote.py", self.mode, str(self.port)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self.port = int(self.process.stdout.readline())

    def stop(self):
        self.process.kill()
        self.process.communicate()

    def spec(self, **more):
        sse = self.mode == "legacy"
        return ServerSpec(
            name="remote",
            transport="sse" if sse else "http",
            url=f"http://127.0.0.1:{self.port}/{'sse' if sse else 'mcp'}",
            headers={"Authorization": "Bearer s3cret"},
            digest=self.mode,
            **more,
        )


@pytest.fixture
def serve():
    servers = []

    def start(mode):
        servers.append(RemoteServer(mode))
        return servers[-1]

    yield start
    for server in servers:
        server.stop()


TRANSPORTS = pytest.mark.parametrize("mode", ["json", "events", "legacy"])


@TRANSPORTS
async def test_listed_called_and_one_deep_schema_costs_itself(nursery, serve, mode):
    world = await World(serve(mode).spec()).start(nursery)
    status = await world.reach("remote", "ready")
    assert (status["pid"], status["protocol"]) == (None, "2025-11-25")
    assert world.tools("remote") == ["echo", "deep"]
    echo, deep = world.source("remote").definitions
    assert not echo.unvalidatable
    assert "deep" in deep.unvalidatable
    assert text(await world.call("remote", text="over the wire")) == "over the wire"


@TRANSPORTS
async def test_answers_that_cannot_be_used_fail_their_call_only(nursery, serve, mode):
    world = await World(serve(mode).spec(), line_bytes=500_000).start(nursery)
    await world.reach("remote", "ready")
    await refused("RESULT_TOO_LARGE", world.call, "remote", bytes=3_000_000)
    result = await world.call("remote", nan=True)  # that value, and nothing else of what was carried out
    assert result["structuredContent"] == {"x": None}
    assert "what can't be passed on" in text(result)
    assert text(await world.call("remote", text="still here")) == "still here"
    assert len(text(await world.call("remote", bytes=400_000))) == 400_000


ODD_ANSWERS = pytest.mark.parametrize(
    ("raw", "code", "words"),
    [
        ('{"jsonrpc":"2.0","id":ID,"result":[]}', "", "was a list"),
        ('{"id":ID,"result":"ok"}', "", "ok"),
        ('{"jsonrpc":"2.0","id":"ID","result":{"content":null}}', "", ""),
        ('{"jsonrpc":"2.0","id":null,"result":null}', "", "was null"),
        ('{"jsonrpc":"2.0","id":ID,"result":{"content":"\\ud800"}}', "", "\ufffd"),
        ('{"jsonrpc":"2.0","id":ID,"result":{"structuredContent":1%s}}' % ("0" * 40), "", "large integers"),
        (
            '{"jsonrpc":"2.0","id":ID,"error":{"code":"X","message":"no project"}}',
            "SERVER_ERROR",
            "no project",
        ),
        ('{"jsonrpc":"2.0","id":ID,"error":{"message":"no project"}}', "SERVER_ERROR", "no project"),
        ('{"jsonrpc":"2.0","id":null,"error":"no \\udc00project"}', "SERVER_ERROR", "project"),
        ('{"jsonrpc":"2.0","id":ID,"more":1}', "BAD_RESULT", "neither result nor error"),
    ],
)


@TRANSPORTS
@ODD_ANSWERS
async def test_an_answer_that_is_no_json_rpc_ends_its_call(nursery, serve, mode, raw, code, words):
    world = await World(serve(mode).spec()).start(nursery)
    await world.reach("remote", "ready")
    if code:
        assert words in await refused(code, world.call, "remote", raw=raw)
    else:
        content = (await world.call("remote", raw=raw))["content"]
        assert words in " ".join(block["text"] for block in content)
    assert text(await world.call("remote", text="still here")) == "still here"


@TRANSPORTS
async def test_a_change_is_heard_of(nursery, serve, mode):
    world = await World(serve(mode).spec()).start(nursery)
    await world.reach("remote", "ready")
    with trio.fail_after(20):
        while "grown" not in world.tools("remote"):  # the listening stream may open after the first call
            await world.call("remote", grow=True)
            await trio.sleep(0.1)


@TRANSPORTS
async def test_a_server_that_goes_away_comes_back(nursery, serve, mode):
    server = serve(mode)
    world = await World(server.spec(), reconnect_delays_s=(0.1,) * 100).start(nursery)
    await world.reach("remote", "ready")
    server.stop()
    if mode != "legacy":  # without a stream to the server its end shows with the next call
        await refused("INDETERMINATE", world.call, "remote", text="x")
    status = await world.reach("remote", "failed")
    assert "s3cret" not in str(status)
    server.start()
    await world.reach("remote", "ready")
    assert text(await world.call("remote", text="back")) == "back"


async def test_a_login_that_is_missing_is_named(nursery, serve):
    world = await World(serve("login").spec()).start(nursery)
    status = await world.reach("remote", "failed", "parked")
    assert "401" in status["reason"]
    assert "login" in status["reason"]
    assert "s3cret" not in str(status)


async def test_nobody_listens(nursery, serve):
    server = serve("json")
    server.stop()
    world = await World(server.spec()).start(nursery)
    assert "can't connect" in (await world.reach("remote", "failed", "parked"))["reason"]


async def test_a_session_that_the_server_ended_is_opened_again(nursery, serve):
    world = await World(serve("forgets").spec(), reconnect_delays_s=(0.1,) * 10).start(nursery)
    await world.reach("remote", "ready")
    assert text(await world.call("remote", text="one")) == "one"
    assert text(await world.call("remote", text="two")) == "two"
    assert world.status("remote")["restarts"] == 1
    assert world.status("remote")["last_error"] == ""


async def test_marked_arguments_go_into_headers_and_tools_whose_marks_are_invalid_are_left_out(
    nursery, serve
):
    world = await World(serve("modern").spec(protocol="2026-07-28")).start(nursery)
    status = await world.reach("remote", "ready", "failed")
    assert world.tools("remote") == ["echo", "nested", "plain"]
    assert [line.partition(":")[0] for line in status["left_out"]] == [
        "no_token",
        "empty",
        "number",
        "in_a_list",
    ]
    assert "two words" in status["left_out"][0]
    for tool, arguments, headers in (
        ("echo", {"text": "hi"}, {"mcp-param-text": "hi"}),
        ("echo", {"text": "ü"}, {"mcp-param-text": "=?base64?w7w=?="}),
        ("echo", {}, {}),
        ("nested", {"at": {"region": "eu"}}, {"mcp-param-region": "eu"}),
        ("plain", {"text": "hi"}, {}),
    ):
        assert json.loads(text(await world.call("remote", tool=tool, **arguments))) == headers
