"""Owns the sentence model's vectors: has a worker process of its own make them, keeps the tools' on the disk.

Tools' vectors are made in the background, after the start, within a share of one CPU; a search waits for its
query's a few milliseconds and does without where it is not there. Without the extra, or with a broken one,
nothing runs, and `reason` says why.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path

import trio

from toolsearchd.catalog.snapshot import Snapshot
from toolsearchd.disclosure.tokens import whole_characters
from toolsearchd.index.sentence_model import lacking
from toolsearchd.index.sentences import (
    DIMENSIONS,
    QUERY_TOKENS,
    TOOL_TOKENS,
    SentenceStore,
    State,
    sentence_of,
)
from toolsearchd.limits import Limits
from toolsearchd.live.worker import Worker, WorkerError
from toolsearchd.records import Finding
from toolsearchd.system.files import read_private
from toolsearchd.system.signal import Signal
from toolsearchd.system.state_file import write_private
from toolsearchd.worker import Embedded, EmbedTexts

log = logging.getLogger(__name__)

_MAX_FILE_BYTES = 64 * 1024 * 1024  # 160,000 tools
_SPARE = 2_000  # vectors kept of tools that are gone: a list that flips back costs nothing
_MOST_QUERIES = 64  # that wait; of more the oldest go without

_INSTALL = "not installed; `pip install 'toolsearchd[semantic]'` in the daemon's environment, then restart it"


class Sentences:
    """`snapshot()`: the newest catalog. `is_wanted()`: does the config want the model?"""

    def __init__(
        self,
        *,
        worker: Worker,
        state_dir: Path,
        snapshot: Callable[[], Snapshot],
        is_wanted: Callable[[], bool],
        limits: Limits,
        lacking: Callable[[], list[str]] = lacking,
    ) -> None:
        """`lacking()`: packages of the extra that are not there."""
        self._worker = worker
        self._path = state_dir / "sentences"
        self._snapshot = snapshot
        self._is_wanted = is_wanted
        self._limits = limits
        self.store = SentenceStore()
        self._lacking = lacking()
        self._broken = ""
        self._queries: deque[str] = deque(maxlen=_MOST_QUERIES)
        self._catalog = Snapshot.empty()  # the newest one that was looked at
        self._todo: deque[tuple[Snapshot, int]] = deque()  # tools, by doc id, that may lack a vector
        self._work = Signal()
        self._learnt = Signal()
        self._unsaved = False

    @property
    def reason(self) -> str:
        """Why `state` is off; empty where it is not."""
        if not self._is_wanted():
            return "the config says so"
        return _INSTALL if self._lacking else self._broken

    def findings(self) -> list[Finding]:
        if not self._broken or not self._is_wanted():
            return []
        mend = "install the extra `semantic` anew, or say `tools.tool_search.semantic: off`"
        return [Finding(level="warning", about="search", message=self._broken, mend=mend, kind="semantic")]

    @property
    def state(self) -> State:
        return self.store.state

    def look(self) -> None:
        """The catalog or the config may be another."""
        own = [one for one in self._todo if one[0] is not self._catalog]
        self._catalog = self._snapshot()
        self._todo.clear()
        if not self.reason:
            self._todo.extend([*self._missing(self._catalog), *own])
        self._settle()
        self._work.set()

    def _settle(self) -> None:
        """Says what is so by now: much may have changed while the worker was at it."""
        is_warming = any(snapshot is self._catalog for snapshot, _ in self._todo)
        self.store.state = "off" if self.reason else "warming" if is_warming else "on"

    def want(self, snapshot: Snapshot) -> None:
        """A session's own, with tools that the catalog has not: their vectors too."""
        if self.store.state != "off" and snapshot is not self._snapshot():
            self._todo.extend(self._missing(snapshot))
            self._work.set()

    async def ask(self, queries: Iterable[str]) -> None:
        """Waits until the queries' vectors are known, `sentence_query_s` at most. Cancelled or late, they are
        made all the same, for who asks again."""
        missing = [query for query in queries if self.store.query(query) is None]
        if not missing or self.store.state == "off":
            return
        self._queries.extend(query for query in missing if query not in self._queries)
        self._work.set()
        with trio.move_on_after(self._limits.sentence_query_s):
            while any(self.store.query(query) is None for query in missing):
                await self._learnt.wait_next()

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Makes what is missing, until cancelled."""
        task_status.started()
        await self._load()
        self.look()
        while True:
            await self._work.wait_and_clear()
            while not self.reason and await self._step():
                pass
            if self._broken:
                await trio.sleep(self._limits.sentence_retry_s)
                self._broken = ""
                self.look()

    async def _step(self) -> bool:
        """Makes one batch, of queries first. False: nothing is missing, or the model can't be used."""
        if self._queries:
            texts = list(self._queries)
            self._queries.clear()
            vectors = await self._made(texts, QUERY_TOKENS)
            if vectors is None:
                return False
            for at, text in enumerate(texts):
                self.store.learn_query(text, vectors[at * DIMENSIONS : (at + 1) * DIMENSIONS])
            self._learnt.set()
            return True
        began = trio.current_time()
        batch = self._next()
        if batch:
            vectors = await self._made(list(batch.values()), TOOL_TOKENS)
            if vectors is None:
                return False
            self.store.learn(list(batch), vectors)
            self._unsaved = True
        self._settle()
        if not self._todo:
            await self._save()
            return False
        rest = (trio.current_time() - began) * (1 / self._limits.sentence_share - 1)
        with trio.move_on_after(rest):
            while not self._queries:
                await self._work.wait_next()
        return True

    def _next(self) -> dict[str, str]:
        """Digest → sentence of some tools that have no vector."""
        batch: dict[str, str] = {}
        while self._todo and len(batch) < self._limits.sentence_batch:
            snapshot, doc = self._todo.popleft()
            tool, digest = snapshot.tools[doc], snapshot.digests[doc]
            if tool is not None and digest not in self.store:
                one = tool.definition
                batch[digest] = sentence_of(one.name, one.title, one.description)
        return batch

    def _missing(self, snapshot: Snapshot) -> list[tuple[Snapshot, int]]:
        docs = snapshot.catalog_order.tolist()
        return [(snapshot, doc) for doc in docs if snapshot.digests[doc] not in self.store]

    async def _made(self, texts: list[str], tokens: int) -> bytes | None:
        """The texts' vectors; None: the model is of no use, and `reason` says why."""
        answer = Embedded(error=f"no answer within {self._limits.sentence_answer_s:g} s")
        with trio.move_on_after(self._limits.sentence_answer_s):
            try:
                asked = EmbedTexts([whole_characters(text) for text in texts], tokens)
                answer = await self._worker.ask(asked, Embedded)
            except WorkerError as error:
                answer = Embedded(error=str(error))
        if not answer.error and len(answer.vectors) != DIMENSIONS * len(texts):
            answer = Embedded(error=f"{len(answer.vectors)} bytes came for {len(texts)} texts")
        if answer.error:
            self._broken = f"the sentence model can't be used: {answer.error}"
            log.warning(
                "%s; searches go on without, the next try is in %d s",
                self._broken,
                self._limits.sentence_retry_s,
            )
            self._settle()
            return None
        return answer.vectors

    async def _load(self) -> None:
        if self.reason:
            return
        try:
            packed = await trio.to_thread.run_sync(read_private, self._path, _MAX_FILE_BYTES)
            if packed is not None:
                self.store.load(packed)
        except (OSError, ValueError) as error:
            log.warning("%s is not used, vectors are made anew: %s", self._path, error)

    async def _save(self) -> None:
        if not self._unsaved:
            return
        self._unsaved = False
        snapshot = self._snapshot()
        if len(self.store) > len(snapshot) + _SPARE:
            self.store.keep_only({snapshot.digests[doc] for doc in snapshot.catalog_order.tolist()})
        try:
            await trio.to_thread.run_sync(lambda: write_private(self._path, self.store.packed()))
        except OSError as error:
            log.warning("vectors can't be kept, a start will make them again: %s", error)
