"""JSON-RPC with one server, whatever it sends: whoever asked is told once, nothing grows, nothing breaks."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolsearchd.errors import RpcError
from toolsearchd.limits import Limits
from toolsearchd.upstream.lines import Lost, Message
from toolsearchd.upstream.rpc import CONNECTION_CLOSED, Asked, RpcClient, Told, Withdrawn

LIMITS = Limits()
IDS = st.integers(-2, 6) | st.sampled_from(["1", "x", "", True, None, 1.5, 10**30])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
FIELDS = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.just("2.0") | JSON,
        "id": IDS | JSON,
        "method": st.sampled_from(["ping", "notifications/progress", "notifications/cancelled", "x"]) | JSON,
        "params": st.fixed_dictionaries(
            {},
            optional={
                "progressToken": IDS,
                "progress": JSON,
                "requestId": IDS,
                "total": JSON,
                "message": JSON,
            },
        )
        | JSON,
        "result": JSON,
        "error": st.fixed_dictionaries({}, optional={"code": JSON, "message": JSON, "data": JSON}) | JSON,
    },
)
STEPS = st.lists(
    st.tuples(st.just("ask"), st.booleans())
    | st.tuples(st.just("give up"), st.integers(1, 6))
    | st.tuples(st.just("take"), FIELDS)
    | st.tuples(st.just("lost"), IDS)
    | st.tuples(st.just("end"), st.none()),
    max_size=25,
)


class Asker:
    def __init__(self) -> None:
        self.told: list[tuple[Any, RpcError | None]] = []
        self.given_up = False

    def done(self, result: dict[str, Any] | None, error: RpcError | None) -> None:
        assert not self.given_up, "told after it was given up"
        self.told.append((result, error))


@settings(max_examples=400, deadline=None)
@given(STEPS)
def test_whatever_comes_each_asker_is_told_once_or_gave_up(steps: list[tuple[str, Any]]) -> None:
    client, askers = RpcClient(LIMITS), dict[int, Asker]()
    for what, value in steps:
        if what == "ask" and not client.ended:
            asker = Asker()
            number, line = client.ask(
                "tools/call", {"a": 1}, asker.done, (lambda *_: None) if value else None
            )
            assert json.loads(line)["id"] == number
            assert number not in askers
            askers[number] = asker
        elif what == "give up":
            line = client.give_up(value, "why")
            asker = askers.get(value, Asker())
            assert bool(line) == (value in askers and not asker.told and not asker.given_up)
            asker.given_up = asker.given_up or bool(line)
        elif what == "take":
            wanted = client.take(Message(value, b""), 0.0)
            assert wanted is None or isinstance(wanted, Asked | Told | Withdrawn)
        elif what == "lost":
            client.take(Lost("too large", value if isinstance(value, int | str) else None), 0.0)
        elif what == "end":
            client.end()
    client.end()
    for asker in askers.values():
        assert len(asker.told) == (0 if asker.given_up else 1)
        for result, error in asker.told:
            assert (result is None) == isinstance(error, RpcError)
    assert client.open_requests == 0


@given(st.integers(1, 40), st.randoms())
def test_answers_in_any_order_reach_who_asked(count: int, random: Any) -> None:
    client, askers = RpcClient(LIMITS), [Asker() for _ in range(count)]
    numbers = [client.ask("m", {}, asker.done)[0] for asker in askers]
    pairs = list(zip(numbers, askers, strict=True))
    random.shuffle(pairs)
    for number, asker in pairs:
        client.take(Message({"jsonrpc": "2.0", "id": number, "result": {"n": number}}, b""), 0.0)
        assert asker.told == [({"n": number}, None)]
        client.take(Message({"jsonrpc": "2.0", "id": number, "result": {"n": -1}}, b""), 0.0)
        assert len(asker.told) == 1


def test_the_end_tells_all_and_what_was_given_up_is_forgotten_in_the_end() -> None:
    client, asker = RpcClient(LIMITS), Asker()
    for _ in range(3_000):
        number, _ = client.ask("m", {}, Asker().done)
        client.give_up(number, "why")
    assert len(client._methods) <= 1_100
    client.ask("m", {}, asker.done)
    client.end()
    [(result, error)] = asker.told
    assert result is None
    assert error is not None
    assert error.code == CONNECTION_CLOSED


def test_what_can_not_be_written_was_not_asked() -> None:
    client = RpcClient(LIMITS)
    with pytest.raises(TypeError):
        client.ask("m", {"a": object()}, Asker().done)
    assert client.open_requests == 0
    assert client.ask("m", {}, Asker().done)[0] == 1
