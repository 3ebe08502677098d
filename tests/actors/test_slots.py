"""Slots of a server: how many at once, and whose turn it is."""

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from toolsearchd.upstream.slots import FairSlots


class Turns:
    """Calls that hold a slot until they are told to end."""

    def __init__(self, nursery, total):
        self.nursery = nursery
        self.slots = FairSlots(total)
        self.began = []
        self.ends = {}
        self.scopes = {}

    async def ask(self, *names):
        """`a1`: the first call of the caller `a`."""
        for name in names:
            self.ends[name], self.scopes[name] = trio.Event(), trio.CancelScope()
            self.nursery.start_soon(self._call, name)
            await wait_all_tasks_blocked()

    async def _call(self, name):
        with self.scopes[name]:
            async with self.slots.held(name[0]):
                self.began.append(name)
                await self.ends[name].wait()

    async def end(self, *names):
        for name in names:
            self.ends[name].set()
            await wait_all_tasks_blocked()

    async def cancel(self, name):
        self.scopes[name].cancel()
        await wait_all_tasks_blocked()


async def test_one_caller_has_its_slots_in_order(nursery):
    turns = Turns(nursery, 2)
    await turns.ask("a1", "a2", "a3", "a4")
    assert turns.began == ["a1", "a2"]
    assert turns.slots.waiting == 2
    await turns.end("a2", "a1")
    assert turns.began == ["a1", "a2", "a3", "a4"]
    await turns.end("a3", "a4")


async def test_who_asks_for_one_does_not_wait_for_all_of_another(nursery):
    turns = Turns(nursery, 1)
    await turns.ask(*(f"a{n}" for n in range(9)), "b0", "c0", "c1")
    await turns.end(*(name for name in [f"a{n}" for n in range(9)][:3]))
    await turns.end("b0", "c0", "c1", *(f"a{n}" for n in range(3, 9)))
    assert turns.began[:6] == ["a0", "a1", "b0", "c0", "a2", "c1"]
    assert len(turns.began) == 12


async def test_a_wait_that_is_cancelled_leaves_nothing(nursery):
    turns = Turns(nursery, 1)
    await turns.ask("a1", "b1", "c1")
    await turns.cancel("b1")
    assert turns.slots.waiting == 1
    await turns.end("a1")
    assert turns.began == ["a1", "c1"]
    await turns.end("c1")
    await turns.ask("d1")
    assert turns.began[-1] == "d1"
    await turns.end("d1")


async def test_a_slot_given_to_who_is_cancelled_at_that_moment_goes_on(nursery):
    turns = Turns(nursery, 1)
    await turns.ask("a1", "b1", "c1")
    turns.ends["a1"].set()
    turns.scopes["a1"].cancel()  # ends at once, and b1 has the slot in the same tick …
    turns.scopes["b1"].cancel()  # … in which it is cancelled
    await wait_all_tasks_blocked()
    assert "c1" in turns.began
    await turns.end("c1")


@pytest.mark.parametrize(("total", "began"), [(3, 3), (1, 1)])
async def test_the_total_may_change_meanwhile(nursery, total, began):
    turns = Turns(nursery, 1)
    await turns.ask("a1", "b1", "c1")
    turns.slots.total = total
    await wait_all_tasks_blocked()
    assert len(turns.began) == began
    await turns.end("a1", "b1", "c1")
    assert turns.slots.waiting == 0
