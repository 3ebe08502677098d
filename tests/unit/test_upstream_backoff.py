"""When a server is tried again, let alone, believed: schedules with time as a number."""

import msgspec
import pytest

from toolsearchd.limits import Limits
from toolsearchd.upstream.backoff import Backoff, Breaker, ChangeBudget
from toolsearchd.upstream.progress import ProgressGate

LIMITS = Limits()


def delays(backoff, count, jitter=0.0):
    return [backoff.failed(jitter) for _ in range(count)]


def test_a_first_connect_is_tried_again_then_cools_down():
    backoff = Backoff(LIMITS)
    assert delays(backoff, 3) == [1, 2, 4]
    assert not backoff.is_parked
    assert delays(backoff, 7) == [30, 60, 120, 240, 480, 600, 600]
    assert backoff.is_parked


def test_a_lost_server_is_reconnected_then_probed():
    backoff = Backoff(LIMITS)
    backoff.connected()
    assert delays(backoff, 8) == [1, 2, 4, 8, 16, 300, 300, 300]
    assert backoff.is_parked


def test_a_handshake_alone_proves_nothing():
    backoff = Backoff(LIMITS)
    backoff.connected()
    for expected in (1, 2, 4, 8, 16, 300):
        assert backoff.failed(0.0) == expected
        backoff.connected()
    backoff.proven()
    assert not backoff.is_parked
    assert backoff.failed(0.0) == 1


@pytest.mark.parametrize(("jitter", "factor"), [(-1, 0.8), (0, 1), (1, 1.2)])
def test_jitter_spreads_by_a_fifth(jitter, factor):
    backoff = Backoff(LIMITS)
    backoff.connected()
    assert delays(backoff, 5, jitter) == pytest.approx([n * factor for n in (1, 2, 4, 8, 16)])
    assert backoff.failed(jitter) == 300


def play(steps):
    """The reference's case Z04: what becomes of each call."""
    breaker, now, outcomes = Breaker(LIMITS), 0.0, []
    for at, ok in steps:
        now = at
        if not breaker.admits(now):
            outcomes.append("refused_without_sending")
            continue
        breaker.record(ok=ok, now=now)
        outcomes.append("sent_ok" if ok else "error")
    return outcomes


def test_three_failures_open_the_breaker_for_a_minute():
    steps = [(0, False), (0, False), (0, False), (10, True), (61, True), (61, True)]
    assert play(steps) == ["error", "error", "error", "refused_without_sending", "sent_ok", "sent_ok"]


def test_failures_that_are_not_in_a_row_open_nothing():
    assert "refused_without_sending" not in play([(0, False), (0, False), (0, True)] * 5)


def test_a_failed_probe_opens_it_for_another_minute():
    steps = [(0, False)] * 3 + [(61, False), (62, True), (120, True), (122, True)]
    assert play(steps)[3:] == ["error", "refused_without_sending", "refused_without_sending", "sent_ok"]


def test_one_probe_at_a_time_and_a_stopped_one_makes_room():
    breaker = Breaker(LIMITS)
    for _ in range(3):
        breaker.record(ok=False, now=0)
    assert breaker.opens_for_s(20) == 40
    assert breaker.admits(61)
    assert not breaker.admits(61)
    breaker.abandoned()
    assert breaker.admits(62)
    breaker.record(ok=True, now=62)
    assert breaker.opens_for_s(62) == 0


def test_a_list_that_flips_is_frozen_until_it_was_quiet():
    budget = ChangeBudget(LIMITS)
    for at in range(10):
        assert not budget.is_spent(at)
        budget.spend(at)
    assert budget.is_spent(10)
    assert budget.next_s(10) == 50
    assert not budget.is_spent(60)
    assert budget.next_s(60) == 0


def progress(token):
    return {"method": "notifications/progress", "params": {"progressToken": token, "progress": 1}}


def test_progress_is_thinned_for_each_call():
    gate = ProgressGate(4)
    admitted = [at for at in range(10_000, 20_000) if gate.admits(progress(1), at / 1000)]
    assert len(admitted) == 3 + 40  # a burst, then four a second
    assert admitted[:4] == [10_000, 10_001, 10_002, 10_003]
    assert [gate.admits(progress(2), 20.0) for _ in range(5)] == [True, True, True, True, False]


def test_other_messages_pass_and_odd_tokens_do_not():
    gate = ProgressGate(4)
    assert all(gate.admits({"method": "notifications/x"}, 0) for _ in range(100))
    assert not any(gate.admits(progress(token), 0) for token in (None, 1.5, [], {}))
    assert not gate.admits({"method": "notifications/progress"}, 0)


def test_invented_tokens_are_not_collected():
    gate = ProgressGate(4)
    for token in range(100_000):
        gate.admits(progress(token), 0)
    assert len(msgspec.json.encode(list(gate._next))) < 100_000
