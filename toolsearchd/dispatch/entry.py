"""A batch and its entries: what was asked, how far it got, what became of it."""

from __future__ import annotations

from enum import Enum
from typing import Any

import msgspec

from toolsearchd.errors import ToolsearchdError


class EntryState(Enum):
    QUEUED = "queued"  # nothing was sent
    STARTED = "started"  # sent, or about to be: it may have happened
    ENDED = "ended"  # has its one outcome


class Parked(msgspec.Struct, frozen=True, kw_only=True):
    """A result that waits in a file to be delivered; what stands in its place says so."""

    handle: str
    bytes: int  # that it takes in a frame
    spilled: dict[str, Any] | None  # as it is where the result is delivered whole


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What became of an entry: a response, or an error with a code. Exactly one of the two is set."""

    response: dict[str, Any] | None = None  # the tool's own result, MCP's `CallToolResult` as a map
    error: dict[str, Any] | None = None  # {code, message, …}
    spilled: dict[str, Any] | None = None  # {handle, path, bytes} of the whole, where it was clipped
    parked: Parked | None = None

    @staticmethod
    def failed(error: ToolsearchdError) -> Outcome:
        return Outcome(error=error.as_fields())

    def slot(self, index: int, name: str) -> dict[str, Any]:
        """The entry's place in the reply to `call`."""
        head: dict[str, Any] = {"index": index, "name": name}
        if self.spilled is not None:
            head["spilled"] = self.spilled
        if self.error is not None:
            return head | {"error": self.error}
        return head | {"response": self.response}


class Entry:
    """One call of a batch. `state` and `outcome` are changed by `Queue` alone."""

    __slots__ = ("batch", "index", "name", "outcome", "state", "stopping", "when_stopped")

    def __init__(self, batch: Batch, index: int, name: str) -> None:
        self.batch = batch
        self.index = index
        self.name = name
        self.state = EntryState.QUEUED
        self.stopping = False  # a stop found it started; it ends INDETERMINATE unless its answer wins
        self.outcome: Outcome | None = None
        self.when_stopped: Outcome | None = None  # where a stop of the QUEUED entry has more to say


class Batch:
    """The entries of one `call` request, in slot order."""

    __slots__ = ("entries", "key", "open")

    def __init__(self, key: Any, names: list[str]) -> None:
        self.key = key
        self.entries = [Entry(self, index, name) for index, name in enumerate(names)]
        self.open = len(self.entries)  # that have not ended; counted by `Queue`

    @property
    def ended(self) -> bool:
        return not self.open

    @property
    def parked(self) -> dict[int, Parked]:
        """The results that wait in files, by slot."""
        outcomes = {entry.index: entry.outcome for entry in self.entries if entry.outcome is not None}
        return {at: outcome.parked for at, outcome in outcomes.items() if outcome.parked is not None}

    def let_go(self) -> None:
        """The reply is with the wire. Entries and batch hold each other, and would hold their outcomes until
        the collector finds the circle."""
        for entry in self.entries:
            entry.outcome = None

    def reply(self) -> dict[str, Any]:
        """The reply of a batch that has ended: results in slot order, and the counts."""
        slots = [entry.outcome.slot(entry.index, entry.name) for entry in self.entries if entry.outcome]
        errors = sum("error" in slot for slot in slots)
        return {
            "results": slots,
            "success_count": len(slots) - errors,
            "error_count": errors,
            "total_count": len(slots),
        }
