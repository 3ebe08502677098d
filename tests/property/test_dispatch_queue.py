"""The queue as a state machine: one outcome each, at most one start, none after an acknowledged stop."""

import os

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule

from toolsearchd.dispatch.entry import EntryState, Outcome
from toolsearchd.dispatch.queue import INTERRUPTED, Queue
from toolsearchd.errors import ToolsearchdError

STEPS = int(os.environ.get("TOOLSEARCHD_PROPERTY_STEPS", "5000"))
DONE = Outcome(response={})
WITHDRAWN = Outcome(error={"code": "INTERRUPTED", "prompt": "withdrawn"})
CAP = 12


class QueueMachine(RuleBasedStateMachine):
    entries = Bundle("entries")

    def __init__(self):
        super().__init__()
        self.queue = Queue(CAP)
        self.keys = 0
        self.all = []
        self.starts = {}
        self.outcomes = {}
        self.stopped = set()

    @rule(target=entries, count=st.integers(1, 5))
    def submit(self, count):
        self.keys += 1
        before = len(self.queue)
        try:
            batch = self.queue.submit(self.keys, [f"t{i}" for i in range(count)])
        except ToolsearchdError as error:
            assert error.code == "QUEUE_FULL"
            assert before + count > CAP
            assert len(self.queue) == before
            return []
        self.all += batch.entries
        return batch.entries

    @rule(batch=entries, at=st.integers(0, 4))
    def start(self, batch, at):
        if not batch:
            return
        entry = batch[at % len(batch)]
        if self.queue.start(entry):
            assert id(entry) not in self.stopped
            self.starts[id(entry)] = self.starts.get(id(entry), 0) + 1

    @rule(batch=entries, at=st.integers(0, 4), asking=st.booleans())
    def ask(self, batch, at, asking):
        """A person is asked about it, or has answered: a stop has more to say meanwhile."""
        if batch:
            batch[at % len(batch)].when_stopped = WITHDRAWN if asking else None

    @rule(batch=entries, at=st.integers(0, 4))
    def finish(self, batch, at):
        if not batch:
            return
        entry = batch[at % len(batch)]
        first = self.queue.finish(entry, DONE)
        assert first == (id(entry) not in self.outcomes)
        self.outcomes.setdefault(id(entry), DONE)

    @rule(batch=entries, everything=st.booleans())
    def stop(self, batch, everything):
        if not batch:
            return
        key = None if everything else batch[0].batch.key
        open_before = {b.key for b in self.queue.batches}
        try:
            stopped = self.queue.stop(key)
        except ToolsearchdError as error:
            assert error.code == "UNKNOWN_BATCH"
            assert key not in open_before
            return
        for entry in stopped.interrupted:
            assert id(entry) not in self.outcomes
            assert entry.outcome is (entry.when_stopped or INTERRUPTED)
            self.outcomes[id(entry)] = entry.outcome
        self.stopped |= {id(e) for e in self.all if everything or e.batch.key == key}

    @invariant()
    def each_entry_keeps_its_first_outcome(self):
        for entry in self.all:
            assert (entry.state is EntryState.ENDED) == (id(entry) in self.outcomes)
            assert entry.outcome is self.outcomes.get(id(entry))
            assert self.starts.get(id(entry), 0) <= 1

    @invariant()
    def only_open_batches_are_kept(self):
        assert all(not batch.ended for batch in self.queue.batches)
        assert len(self.queue) == sum(e.state is not EntryState.ENDED for e in self.all)


QueueMachine.TestCase.settings = settings(max_examples=STEPS // 50, stateful_step_count=50, deadline=None)
TestQueue = QueueMachine.TestCase
