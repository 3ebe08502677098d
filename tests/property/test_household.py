"""Processes that fork, make sessions, let go of their parents and end at random, looked at now and then.

Whatever happens nobody is taken for another server's, nor who is of none for a server's; and who was seen
while its parents lived, or is in a session that was, is known from then on.
"""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from toolsearchd.system.household import Household, descendants
from toolsearchd.system.processes import Process

US = 2
picks = st.integers(0, 10_000)


class World(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.household = Household()
        self.clock = 10
        self.table = {1: self.process(1, 0, 1), US: self.process(US, 1, US)}
        self.truth = {}  # key → the server that it is of
        self.seen = set()  # keys that a look has to have placed
        self.freed = set()  # numbers since the last look

    def process(self, pid, parent, session):
        self.clock += 1
        return Process(pid, parent, session, session, self.clock, "S", "p")

    def free_pid(self, low, *, at_once):
        """Pids are given out again when nothing bears them, as a process, group or session. `at_once`: the
        kernel counts up and has come round since the last look."""
        taken = {n for p in self.table.values() for n in (p.pid, p.group, p.session)}
        taken |= set() if at_once else self.freed
        return next(pid for pid in range(low % 20 + 3, 10_000) if pid not in taken)

    def pick(self, number, *, below=True):
        found = [p for p in self.table.values() if (p.key in self.truth) is below and p.pid not in (1, US)]
        return found[number % len(found)] if found else None

    def grow(self, parent, number, session=None, *, at_once=True):
        pid = self.free_pid(number, at_once=at_once)
        process = self.process(pid, parent.pid, session or pid)
        self.table[pid] = process
        return process

    @rule(number=picks)
    def start_server(self, number):
        server = self.grow(self.table[US], number)
        self.household.add(server, f"marker {server.key}")
        self.truth[server.key] = server.key
        self.seen.add(server.key)

    @rule(number=picks, own_session=st.booleans())
    def fork(self, number, own_session):
        if parent := self.pick(number):
            child = self.grow(parent, number, None if own_session else parent.session, at_once=False)
            self.truth[child.key] = self.truth[parent.key]

    @rule(number=picks, own_session=st.booleans())
    def others_fork(self, number, own_session):
        parent = self.pick(number, below=False) or self.table[1]
        self.grow(parent, number, None if own_session or parent.pid == 1 else parent.session)

    @rule(number=picks, to_us=st.booleans())
    def die(self, number, to_us):
        """Its children go to the subreaper, or to init where there is none."""
        if process := self.pick(number):
            del self.table[process.pid]
            self.freed |= {process.pid, process.session}
            for child in [p for p in self.table.values() if p.parent == process.pid]:
                self.table[child.pid] = child._replace(parent=US if to_us else 1)

    @rule(number=picks)
    def stop_server(self, number):
        running = self.household.running()
        if running:
            self.household.end(sorted(running)[number % len(running)])

    @rule()
    def look(self):
        """All that hangs below something known by now is known."""
        self.freed.clear()
        known = {p.pid for p in self.table.values() if p.key in self.seen}
        self.seen |= {p.key for p in descendants(known, self.table)}
        self.household.look(self.table, US)
        for process in self.table.values():
            if process.key in self.seen:
                assert self.household.is_known(process)

    @invariant()
    def nobody_is_taken_for_anothers(self):
        for server in set(self.truth.values()):
            for process in self.household.of(server, self.table):
                assert self.truth.get(process.key) == server


World.TestCase.settings = settings(max_examples=60, stateful_step_count=40)
TestHousehold = World.TestCase


def test_a_marker_or_a_cgroup_of_its_own_tells_whose_a_process_is():
    household = Household()
    servers = [Process(pid, US, pid, pid, pid, "S", "server") for pid in (10, 20, 30)]
    for server in servers:
        household.add(server, f"marker {server.pid}")
    household.note_cgroups({servers[0].key: "/own", servers[1].key: "/shared", servers[2].key: "/shared"})
    left = [Process(pid, US, pid, pid, pid, "S", "left") for pid in (40, 50, 60, 70)]
    assert household.claim(left[0], "marker 20", "/own", "/daemon")
    assert household.claim(left[1], "", "/own", "/daemon")
    assert not household.claim(left[2], "", "/shared", "/daemon")  # of two servers: which?
    assert not household.claim(left[3], "marker of another daemon", "/daemon", "/daemon")
    table = {process.pid: process for process in (*servers, *left)}
    assert [p.pid for p in household.of(servers[0].key, table)] == [10, 50]
    assert [p.pid for p in household.of(servers[1].key, table)] == [20, 40]
    assert [p.pid for p in household.of(servers[2].key, table)] == [30]


def test_a_server_that_was_read_before_it_had_a_session_of_its_own_takes_nobody_along():
    """Between fork and setsid it is in the session of the daemon, and of the shell that started that."""

    def process(pid, parent, session):
        return Process(pid, parent, session, session, pid, "S", "p")

    shell, us, neighbour = process(5, 1, 5), process(10, 5, 5), process(11, 5, 5)
    early, server = process(20, 10, 5), process(20, 10, 20)
    for leader_lives in (True, False):
        household = Household()
        household.add(server, "marker")
        others = (shell, us, neighbour) if leader_lives else (us, neighbour)
        for seen in (early, server):
            table = {p.pid: p for p in (process(1, 0, 1), *others, seen)}
            household.look(table, us.pid)
            assert household.of(server.key, table) == [seen]
            assert not any(household.is_known(other) for other in others)
        household.end(server.key)
        assert household.left_behind(table) == [server]


def test_without_a_word_on_ones_own_cgroup_none_tells_anything():
    household = Household()
    server, other = Process(20, 10, 20, 20, 1, "S", "p"), Process(30, 1, 30, 30, 2, "S", "p")
    household.add(server, "marker")
    household.note_cgroups({server.key: "/one"})
    assert not household.claim(other, "", "/one", "")
    assert not household.claim(other, "", "/one", "/one")
    assert household.claim(other, "", "/one", "/two")
