"""The MCP door on a real socket, spoken to in plain JSON lines."""

import json

import pytest
import trio

from tests.actors.door_session import Catalog, make_tool, open_door, text_result
from toolsearchd.limits import Limits


async def echo(arguments, report):
    return text_result(json.dumps(arguments))


ECHO = make_tool("srv", "echo")


@pytest.fixture
def catalog():
    return Catalog({ECHO: echo})


def text_of(message):
    return message["result"]["content"][0]["text"]


# --- the session ---------------------------------------------------------------------------------


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
async def test_initialize_opens_the_session_under_the_clients_own_name(catalog, version):
    async with open_door(catalog) as peer:
        result = await peer.initialize("some-editor", version)
        assert result["protocolVersion"] == version
        assert result["capabilities"] == {
            "tools": {"listChanged": True},
            "prompts": {"listChanged": True},
            "resources": {"listChanged": True, "subscribe": True},
            "completions": {},
            "logging": {},
        }
        assert "tool_search" in result["instructions"]
        assert catalog.sessions[0].hello.client == "some-editor"
        assert await peer.answer(1, "ping") == {}
    assert catalog.closed == catalog.sessions


async def test_nothing_is_opened_for_a_peer_that_never_initializes(catalog):
    async with open_door(catalog) as peer:
        error = await peer.answer(1, "tools/list")
        assert error["code"] == -32602
    assert catalog.sessions == catalog.closed == []


