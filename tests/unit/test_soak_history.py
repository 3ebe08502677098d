"""The history check finds each kind of contradiction, and none in a history that is sound."""

import pytest

from tests.soak.history import Done, Entry, Forbidden, Request, violations

RECORD = "mcp__l__record"


def slot(index=0, *, nonce=None, code=None):
    if code is None:
        return {"index": index, "name": RECORD, "response": {"content": [{"type": "text", "text": nonce}]}}
    return {"index": index, "name": RECORD, "error": {"code": code, "message": ""}}


def call(number, nonce, *replies, at=0, sends=1, **more):
    entries = [Entry(RECORD, nonce, sends)]
    given = [{"op": "result", "results": [reply], "total_count": 1} for reply in replies]
    return Request("s", number, "call", at, {}, entries=entries, replies=given, replied_ns=at + 5, **more)


def stop(number, *, at, interrupted=0, **message):
    reply = {"op": "result", "interrupted": interrupted, "running": 0}
    return Request("s", number, "stop", at, message, replies=[reply], replied_ns=at + 1)


def asked(op, message, **reply):
    return Request("s", 9, op, 0, message, replies=[{"op": "result", **reply}], replied_ns=1)


SOUND = [
    ([call(1, "a", slot(nonce="a"))], ["a"]),
    ([call(1, "a", slot(code="INDETERMINATE"))], ["a"]),
    ([call(1, "a", slot(code="INDETERMINATE"))], []),
    ([call(1, "a", was_dropped=True)], ["a"]),
    ([call(1, "a", slot(nonce="a"), sends=2)], ["a", "a"]),
    ([call(1, "a", slot(code="INTERRUPTED")), stop(2, at=2, interrupted=1)], []),
    # Running when the stop came: read before what was asked for later.
    (
        [call(1, "a", slot(code="INDETERMINATE")), stop(2, at=2), call(3, "b", slot(nonce="b"), at=9)],
        ["a", "b"],
    ),
    ([asked("search", {"queries": ["x"]}, results=[{"query": "x"}])], []),
    ([asked("describe", {"names": ["x", "y"]}, tools={"x": {}}, not_found=["y"])], []),
]
UNSOUND = [
    ("no reply", [call(1, "a")], []),
    ("2 replies", [call(1, "a", slot(nonce="a"), slot(nonce="a"))], ["a"]),
    ("2 times", [call(1, "a", slot(nonce="a"))], ["a", "a"]),
    ("3 times", [call(1, "a", slot(nonce="a"), sends=2)], ["a", "a", "a"]),
    ("never asked for", [], ["a"]),
    ("result of b", [call(1, "a", slot(nonce="b"))], ["a"]),
    ("never executed", [call(1, "a", slot(nonce="a"))], []),
    ("not those", [call(1, "a", slot(1, nonce="a"))], ["a"]),
    ("yet a was", [call(1, "a", slot(code="SERVER_UNAVAILABLE"))], ["a"]),
    ("yet a was", [call(1, "a", slot(code="INTERRUPTED")), stop(2, at=2, interrupted=1)], ["a"]),
    ("nothing here calls for", [call(1, "a", slot(code="INTERNAL"))], []),
    ("nobody stopped", [call(1, "a", slot(code="INTERRUPTED"))], []),
    ("nobody stopped", [call(1, "a", slot(code="INTERRUPTED")), stop(2, at=2, interrupted=1, batch=7)], []),
    ("the stops said 0", [call(1, "a", slot(code="INTERRUPTED")), stop(2, at=2)], []),
    (
        "after its stop",
        [call(1, "a", slot(code="INDETERMINATE")), stop(2, at=2), call(3, "b", slot(nonce="b"), at=9)],
        ["b", "a"],
    ),
    ("answered ['y']", [asked("search", {"queries": ["x"]}, results=[{"query": "y"}])], []),
    ("described or missed", [asked("describe", {"names": ["x"]}, tools={"y": {}})], []),
]


def done(nonces):
    return [Done(1, nonce) for nonce in nonces]


@pytest.mark.parametrize(("history", "ledger"), SOUND)
def test_a_sound_history(history, ledger):
    assert violations(history, done(ledger)) == []


@pytest.mark.parametrize(("what", "history", "ledger"), UNSOUND)
def test_a_contradiction_is_found(what, history, ledger):
    assert any(what in violation.what for violation in violations(history, done(ledger)))


def test_refused_whole_and_executed():
    request = Request("s", 1, "call", 0, {}, entries=[Entry(RECORD, "a")])
    request.replies.append({"op": "error", "code": "BUSY"})
    assert violations([request], []) == []
    assert "refused whole" in violations([request], done("a"))[0].what


@pytest.mark.parametrize(
    ("tool", "since", "until", "count"),
    [(RECORD, 0, 10, 1), (RECORD, 1, 10, 0), (RECORD, 0, 4, 0), ("mcp__other__record", 0, 10, 0)],
)
def test_executed_while_it_was_forbidden(tool, since, until, count):
    history = [call(1, "a", slot(nonce="a"))]  # asked for at 0, answered at 5
    found = violations(history, done("a"), [Forbidden(tool, since, until)])
    assert len(found) == count
