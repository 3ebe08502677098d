"""One session's dispatch queue: a pure state machine over batches and entries.

    QUEUED ──start──▶ STARTED ──finish──▶ ENDED
       │                 │
       ├──refuse──▶ ENDED (validation, policy: nothing was sent)
       └──stop───▶ ENDED (INTERRUPTED)      stop on STARTED: `stopping`; ends INDETERMINATE or by its answer

Invariants: an entry ends exactly once; `start` is True at most once for an entry, and never after a stop of
its batch was acknowledged. Nothing here waits; the dispatcher carries out what these transitions return.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple

from toolsearchd.dispatch.entry import Batch, Entry, EntryState, Outcome
from toolsearchd.errors import ToolsearchdError

INTERRUPTED = Outcome.failed(
    ToolsearchdError("INTERRUPTED", "a stop came before this entry was sent; nothing happened")
)
INDETERMINATE_BY_STOP = Outcome.failed(
    ToolsearchdError(
        "INDETERMINATE",
        "a stop came while this entry was running; the server was told to cancel, "
        "but it may have happened: check before sending it again",
    )
)


class Stopped(NamedTuple):
    """What a stop found: `interrupted` have their outcome already, `running` are for the caller to cancel."""

    interrupted: list[Entry]
    running: list[Entry]


class Queue:
    """The open batches of one session."""

    def __init__(self, max_entries: int) -> None:
        self._max_entries = max_entries
        self._batches: dict[Hashable, Batch] = {}

    def __len__(self) -> int:
        """Entries that have not ended."""
        return sum(batch.open for batch in self._batches.values())

    @property
    def batches(self) -> tuple[Batch, ...]:
        return tuple(self._batches.values())

    def submit(self, key: Hashable, names: list[str]) -> Batch:
        """A new batch of QUEUED entries. Raises QUEUE_FULL, and then nothing was taken."""
        if len(self) + len(names) > self._max_entries:
            raise ToolsearchdError(
                "QUEUE_FULL",
                f"{len(self)} entries wait already and {len(names)} more would pass {self._max_entries}",
            )
        batch = self._batches[key] = Batch(key, names)
        return batch

    def start(self, entry: Entry) -> bool:
        """QUEUED → STARTED. False where a stop was first: then nothing may be sent."""
        if entry.state is not EntryState.QUEUED:
            return False
        entry.state = EntryState.STARTED
        return True

    def finish(self, entry: Entry, outcome: Outcome) -> bool:
        """Gives the entry its outcome. False where it has one: a late answer, to be dropped and counted."""
        if entry.state is EntryState.ENDED:
            return False
        entry.state = EntryState.ENDED
        entry.outcome = outcome
        entry.batch.open -= 1
        if entry.batch.ended:
            self._batches.pop(entry.batch.key, None)
        return True

    def stop(self, key: Hashable | None = None) -> Stopped:
        """Ends what is QUEUED and marks what is STARTED, of one batch or (None) of all. Idempotent.

        Raises UNKNOWN_BATCH for a key that is not open: it never was, or all of it has ended.
        """
        if key is not None and key not in self._batches:
            raise ToolsearchdError("UNKNOWN_BATCH", f"no call with id {key!r} is open in this session")
        batches = self.batches if key is None else (self._batches[key],)
        stopped = Stopped([], [])
        for entry in [entry for batch in batches for entry in batch.entries]:
            if entry.state is EntryState.QUEUED:
                self.finish(entry, entry.when_stopped or INTERRUPTED)
                stopped.interrupted.append(entry)
            elif entry.state is EntryState.STARTED:
                entry.stopping = True
                stopped.running.append(entry)
        return stopped