async def test_bytes_that_came_with_the_hello_are_served(catalog):
    first = b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n{"jsonrpc": "2.0", "id": 2, '
    async with open_door(catalog, first_bytes=first) as peer:
        assert (await peer.receive())["id"] == 1
        await peer.send_raw(b'"method": "ping"}\n')
        assert (await peer.receive())["id"] == 2


async def test_a_revision_of_2026_needs_no_handshake(catalog):
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "modern", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    async with open_door(catalog) as peer:
        found = await peer.answer(1, "server/discover", {"_meta": meta})
        assert found["supportedVersions"] == ["2026-07-28"]
        assert "tool_search" in found["instructions"]
        listed = await peer.answer(2, "tools/list", {"_meta": meta})
        assert [tool["name"] for tool in listed["tools"]] == ["tool_search", "tool_describe", "tool_call"]
        params = {"_meta": meta, "name": "srv__echo", "arguments": {"a": 1}}
        assert (await peer.answer(3, "tools/call", params))["content"][0]["text"] == '{"a": 1}'
        assert [session.hello.client for session in catalog.sessions] == ["modern"]


# --- tools/list ----------------------------------------------------------------------------------


async def test_the_bridge_tools_are_marked_to_be_loaded_always(catalog):
    async with open_door(catalog) as peer:
        await peer.initialize()
        tools = (await peer.answer(1, "tools/list"))["tools"]
        assert [tool["name"] for tool in tools] == ["tool_search", "tool_describe", "tool_call"]
        assert all(tool["_meta"] == {"anthropic/alwaysLoad": True} for tool in tools)
        assert tools[0]["annotations"]["readOnlyHint"] is True
        assert tools[2]["annotations"]["destructiveHint"] is True


async def test_a_client_that_cuts_gets_the_listing_where_it_shows():
    lines = [f"line {number} of the listing" for number in range(100)]
    async with open_door(Catalog({ECHO: echo}, listing="\n".join(lines))) as peer:
        instructions = (await peer.initialize("claude-code"))["instructions"]
        description = (await peer.answer(1, "tools/list"))["tools"][0]["description"]
        assert len(description) <= 2048
        assert len(instructions) <= 2048
        shown = description.splitlines() + instructions.splitlines()
        assert [line for line in shown if line in lines] == lines


async def test_direct_tools_keep_all_that_their_server_says():
    fields = {
        "title": "Echo",
        "description": "\n  says\tit again\n\n\n\nand again:\n\n  é ",
        "inputSchema": {"type": "object", "properties": {"a": {"default": None, "type": ["null", "string"]}}},
        "outputSchema": {"type": "object", "properties": {"b": {}}},
        "annotations": {"readOnlyHint": True, "title": "E"},
        "icons": [{"src": "data:image/png;base64,aGk=", "sizes": ["48x48"]}],
        "_meta": {"ui": {"resourceUri": "ui://srv/a"}, "com.example/lines": "a\n\n\nb", "none": None},
    }
    tool = make_tool("srv", "echo", **fields)
    async with open_door(Catalog({tool: echo}, direct=True)) as peer:
        await peer.initialize()
        assert (await peer.answer(1, "tools/list"))["tools"] == [{"name": "srv__echo"} | fields]


async def test_schemas_stand_there_byte_for_byte():
    schema = {
        "required": ["b"],
        "properties": {"b": {"z": 1, "type": "string"}},
        "$schema": "x",
        "type": "object",
    }
    tool = make_tool("srv", "echo", inputSchema=schema, outputSchema=schema)
    async with open_door(Catalog({tool: echo}, direct=True)) as peer:
        await peer.initialize()
        (listed,) = (await peer.answer(1, "tools/list"))["tools"]
        for part in ("inputSchema", "outputSchema"):
            assert json.dumps(listed[part]) == json.dumps(schema)


async def test_a_definition_that_a_revision_refuses_costs_only_its_own_extras():
    kept = {"title": "Odd", "inputSchema": {"type": "object", "required": ["a"]}, "_meta": {"a": 1}}
    odd = make_tool("srv", "odd", description="odd", outputSchema={"type": "array"}, icons=["x"], **kept)
    async with open_door(Catalog({odd: echo, ECHO: echo}, direct=True)) as peer:
        await peer.initialize()
        tools = (await peer.answer(1, "tools/list"))["tools"]
        assert [tool["name"] for tool in tools] == ["srv__odd", "srv__echo"]
        assert tools[0] == {"name": "srv__odd", "description": "odd"} | kept


async def test_a_list_too_long_for_an_answer_is_paged():
    long = "x" * 350_000
    tools = {make_tool("srv", f"t{number}", description=long): echo for number in range(9)}
    async with open_door(Catalog(tools, direct=True)) as peer:
        await peer.initialize()
        names, cursor, pages = [], None, 0
        while pages == 0 or cursor:
            page = await peer.answer(1, "tools/list", {"cursor": cursor} if cursor else {})
            names += [tool["name"] for tool in page["tools"]]
            cursor, pages = page.get("nextCursor"), pages + 1
        assert names == [f"srv__t{number}" for number in range(9)]
        assert pages == 2
        assert (await peer.answer(2, "tools/list", {"cursor": "half"}))["code"] == -32602


async def test_a_change_is_said_once_and_listed_anew():
    catalog = Catalog({ECHO: echo}, direct=True)
    async with open_door(catalog, limits=Limits(list_min_interval_s=0.01)) as peer:
        await peer.initialize()
        await peer.answer(1, "tools/list")
        for number in range(5):
            catalog.change({ECHO: echo, make_tool("srv", f"new{number}"): echo})
        assert (await peer.receive())["method"] == "notifications/tools/list_changed"
        tools = (await peer.answer(2, "tools/list"))["tools"]  # the next message is its answer
        assert [tool["name"] for tool in tools] == ["srv__echo", "srv__new4"]


async def test_a_snapshot_that_changes_nothing_here_is_not_said(catalog):
    async with open_door(catalog, limits=Limits(list_min_interval_s=0.01)) as peer:
        await peer.initialize()
        catalog.change()
        catalog.change(listing="another listing")
        assert (await peer.receive())["method"] == "notifications/tools/list_changed"
        assert await peer.answer(1, "ping") == {}


# --- tools/call ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["srv__echo", "mcp__srv__echo"])
async def test_a_granted_tool_is_called_listed_or_not(catalog, name):
    async with open_door(catalog) as peer:
        await peer.initialize()
        await peer.call(1, name, {"a": 1})
        assert text_of(await peer.receive()) == '{"a": 1}'


async def test_a_long_name_is_called_by_its_door_name():
    tool = make_tool("a-server-with-a-long-name", "a_tool_with_an_even_longer_name")
    catalog = Catalog({tool: echo}, direct=True)
    async with open_door(catalog) as peer:
        await peer.initialize()
        name = (await peer.answer(1, "tools/list"))["tools"][0]["name"]
        assert len(name) <= 40
        await peer.call(2, name, {"a": 1})
        assert text_of(await peer.receive()) == '{"a": 1}'


async def test_one_entry_of_tool_call_returns_the_tools_own_result():
    own = {
        "content": [{"type": "image", "data": "aGk=", "mimeType": "image/png"}],
        "structuredContent": {"a": None, "b": [1]},
        "isError": True,
    }

    async def fail(arguments, report):
        return own

    async with open_door(Catalog({ECHO: fail})) as peer:
        await peer.initialize()
        await peer.call(1, "tool_call", {"calls": [{"name": "mcp__srv__echo", "arguments": {}}]})
        assert (await peer.receive())["result"] == own


async def test_several_entries_return_the_batch(catalog):
    async with open_door(catalog) as peer:
        await peer.initialize()
        entries = [{"name": "mcp__srv__echo", "arguments": {"n": n}} for n in (1, 2)]
        await peer.call(1, "tool_call", {"calls": entries})
        result = (await peer.receive())["result"]
        assert result["structuredContent"]["success_count"] == 2
        assert json.loads(result["content"][0]["text"]) == result["structuredContent"]


async def test_search_and_describe_answer_with_text_and_structure(catalog):
    async with open_door(catalog) as peer:
        await peer.initialize()
        for name, arguments, key in (
            ("tool_search", {"queries": ["x"]}, "results"),
            ("tool_describe", {"names": ["mcp__srv__echo"]}, "tools"),
        ):
            await peer.call(name, name, arguments)
            result = (await peer.receive())["result"]
            assert key in result["structuredContent"]
            assert json.loads(result["content"][0]["text"]) == result["structuredContent"]


@pytest.mark.parametrize(
    ("name", "arguments", "code"),
    [
        ("srv__ekko", {}, "TOOL_NOT_FOUND"),
        ("tool_search", {}, "BAD_ARGUMENTS"),
        ("tool_call", {"calls": "no"}, "BAD_ARGUMENTS"),
    ],
)
async def test_an_error_of_ours_is_a_result_that_a_model_can_read(catalog, name, arguments, code):
    async with open_door(catalog) as peer:
        await peer.initialize()
        await peer.call(1, name, arguments)
        result = (await peer.receive())["result"]
        assert result["isError"]
        assert result["structuredContent"]["code"] == code
        assert code in result["content"][0]["text"]


async def test_progress_comes_before_the_answer_and_only_where_it_was_asked_for():
    async def work(arguments, report):
        for step in (0, 50, 50, 100):
            report(step, 100, f"at {step}")
        return text_result("done")

    async with open_door(Catalog({ECHO: work})) as peer:
        await peer.initialize()
        await peer.call(1, "srv__echo", progressToken="p")
        messages = [await peer.receive() for _ in range(4)]
        reports = [message["params"] for message in messages[:3]]
        assert [report["progress"] for report in reports] == [0, 50, 100]
        assert reports[1] == {"progressToken": "p", "progress": 50, "total": 100, "message": "at 50"}
        assert text_of(messages[3]) == "done"
        await peer.call(2, "srv__echo")
        assert text_of(await peer.receive()) == "done"


async def test_progress_of_a_batch_counts_its_entries():
    async def work(arguments, report):
        report(1, 2)
        return text_result("done")

    async with open_door(Catalog({ECHO: work})) as peer:
        await peer.initialize()
        entries = [{"name": "mcp__srv__echo", "arguments": {}}] * 2
        await peer.call(1, "tool_call", {"calls": entries}, progressToken=7)
        reports = [(await peer.receive())["params"] for _ in range(2)]
        assert [(report["progress"], report["total"]) for report in reports] == [(0.5, 2), (1.5, 2)]


# --- concurrency and cancellation ----------------------------------------------------------------


class Gate:
    """A tool that waits to be let through."""

    def __init__(self):
        self.entered = trio.Event()
        self.cancelled = trio.Event()
        self.open = trio.Event()

    async def __call__(self, arguments, report):
        self.entered.set()
        try:
            await self.open.wait()
        except trio.Cancelled:
            self.cancelled.set()
            raise
        return text_result("through")


async def test_a_slow_call_holds_up_nothing(catalog):
    gate = Gate()
    catalog.tools[make_tool("srv", "slow")] = gate
    async with open_door(catalog) as peer:
        await peer.initialize()
        await peer.call(1, "srv__slow")
        await gate.entered.wait()
        assert await peer.answer(2, "ping") == {}
        await peer.call(3, "srv__echo")
        assert (await peer.receive())["id"] == 3
        gate.open.set()
        assert text_of(await peer.receive()) == "through"


@pytest.mark.parametrize("request_id", [7, "seven"])
async def test_a_cancelled_request_is_stopped_and_not_answered(catalog, request_id):
    gate = Gate()
    catalog.tools[make_tool("srv", "slow")] = gate
    async with open_door(catalog) as peer:
        await peer.initialize()
        await peer.call(request_id, "srv__slow")
        await gate.entered.wait()
        await peer.send(
            {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": request_id}}
        )
        with trio.fail_after(5):
            await gate.cancelled.wait()
        assert await peer.answer(8, "ping") == {}  # and nothing before it


async def test_a_request_cancelled_in_one_breath_is_stopped_too(catalog):
    gate = Gate()
    catalog.tools[make_tool("srv", "slow")] = gate
    params = {"name": "srv__slow", "arguments": {}}
    async with open_door(catalog) as peer:
        await peer.initialize()
        await peer.send(
            {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params},
            {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}},
            {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 99}},
            {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": None}},
        )
        assert await peer.answer(8, "ping") == {}
        with trio.fail_after(5):
            while len(catalog.sessions[0].queue):
                await trio.sleep(0.01)
        assert not gate.open.is_set()


async def test_calls_beyond_the_window_wait_their_turn(catalog):
    gate = Gate()
    catalog.tools[make_tool("srv", "slow")] = gate
    async with open_door(catalog, limits=Limits(open_requests=2)) as peer:
        await peer.initialize()
        for number in range(5):
            await peer.call(number, "srv__slow")
        await gate.entered.wait()
        assert await peer.answer("p", "ping") == {}
        assert len(catalog.sessions[0].queue) <= 2
        gate.open.set()
        assert sorted([(await peer.receive())["id"] for _ in range(5)]) == list(range(5))


async def test_a_client_that_leaves_closes_its_session_and_stops_nothing(catalog):
    gate = Gate()
    catalog.tools[make_tool("srv", "slow")] = gate
    async with open_door(catalog) as peer:
        await peer.initialize()
        await peer.call(1, "srv__slow")
        await gate.entered.wait()
        await peer.aclose()
        with trio.fail_after(5):
            while not catalog.closed:
                await trio.sleep(0.01)
        # What becomes of its running calls is the session's word, not the door's.
        assert catalog.sessions[0].stops == []
        assert not gate.cancelled.is_set()


# --- junk ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "code", "request_id"),
    [
        (b"no JSON at all", -32700, None),
        (b"[1, 2]", -32700, None),
        (b"\xff\xfe\x00", -32700, None),
        (b'{"a":' * 50_000, -32700, None),
        (b'{"jsonrpc": "2.0", "id": 3, "method": 5}', -32600, 3),
        (b'{"id": "x", "method": "ping"}', -32600, "x"),
        (b'{"jsonrpc": "2.0", "id": 3, "method": "no/such"}', -32601, 3),
        (b'{"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": 5}}', -32602, 3),
        (b'{"jsonrpc": "2.0", "id": 3, "method": "initialize"}', -32602, 3),
    ],
)
async def test_a_malformed_message_is_answered_and_the_session_goes_on(catalog, line, code, request_id):
    async with open_door(catalog) as peer:
        await peer.initialize()
        await peer.send_raw(line + b"\n\n")
        reply = await peer.receive()
        assert (reply["error"]["code"], reply["id"]) == (code, request_id)
        assert await peer.answer(9, "ping") == {}


