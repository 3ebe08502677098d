"""The MCP door with the official SDK's client at the other end, in both eras of the protocol."""

import json
from contextlib import asynccontextmanager

import anyio
import mcp
import pytest
import trio
from mcp.client.subscriptions import ToolsListChanged
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from tests.actors.door_session import Catalog, make_tool, open_door, text_result
from toolsearchd.limits import Limits

ECHO = make_tool("srv", "echo", annotations={"readOnlyHint": True})
MODES = ["legacy", "auto", "2026-07-28"]
VERSIONS = {"legacy": "2025-11-25", "auto": "2026-07-28", "2026-07-28": "2026-07-28"}


async def echo(arguments, report):
    report(1, 2, "half")
    return text_result(json.dumps(arguments)) | {"structuredContent": arguments}


@asynccontextmanager
async def transport(peer):
    """The SDK's streams over the test's end of the socket."""
    to_client, client_reads = anyio.create_memory_object_stream(0)
    client_writes, from_client = anyio.create_memory_object_stream(0)

    async def read():
        async with to_client:
            async for line in peer.lines():
                await to_client.send(SessionMessage(jsonrpc_message_adapter.validate_json(line)))

    async def write():
        async with from_client:
            async for item in from_client:
                line = item.message.model_dump_json(by_alias=True, exclude_unset=True)
                await peer.send_raw(line.encode() + b"\n")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(read)
        nursery.start_soon(write)
        yield client_reads, client_writes
        nursery.cancel_scope.cancel()


@asynccontextmanager
async def open_client(catalog, mode, **options):
    async with open_door(catalog, limits=Limits(list_min_interval_s=0.01)) as peer:
        info = mcp.Implementation(name="sdk-client", version="1")
        async with mcp.Client(transport(peer), mode=mode, client_info=info, **options) as client:
            yield client


@pytest.mark.parametrize("mode", MODES)
async def test_the_tools_are_listed_and_called(mode):
    catalog = Catalog({ECHO: echo})
    async with open_client(catalog, mode) as client:
        assert client.protocol_version == VERSIONS[mode]
        if mode != "2026-07-28":  # pinned to a revision the client asks for no instructions
            assert "tool_search" in client.instructions
        tools = (await client.list_tools()).tools
        assert [session.hello.client for session in catalog.sessions] == ["sdk-client"]
        assert [tool.name for tool in tools] == ["tool_search", "tool_describe", "tool_call"]
        found = await client.call_tool("tool_search", {"queries": ["x"]})
        assert found.structured_content["queries"] == ["x"]
        entry = {"name": "mcp__srv__echo", "arguments": {"a": 1}}
        called = await client.call_tool("tool_call", {"calls": [entry]})
        assert called.structured_content == {"a": 1}
        assert not called.is_error
    assert catalog.closed == catalog.sessions


@pytest.mark.parametrize("mode", MODES)
async def test_progress_reaches_the_caller(mode):
    seen = []

    async def on_progress(progress, total, message):
        seen.append((progress, total, message))

    async with open_client(Catalog({ECHO: echo}), mode) as client:
        await client.call_tool("srv__echo", {}, progress_callback=on_progress)
        assert seen == [(1, 2, "half")]


@pytest.mark.parametrize("mode", MODES)
async def test_a_cancelled_call_is_stopped_and_the_client_goes_on(mode):
    entered, cancelled = trio.Event(), trio.Event()

    async def slow(arguments, report):
        entered.set()
        try:
            await trio.sleep_forever()
        except trio.Cancelled:
            cancelled.set()
            raise

    async with open_client(Catalog({ECHO: echo, make_tool("srv", "slow"): slow}), mode) as client:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(client.call_tool, "srv__slow", {})
            await entered.wait()
            nursery.cancel_scope.cancel()
        with trio.fail_after(5):
            await cancelled.wait()
        assert (await client.call_tool("srv__echo", {"b": 2})).structured_content == {"b": 2}


async def test_a_change_reaches_a_client_of_the_handshake_era():
    told = trio.Event()

    async def on_message(message):
        if getattr(message, "method", "") == "notifications/tools/list_changed":
            told.set()

    catalog = Catalog({ECHO: echo}, direct=True)
    async with open_client(catalog, "legacy", message_handler=on_message) as client:
        await client.list_tools()
        catalog.change({ECHO: echo, make_tool("srv", "new"): echo})
        with trio.fail_after(5):
            await told.wait()
        assert [tool.name for tool in (await client.list_tools()).tools] == ["srv__echo", "srv__new"]


async def test_a_change_reaches_a_subscriber_of_the_2026_revision():
    catalog = Catalog({ECHO: echo}, direct=True)
    async with open_client(catalog, "auto") as client, client.listen(tools_list_changed=True) as events:
        catalog.change({ECHO: echo, make_tool("srv", "new"): echo})
        with trio.fail_after(5):
            assert isinstance(await anext(aiter(events)), ToolsListChanged)
        assert [tool.name for tool in (await client.list_tools()).tools] == ["srv__echo", "srv__new"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("odd", [{"content": [{"type": "text", "text": ["no"]}]}, {"structuredContent": [1]}])
async def test_a_result_of_an_odd_shape_arrives(mode, odd):
    async def called(arguments, report):
        return {"content": []} | odd

    async with open_client(Catalog({ECHO: called}), mode) as client:
        result = await client.call_tool("srv__echo", {})
        assert not result.is_error
        if "structuredContent" in odd:
            assert result.structured_content in ([1], {"result": [1]})
        else:
            assert "no" in result.content[0].text
