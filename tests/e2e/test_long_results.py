"""Long results on a real daemon: clipped in the reply, whole in a file, read on by their handle."""

import base64
import stat
from pathlib import Path

import pytest

from tests.daemon import DaemonProcess, wait_until
from tests.servers.zoo import zoo
from tests.wire import DoorWire, agent

LONG = "mcp__long_results__echo"


@pytest.fixture(scope="module")
def daemon(tmp_path_factory):
    servers = {"long_results": zoo("misbehaving", "long_results", supports_parallel_tool_calls=True)}
    with DaemonProcess(tmp_path_factory.mktemp("long"), servers=servers) as daemon:
        daemon.wait_servers(*servers)
        yield daemon


@pytest.fixture
def wire(daemon):
    with agent(daemon) as wire:
        wire.sock.settimeout(60)
        yield wire


def call(wire, *asked):
    calls = [{"name": LONG, "arguments": arguments} for arguments in asked]
    return wire.ask({"op": "call", "id": "c", "calls": calls})["results"]


def read_on(wire, handle):
    offset, text = 0, ""
    while offset is not None:
        piece = wire.ask({"op": "resolve", "id": 9, "handle": handle, "offset": offset})
        text, offset = text + piece["text"], piece.get("next_offset")
    return text


def test_a_long_text(daemon, wire):
    (slot,) = call(wire, {"bytes": 3_000_000})
    shown = slot["response"]["content"][0]["text"]
    assert shown.startswith("line 0\n")
    assert "3,000,000 bytes" in shown
    assert len(shown) < 101_000
    path = Path(slot["spilled"]["path"])
    assert path.is_relative_to(daemon.state_dir)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert read_on(wire, slot["spilled"]["handle"]) == path.read_text()
    assert path.stat().st_size == 3_000_000
    with agent(daemon) as other:
        asked = {"op": "resolve", "id": 1, "handle": slot["spilled"]["handle"]}
        assert other.ask(asked)["code"] == "UNKNOWN_HANDLE"
    wire.ask({"op": "bye", "id": 10})
    wait_until(lambda: not path.exists(), what="the file gone with its session")


def test_images_and_structured_content_come_whole(wire):
    image, structured, short = call(
        wire,
        {"bytes": 3_000_000, "kind": "image"},
        {"bytes": 2_000_000, "kind": "structured"},
        {"bytes": 700},
    )
    assert len(base64.b64decode(image["response"]["content"][0]["data"])) == 2_250_000
    assert len(structured["response"]["structuredContent"]["all"]) == 2_000_000
    assert len(short["response"]["content"][0]["text"]) == 700
    assert not any("spilled" in slot for slot in (image, structured, short))


def test_a_tools_own_error_stays_its_own(wire):
    (slot,) = call(wire, {"bytes": 500_000, "kind": "error"})
    assert slot["error"]["code"] == "TOOL_ERROR"
    assert len(slot["error"]["message"]) <= 2001
    assert slot["error"]["response"]["isError"] is True
    assert len(slot["error"]["response"]["content"][0]["text"]) < 101_000
    assert len(read_on(wire, slot["spilled"]["handle"])) == 500_000


def test_ten_thousand_blocks(wire):
    (slot,) = call(wire, {"bytes": 20_000, "kind": "blocks"})
    content = slot["response"]["content"]
    assert (content[0]["text"], content[-1]["text"]) == ("block 0", "block 19999")
    assert len(content) < 20_000
    assert read_on(wire, slot["spilled"]["handle"]).splitlines()[12_345] == "block 12345"


def test_a_reply_that_does_not_fit_a_frame(wire):
    sizes = [3_000_000, 3_100_000, 3_200_000, 7]
    slots = call(wire, *({"bytes": size, "kind": "image"} for size in sizes))
    assert ["spilled" in slot for slot in slots] == [False, False, True, False]
    assert "A" * 3_200_000 in read_on(wire, slots[2]["spilled"]["handle"])
    assert len(slots[1]["response"]["content"][0]["data"]) == 3_100_000


def test_what_hides_text_is_gone(wire):
    (slot,) = call(wire, {"bytes": 1, "kind": "hidden"})
    assert slot["response"]["content"][0]["text"] == "red\r\n\n\n\nend"
    assert slot["response"]["structuredContent"] == {"a": ["red\r\n\n\n\nend"]}


def test_through_the_door(daemon):
    with DoorWire(daemon) as door:
        door.initialize()
        result = door.call("tool_call", calls=[{"name": LONG, "arguments": {"bytes": 400_000}}])
    assert "400,000 bytes" in result["content"][0]["text"]
    assert str(daemon.state_dir) in result["content"][0]["text"]


def test_the_third_identical_failure_is_told(wire):
    slots = [call(wire, {"bytes": 5, "kind": "error"})[0]["error"] for _ in range(2)]
    assert not any("repeat" in error for error in slots)
    reply = wire.ask({"op": "call", "id": "n", "calls": [{"name": LONG, "arguments": {"bytes": 1}}]})
    assert reply["success_count"] == 1  # the breaker is content, and another call is another
    third = call(wire, {"bytes": 5, "kind": "error"})[0]["error"]
    assert third["repeat"] == 3
    assert "same call has failed 3 times" in third["message"]


def test_arguments_beside_the_name_and_beside_arguments(wire):
    calls = [{"name": LONG, "bytes": 7}]
    (slot,) = wire.ask({"op": "call", "id": "f", "calls": calls})["results"]
    assert slot["response"]["content"][0]["text"] == "line 0\n"
