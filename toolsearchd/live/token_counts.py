"""Owns the token counts: asks the worker process for what is not known, keeps what it said on the disk.

One file for each encoding in the state directory, written a moment after something was learnt and at the end;
a file that is damaged or was counted another way is not used, and written anew.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

import trio

from toolsearchd.disclosure.tokens import VOCABULARIES, fingerprint, is_estimated, whole_characters
from toolsearchd.disclosure.tokens_known import KnownCounts
from toolsearchd.live.worker import Worker
from toolsearchd.system.files import read_private
from toolsearchd.system.signal import Signal
from toolsearchd.system.state_file import write_private
from toolsearchd.worker import CountTokens

log = logging.getLogger(__name__)

ESTIMATE = "estimate"  # stands for every encoding that has no vocabulary here
_MAX_FILE_BYTES = 8 * 1024 * 1024  # four times what a full one has
_QUIET_S = 5.0  # after something was learnt: a start learns server by server
MOST_OWN = 4_096  # counts of one owner, some 100 tools'; more where its listing needs them
_BATCH = 1_000  # texts of a request: the loop is held for 2 ms, the worker for 0.1 s


class TokenCounts:
    def __init__(self, *, worker: Worker, state_dir: Path) -> None:
        self._worker = worker
        self._dir = state_dir / "tokens"
        self._counts: dict[str, KnownCounts] = {}
        self._own: dict[str, dict[str, KnownCounts]] = {}  # by owner: of texts that are nobody else's
        self._unsaved: set[str] = set()
        self._learnt = Signal()

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Writes what was learnt, until cancelled; then once more."""
        task_status.started()
        try:
            while True:
                await self._learnt.wait()
                await trio.sleep(_QUIET_S)
                self._learnt.clear()
                await self._save()
        finally:
            with trio.CancelScope(shield=True):
                await self._save()

    async def known(self, encoding: str, texts: Sequence[str], owner: str = "") -> KnownCounts:
        """Counts that hold those of all `texts`. Raises `WorkerError`.

        `owner`: what is counted now is kept for it, in memory, until it is forgotten.
        """
        encoding = encoding if encoding in VOCABULARIES else ESTIMATE
        counts = self._counts.get(encoding)
        if counts is None:
            counts = await self._opened(encoding)
        if owner:
            own = self._own.setdefault(owner, {})
            counts = own.setdefault(encoding, KnownCounts(fingerprint(encoding), most=MOST_OWN, below=counts))
        counts.make_room(len(texts))
        for at in range(0, len(texts), _BATCH):
            batch = counts.unknown(texts[at : at + _BATCH])
            if batch:
                request = CountTokens(encoding, [whole_characters(text) for text in batch])
                counts.learn(batch, await self._worker.ask(request, list[int]))
                if not owner:
                    self._remember(encoding)
            await trio.lowlevel.checkpoint()
        return counts

    def forget(self, owner: str) -> None:
        """The owner is gone."""
        self._own.pop(owner, None)

    def _remember(self, encoding: str) -> None:
        if not is_estimated(encoding):  # estimates are not worth keeping
            self._unsaved.add(encoding)
            self._learnt.set()

    async def _opened(self, encoding: str) -> KnownCounts:
        counts = KnownCounts(fingerprint(encoding))
        if not is_estimated(encoding):
            path = self._path(encoding)
            try:
                packed = await trio.to_thread.run_sync(read_private, path, _MAX_FILE_BYTES)
                if packed is not None:
                    await trio.to_thread.run_sync(counts.load, packed)
            except (OSError, ValueError) as error:
                log.warning("%s is not used, tokens are counted anew: %s", path, error)
        # Another task may have opened it meanwhile.
        return self._counts.setdefault(encoding, counts)

    async def _save(self) -> None:
        while self._unsaved:
            encoding = self._unsaved.pop()
            packed = self._counts[encoding].packed()
            try:
                await trio.to_thread.run_sync(write_private, self._path(encoding), packed)
            except OSError as error:
                log.warning("token counts can't be kept, a start will count again: %s", error)

    def _path(self, encoding: str) -> Path:
        return self._dir / f"{encoding}.counts"
