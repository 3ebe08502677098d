"""What a server carried out is not called failed, on the socket and through the door."""

import time

import pytest

from tests.daemon import DaemonProcess
from tests.servers.zoo import zoo
from tests.wire import DoorWire, agent


@pytest.fixture(scope="module")
def daemon(tmp_path_factory):
    servers = {
        "says": zoo("misbehaving", "says"),
        "builder": zoo("misbehaving", "works_long", timeout=2),
        "slow": zoo("misbehaving", "works_long", "and slowly"),
    }
    config = {"limits": {"call_timeout_s": 3, "breaker_failures": 1000}}
    with DaemonProcess(tmp_path_factory.mktemp("ran"), servers=servers, config=config) as daemon:
        daemon.wait_servers(*servers)
        yield daemon


def on_the_socket(daemon, server, **arguments):
    with agent(daemon) as wire:
        wire.sock.settimeout(60)
        call = {"op": "call", "id": 1, "name": f"mcp__{server}__echo", "arguments": arguments}
        (slot,) = wire.ask(call)["results"]
    return slot["response"] if "response" in slot else {"error": slot["error"]}


def at_the_door(daemon, server, **arguments):
    with DoorWire(daemon) as door:
        door.initialize()
        result = door.call(f"{server}__echo", **arguments)
    return {"error": result["structuredContent"]} if result.get("isError") else result


BOTH = pytest.mark.parametrize("ask", [on_the_socket, at_the_door])


@BOTH
@pytest.mark.parametrize(
    ("result", "texts", "structured"),
    [
        ('{"content": null}', [], None),
        ("{}", [], None),
        ('{"content": null, "isError": false}', [], None),
        ('{"content": {"type": "text", "text": "one"}}', ["one"], None),
        ('{"content": "all of it"}', ["all of it"], None),
        ("null", ["NOTE"], None),
        ("[]", ["NOTE"], None),
        ('"ok"', ["ok", "NOTE"], None),
        (
            '{"content": [{"type": "text", "text": "[1]"}], "structuredContent": [{"id": 1}]}',
            ["[1]"],
            [{"id": 1}],
        ),
        ('{"content": [], "structuredContent": "text"}', [], "text"),
        ('{"structuredContent": 7, "content": null}', [], 7),
        (r'{"content": [{"type": "text", "text": "a\ud800b"}]}', ["a\ufffdb", "NOTE"], None),
        ('{"content": [], "structuredContent": {"n": NaN, "i": -1e999}}', ["NOTE"], {"n": None, "i": None}),
        (
            '{"content": [], "structuredContent": {"n": 18446744073709551616, "m": 18446744073709551615}}',
            ["NOTE"],
            {"n": "18446744073709551616", "m": 18446744073709551615},
        ),
    ],
)
def test_a_result_arrives_whatever_its_shape(daemon, ask, result, texts, structured):
    came = ask(daemon, "says", answer=f'"result": {result}')
    assert "error" not in came
    said = ["NOTE" if "[toolsearchd:" in block["text"] else block["text"] for block in came["content"]]
    if ask is at_the_door and structured is not None and not isinstance(structured, dict):
        assert came["structuredContent"] == {"result": structured}
        assert said[: len(texts)] == texts
        assert said[-1] == "NOTE"
    else:
        assert came.get("structuredContent") == structured
        assert said == texts


@BOTH
@pytest.mark.parametrize("error", ['{"code": "X", "message": "project is missing"}', '"project is missing"'])
def test_an_errors_words_arrive(daemon, ask, error):
    error = ask(daemon, "says", answer=f'"error": {error}')["error"]
    assert error["code"] == "SERVER_ERROR"
    assert "project is missing" in error["message"]


@BOTH
def test_a_call_that_reports_progress_is_not_given_up(daemon, ask):
    began = time.monotonic()
    assert ask(daemon, "builder", s=4)["content"] == [{"type": "text", "text": "built"}]
    assert time.monotonic() - began >= 4


@BOTH
@pytest.mark.parametrize(("server", "seconds"), [("builder", 2), ("slow", 3)])
def test_a_silent_call_ends_at_its_limit(daemon, ask, server, seconds):
    error = ask(daemon, server, s=30, silent=True)["error"]
    assert error["code"] == "INDETERMINATE"
    assert f"within {seconds} s" in error["message"]
