"""The official SDK's client gets in with one entry: `toolsearchctl mcp`."""

import json
from contextlib import asynccontextmanager

import mcp
import pytest
import trio
from mcp import StdioServerParameters
from mcp.client.subscriptions import ToolsListChanged

from tests.daemon import BIN, DaemonProcess, wait_until
from tests.servers.zoo import zoo

BRIDGE = ["tool_search", "tool_describe", "tool_call"]


def config(enabled):
    return {
        "tools": {"tool_search": {"enabled": enabled}},
        "profiles": {
            "narrow": {"match": {"client": "narrow-*"}, "servers": ["other"]},
            "deep": {"match": {"client": "deep-*"}, "dialect": "deepagents"},
        },
    }


@pytest.fixture(scope="module")
def daemon(tmp_path_factory):
    servers = {"steady": zoo("steady"), "other": zoo("steady", "echo", "pid")}
    with DaemonProcess(tmp_path_factory.mktemp("door"), servers=servers, config=config("on")) as daemon:
        daemon.wait_servers("steady", "other")
        yield daemon


@asynccontextmanager
async def open_client(daemon, mode="legacy", name="sdk-client", env=None, **options):
    relay = StdioServerParameters(
        command=str(BIN / "toolsearchctl"),
        args=["--runtime-dir", str(daemon.runtime_dir), "mcp"],
        env=daemon.env | (env or {}),
    )
    info = mcp.Implementation(name=name, version="1")
    with trio.fail_after(60):
        async with mcp.Client(relay, mode=mode, client_info=info, **options) as client:
            yield client


def text_of(result):
    return result.content[0].text


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_search_describe_call(daemon, mode):
    async with open_client(daemon, mode) as client:
        assert "tool_search" in client.instructions
        assert [tool.name for tool in (await client.list_tools()).tools] == BRIDGE
        found = (await client.call_tool("tool_search", {"queries": ["echo a text"]})).structured_content
        assert "mcp__steady__echo" in found["results"][0]["matches"]
        described = await client.call_tool("tool_describe", {"names": ["mcp__steady__echo"]})
        parameters = described.structured_content["tools"]["mcp__steady__echo"]["parameters"]
        assert parameters["required"] == ["text"]
        entry = {"name": "mcp__steady__echo", "arguments": {"text": "a nonce"}}
        called = await client.call_tool("tool_call", {"calls": [entry]})
        assert text_of(called) == "a nonce"
        assert not called.is_error
        both = await client.call_tool("tool_call", {"calls": [entry, entry]})
        assert both.structured_content["success_count"] == 2


async def test_a_tool_that_is_not_listed_can_be_called(daemon):
    async with open_client(daemon) as client:
        for name in ("steady__echo", "mcp__steady__echo"):
            assert text_of(await client.call_tool(name, {"text": name})) == name


async def test_errors_are_results_that_a_model_can_read(daemon):
    async with open_client(daemon) as client:
        failed = await client.call_tool("steady__fail", {})
        assert failed.is_error
        assert failed.structured_content is None  # its own words, not ours
        missing = await client.call_tool("mcp__steady__ecko", {})
        assert missing.is_error
        assert missing.structured_content["code"] == "TOOL_NOT_FOUND"
        assert "mcp__steady__echo" in text_of(missing)
        wrong = await client.call_tool("steady__echo", {"text": ["not", "a", "text"], "more": 1})
        assert wrong.structured_content["code"] == "INVALID_ARGUMENTS"


async def test_progress_passes(daemon):
    seen = []

    async def on_progress(progress, total, message):
        seen.append(progress)

    async with open_client(daemon) as client:
        await client.call_tool("steady__progress", {"steps": 3}, progress_callback=on_progress)
    assert seen == sorted(seen)
    assert seen


async def test_a_cancelled_call_ends_at_the_server(daemon):
    async with open_client(daemon, name="canceller") as client:
        with trio.move_on_after(1):
            await client.call_tool("steady__sleep", {"s": 300})

        def is_idle():
            sessions = daemon.ctl("sessions")[1]["sessions"]
            session = next(session for session in sessions if session["client"] == "canceller")
            return session["open"] == 0 and daemon.server("steady")["in_flight"] == 0

        with trio.fail_after(10):
            while not await trio.to_thread.run_sync(is_idle):
                await trio.sleep(0.05)
        assert text_of(await client.call_tool("steady__echo", {"text": "still here"})) == "still here"


async def test_the_clients_own_name_picks_its_profile_and_shows_in_sessions(daemon):
    def clients():
        return [(s["client"], s["profile"]) for s in daemon.ctl("sessions")[1]["sessions"]]

    async with open_client(daemon, name="narrow-one") as client:
        found = await client.call_tool("tool_search", {"queries": ["echo a text"]})
        assert found.structured_content["results"][0]["matches"] == ["mcp__other__echo"]
        assert all(name.startswith("mcp__other__") for name in found.structured_content["tools"])
        assert (await client.call_tool("steady__echo", {"text": "x"})).is_error
        assert ("narrow-one", "narrow") in clients()
    wait_until(lambda: ("narrow-one", "narrow") not in clients(), what="the session closed")


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_with_the_bridge_off_the_tools_stand_there_and_follow_the_config(tmp_path, mode):
    told = trio.Event()

    async def on_message(message):
        if getattr(message, "method", "") == "notifications/tools/list_changed":
            told.set()

    async def wait_told(client):
        if mode == "legacy":
            await told.wait()
            return
        async with client.listen(tools_list_changed=True) as events:
            servers["second"] = zoo("steady", "echo")
            daemon.write_servers(servers)
            assert isinstance(await anext(aiter(events)), ToolsListChanged)

    servers = {"first": zoo("steady", "echo", "erase")}
    with DaemonProcess(tmp_path, servers=servers, config=config("off")) as daemon:
        daemon.wait_servers("first")
        async with open_client(daemon, mode, message_handler=on_message) as client:
            tools = (await client.list_tools()).tools
            assert [tool.name for tool in tools] == ["first__echo", "first__erase"]
            assert tools[1].annotations.destructive_hint is True
            if mode == "legacy":
                servers["second"] = zoo("steady", "echo")
                daemon.write_servers(servers)
            await wait_told(client)
            with trio.fail_after(20):
                while "second__echo" not in [tool.name for tool in (await client.list_tools()).tools]:
                    await trio.sleep(0.05)
            assert json.loads(text_of(await client.call_tool("second__pid", {})))["code"] == "TOOL_NOT_FOUND"


async def test_what_a_deep_agent_discovers_is_listed_and_announced(daemon):
    changed = trio.Event()

    async def hear(message):
        if getattr(message, "method", "") == "notifications/tools/list_changed":
            changed.set()

    async with open_client(daemon, name="deep-one", message_handler=hear) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["search_tools"]
        found = await client.call_tool("search_tools", {"query": "echo a text"})
        assert "mcp__steady__echo" in text_of(found)
        await changed.wait()
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert names == ["search_tools", "other__echo", "steady__echo"]
        assert text_of(await client.call_tool("steady__echo", {"text": "hi"})) == "hi"


async def test_the_relays_environment_asks_for_all_tools(daemon):
    env = {"TOOLSEARCHD_TOOL_DISCLOSURE": "direct"}
    async with open_client(daemon, env=env) as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert "steady__echo" in names
        assert "tool_search" not in names