async def test_an_overlong_line_is_dropped_and_said(catalog):
    async with open_door(catalog, limits=Limits(line_bytes=1000)) as peer:
        await peer.initialize()
        await peer.send_raw(b"x" * 5000 + b"\n")
        assert "1000 bytes" in (await peer.receive())["error"]["message"]
        assert await peer.answer(9, "ping") == {}


async def test_half_a_surrogate_pair_in_an_argument_costs_that_character(catalog):
    params = rb'{"name":"srv__echo","arguments":{"a":"x\ud83d"}}'
    line = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":' + params + b"}"
    async with open_door(catalog) as peer:
        await peer.initialize()
        await peer.send_raw(line + b"\n")
        assert json.loads(text_of(await peer.receive())) == {"a": "x?"}


async def test_notifications_and_answers_nobody_waits_for_are_ignored(catalog):
    async with open_door(catalog) as peer:
        await peer.initialize()
        await peer.send(
            {"jsonrpc": "2.0", "method": "notifications/no/such"},
            {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": 1}},
            {"jsonrpc": "2.0", "id": 5, "result": {}},
            {"jsonrpc": "2.0", "id": 5, "error": {"code": 1, "message": "m"}},
        )
        assert await peer.answer(9, "ping") == {}


async def test_requests_left_unanswered_are_charged_until_reading_stops(catalog):
    gate = Gate()
    catalog.tools[make_tool("srv", "slow")] = gate
    limits = Limits(outstanding_bytes=20_000)
    async with open_door(catalog, limits=limits) as peer:
        await peer.initialize()
        await peer.call(1, "srv__slow", {"a": "x" * 30_000})
        await gate.entered.wait()
        await peer.request(2, "ping")
        with trio.move_on_after(0.2) as waited:
            await peer.receive()
        assert waited.cancelled_caught
        gate.open.set()
        assert [(await peer.receive())["id"] for _ in range(2)] == [1, 2]


async def test_doors_are_apart():
    first, second = Catalog({ECHO: echo}), Catalog({ECHO: echo})
    async with open_door(first) as one, open_door(second) as two:
        await one.initialize("one")
        await two.initialize("two")
        await one.send_raw(b"junk\n")
        await one.receive()
        assert await two.answer(1, "ping") == {}
    assert [catalog.sessions[0].hello.client for catalog in (first, second)] == ["one", "two"]
