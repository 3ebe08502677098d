"""Signals: nothing set is missed, all who wait hear it, and who is cancelled leaves no trace."""

import trio
from trio.testing import wait_all_tasks_blocked

from toolsearchd.system.signal import Signal


async def test_what_is_set_before_the_wait_is_heard_once():
    signal = Signal()
    signal.set()
    signal.set()
    await signal.wait_and_clear()
    assert not signal.is_set()
    with trio.move_on_after(0) as scope:
        await signal.wait_and_clear()
    assert scope.cancelled_caught


async def test_what_is_set_while_its_reader_works_is_heard_at_the_next_turn(autojump_clock):
    signal, value, seen = Signal(), 0, []

    async def read():
        while len(seen) < 2:
            await signal.wait_and_clear()
            at_first = value
            await trio.sleep(1)
            seen.append(at_first)

    with trio.fail_after(10):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(read)
            for value in (1, 2, 3):  # noqa: B007 - the reader sees it
                signal.set()
                await trio.sleep(0.4)
    assert seen == [1, 3]


async def test_a_set_reaches_all_who_wait_even_if_it_is_cleared_at_once():
    signal, heard = Signal(), []

    async def wait(name, how):
        await how()
        heard.append(name)

    with trio.fail_after(10):
        async with trio.open_nursery() as nursery:
            for name in range(3):
                nursery.start_soon(wait, name, signal.wait)
                nursery.start_soon(wait, name + 3, signal.wait_next)
            await wait_all_tasks_blocked()
            signal.set()
            signal.clear()
    assert sorted(heard) == [0, 1, 2, 3, 4, 5]


async def test_the_next_set_is_not_the_last_one():
    signal = Signal()
    signal.set()
    with trio.move_on_after(0.01) as scope:
        await signal.wait_next()
    assert scope.cancelled_caught


async def test_who_is_cancelled_takes_nothing_along():
    signal, heard = Signal(), []

    async def wait():
        await signal.wait_and_clear()
        heard.append("heard")

    with trio.fail_after(10):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(wait)
            with trio.CancelScope() as scope:
                async with trio.open_nursery() as doomed:
                    for how in (signal.wait, signal.wait_next, signal.wait_and_clear):
                        doomed.start_soon(how)
                    await wait_all_tasks_blocked()
                    scope.cancel()
            assert not signal.is_set()
            signal.set()
    assert heard == ["heard"]
    signal.set()
    with trio.CancelScope() as scope:
        scope.cancel()
        await signal.wait_and_clear()
    assert signal.is_set(), "a wait that was cancelled has used the signal up"
