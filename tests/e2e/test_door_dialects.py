"""The MCP door in other systems' dialects: what is listed can be called, and what is found is listed."""

import pytest

from tests.daemon import DaemonProcess
from tests.servers.zoo import zoo
from tests.wire import DoorWire, agent


@pytest.fixture(scope="module")
def daemon(tmp_path_factory):
    servers = {"desk": zoo("steady", "echo", "pid")}
    config = {"tools": {"tool_search": {"enabled": "on"}}}
    with DaemonProcess(tmp_path_factory.mktemp("door"), servers=servers, config=config) as daemon:
        daemon.wait_servers("desk")
        yield daemon


def names(door):
    return [tool["name"] for tool in door.ask("tools/list")["tools"]]


def test_what_deep_agents_find_is_listed_and_announced(daemon):
    with DoorWire(daemon, dialect="deepagents") as door:
        assert "search_tools" in door.initialize()["instructions"]
        assert names(door) == ["search_tools"]
        found = door.call("search_tools", query="echo")
        assert "found 1" in found["content"][0]["text"]
        assert door.next_notice() == "notifications/tools/list_changed"
        assert names(door) == ["search_tools", "desk__echo"]
        assert door.call("desk__echo", text="hello")["content"] == [{"type": "text", "text": "hello"}]


def test_june_s_hermes_names_one_tool_at_a_time(daemon):
    with DoorWire(daemon, dialect="hermes-v1") as door:
        door.initialize()
        assert names(door) == ["tool_search", "tool_describe", "tool_call"]
        found = door.call("tool_search", query="echo")["structuredContent"]
        assert [match["name"] for match in found["matches"]] == ["mcp_desk_echo"]
        described = door.call("tool_describe", name="mcp_desk_echo")["structuredContent"]
        assert described["parameters"]["required"] == ["text"]
        called = door.call("tool_call", name="mcp_desk_echo", arguments={"text": "hi"})
        assert called["content"] == [{"type": "text", "text": "hi"}]


@pytest.mark.parametrize("name", ["desk__echo", "mcp__desk__echo"])
def test_a_refusal_names_the_tool_as_it_was_called(daemon, name):
    with DoorWire(daemon) as door:
        door.initialize()
        assert door.call(name)["structuredContent"]["tool"] == name


def test_a_refusal_on_the_socket_names_the_tool_as_it_was_called(daemon):
    with agent(daemon) as wire:
        reply = wire.ask({"op": "call", "id": 1, "name": "mcp__desk__echo", "arguments": {}})
        assert reply["results"][0]["error"]["tool"] == "mcp__desk__echo"
