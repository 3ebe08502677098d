"""What one session's calls make the daemon hold: results on their way, results not delivered, replies unread.

Charged to the session before it is held, so that a session that does not read pays for itself: its results go
to files, its next sends wait, its large replies are made one at a time. Batches have room in the order in
which they came: the oldest never waits for another one, so no two wait for each other. Nothing here keeps a
stop waiting, and nobody else waits for it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple

import trio

from toolsearchd.dispatch.entry import Batch, Entry
from toolsearchd.limits import Limits
from toolsearchd.system.signal import Signal

SMALL_BYTES = 64 * 1024  # a reply up to this is sent whatever is unread: the window bounds their number
_WAITING_BYTES = 2 * 1024 * 1024  # of results that wait in memory for the rest of their batches
_TINY_BYTES = 1024  # a result up to this stays in memory: `queued_entries` of them are a megabyte
_FIRST_GUESS = 64 * 1024  # of a tool that was not called here yet
_TOOLS = 256  # whose results' sizes are remembered


def _nothing() -> int:
    return 0


class _Bytes(dict[Entry, int]):
    """Bytes by entry, and their sum: it is asked for at every send."""

    def __init__(self) -> None:
        super().__init__()
        self.total = 0

    def charge(self, entry: Entry, size: int) -> None:
        self.release(entry)
        self[entry] = size
        self.total += size

    def release(self, entry: Entry) -> None:
        self.total -= self.pop(entry, 0)


class _Charge:
    """Of one open batch."""

    def __init__(self) -> None:
        self.coming = _Bytes()  # sent, and not answered: what the tool's last results took
        self.memory = _Bytes()
        self.files = _Bytes()

    @property
    def held(self) -> int:
        return self.memory.total + self.files.total

    @property
    def total(self) -> int:
        return self.held + self.coming.total


class Account:
    def __init__(self, limits: Limits) -> None:
        self._budget = limits.outstanding_bytes
        self._frame = limits.frame_bytes
        self._charges: dict[Batch, _Charge] = {}  # oldest first
        self._usual: OrderedDict[str, int] = OrderedDict()  # by tool: the size of its results
        self._changed = Signal()
        self.unread: Callable[[], int] = _nothing  # bytes that its wire holds for it
        self.is_closed = False
        self.one_reply = trio.CapacityLimiter(1)  # large ones are made one after the other

    @property
    def in_memory(self) -> int:
        """Bytes of results that were not delivered yet, and of replies that were not read."""
        return self.unread() + sum(charge.memory.total for charge in self._charges.values())

    @property
    def outstanding(self) -> int:
        """All bytes that are held for it, in memory and in files, or are expected."""
        return self.unread() + sum(charge.total for charge in self._charges.values())

    def open(self, batch: Batch) -> None:
        self._charges[batch] = _Charge()

    def settle(self, batch: Batch) -> None:
        """Its reply is with the wire, which counts it from now on."""
        self._charges.pop(batch, None)
        self.changed()

    def close(self) -> None:
        """The session is gone: nothing is held for it, and nobody waits for it to read."""
        self.is_closed = True
        self.unread = _nothing  # it holds its wire, which holds the session
        self.changed()

    def changed(self) -> None:
        """There may be room where there was none."""
        self._changed.set()

    # --- sends ------------------------------------------------------------------------------------

    def has_room(self, entry: Entry, tool: str) -> bool:
        """May the entry be sent: is what is held within the budget, and what is expected too?"""
        if self.is_closed:
            return True
        before = self.unread()
        for batch, charge in self._charges.items():
            if batch is entry.batch:
                coming = charge.coming.total
                room = self._budget - before
                return room >= 0 if not coming else coming + self._usual.get(tool, _FIRST_GUESS) <= room
            before += charge.total
        return before <= self._budget

    async def wait_room(self, entry: Entry, tool: str) -> None:
        while not self.has_room(entry, tool):
            await self._changed.wait_next()

    def send(self, entry: Entry, tool: str) -> None:
        """The entry is sent: its result is on its way."""
        if charge := self._charges.get(entry.batch):
            charge.coming.charge(entry, self._usual.get(tool, _FIRST_GUESS))

    # --- results ----------------------------------------------------------------------------------

    def came(self, entry: Entry, tool: str, size: int) -> None:
        """The entry's result is here and takes `size` bytes; it is being looked through."""
        self._usual.pop(tool, None)
        self._usual[tool] = size
        if len(self._usual) > _TOOLS:
            self._usual.popitem(last=False)
        if (charge := self._charges.get(entry.batch)) and entry in charge.coming:
            charge.coming.charge(entry, size)

    def keeps(self, entry: Entry, size: int) -> bool:
        """What the entry is given takes `size` bytes; True: it is charged, and may stay in memory.

        A frame is the most that can be delivered at once; what waits for others of its batch may wait long.
        """
        charge = self._charges.get(entry.batch)
        if charge is None:
            return False
        is_last = entry.batch.open == 1  # of its batch, which is delivered then
        most = self._frame if is_last else _WAITING_BYTES
        if size > _TINY_BYTES and self.in_memory + size > most:
            return False
        charge.memory.charge(entry, size)
        return True

    def keeps_in_file(self, entry: Entry, size: int) -> None:
        """The entry's result was put to a file, to be delivered from there."""
        if charge := self._charges.get(entry.batch):
            charge.files.charge(entry, size)

    def end(self, entry: Entry, *, late: bool) -> None:
        """Nothing more comes for the entry. `late`: nor is what came for it wanted."""
        if charge := self._charges.get(entry.batch):
            charge.coming.release(entry)
            if late:
                charge.memory.release(entry)
                charge.files.release(entry)
            self.changed()

    # --- replies ----------------------------------------------------------------------------------

    def is_small(self, batch: Batch) -> bool:
        charge = self._charges.get(batch)
        return charge is None or charge.held <= SMALL_BYTES

    async def wait_read(self, batch: Batch) -> None:
        """Until the batch's reply would not make more than a frame unread, or the session is gone."""
        size = min(self._charges[batch].held, self._frame) if batch in self._charges else 0
        while not self.is_closed and (unread := self.unread()) and unread + size > self._frame:
            await self._changed.wait_next()


class EntryAccount(NamedTuple):
    """One entry's place in its session's account, for who works on its result."""

    account: Account
    entry: Entry
    tool: str

    def is_gone(self) -> bool:
        """The session has ended: nothing is to be kept for it."""
        return self.account.is_closed

    def came(self, size: int) -> None:
        self.account.came(self.entry, self.tool, size)

    def keeps(self, size: int) -> bool:
        return self.account.keeps(self.entry, size)

    def keeps_in_file(self, size: int) -> None:
        self.account.keeps_in_file(self.entry, size)
