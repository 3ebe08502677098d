"""Something has changed: told without waiting, heard by whoever waits, looked at again by them.

A signal carries nothing: the latest value stands with its owner. Set often, it is heard once.
"""

from __future__ import annotations

from trio.lowlevel import ParkingLot, checkpoint


class Signal:
    """As `trio.Event`, and can be cleared: a set reaches all who wait then, whatever comes after it."""

    __slots__ = ("_is_set", "_waiting")

    def __init__(self) -> None:
        self._is_set = False
        self._waiting = ParkingLot()

    def is_set(self) -> bool:
        """Set since it was cleared last."""
        return self._is_set

    def set(self) -> None:
        self._is_set = True
        self._waiting.unpark_all()

    def clear(self) -> None:
        self._is_set = False

    async def wait(self) -> None:
        """Until it is set. Cancelled, it leaves the signal as it was, as the others do."""
        if self._is_set:
            await checkpoint()
        else:
            await self._waiting.park()

    async def wait_next(self) -> None:
        """Until it is set from now on: for those, any number, who look in a loop whether what they wait for
        is so, and wait without another `await` between."""
        await self._waiting.park()

    async def wait_and_clear(self) -> None:
        """Until it is set; from then on it is not: for its one reader. What is set while the reader works is
        heard at the next turn."""
        await self.wait()
        self._is_set = False
