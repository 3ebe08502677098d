"""Which process came of which server? The kernel forgets a parent that has ended; an earlier look does not.

Owns what the looks have found: pure deciding over tables of processes. A process is of a server where it, or
its nearest known ancestor, is the server, was seen below it before, or is in a session that the server or
something of it has made (a process can't enter another's session, and a group lies within one). The session
that this process is in, and what stands above it, are nobody's: a server that was read between its fork and
its own session looks as if it were in ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from toolsearchd.system.processes import Key, Process, Table


class Household:
    """Servers are known by the `key` of the process that was started for them."""

    def __init__(self) -> None:
        self._markers: dict[Key, str] = {}  # of the servers that run, and of those that something is left of
        self._running: set[Key] = set()
        self._cgroups: dict[Key, str] = {}
        self._server_of: dict[Key, Key] = {}
        self._sessions: dict[int, tuple[Key, int]] = {}  # whose, and the start of a process that was in it
        self._own_session = 0
        self._unseen: set[Key] = set()  # started since the last table was read, perhaps

    @property
    def is_empty(self) -> bool:
        """Nothing runs, and nothing is left of what ran."""
        return not self._markers

    def add(self, server: Process, marker: str) -> None:
        """A server that leads a session of its own."""
        self._markers[server.key] = marker
        self._running.add(server.key)
        self._unseen.add(server.key)
        self._server_of[server.key] = server.key
        self._sessions[server.pid] = (server.key, server.started)

    def end(self, server: Key) -> None:
        """It has been stopped. What it left is remembered until a look finds it gone."""
        self._running.discard(server)
        self._unseen.discard(server)

    def running(self) -> list[Key]:
        return list(self._running)

    def look(self, table: Table, us: int) -> None:
        """Remembers whose each process is, and forgets those that are gone. Linear in the table."""
        self._server_of = {
            key: server
            for key, server in self._server_of.items()
            if server in self._running or _stands(table, key)
        }
        left = set(self._server_of.values())
        self._markers = {server: marker for server, marker in self._markers.items() if server in left}
        self._unseen -= {process.key for process in table.values()}
        standing = {process.session for process in table.values()} | {pid for pid, _ in self._unseen}
        self._sessions = {
            session: (server, since)
            for session, (server, since) in self._sessions.items()
            if session in standing and server in left
        }
        own = table.get(us)
        self._own_session = own.session if own is not None else 0
        nobodys = set(above(us, table))
        for pid in table:
            self._place(pid, table, us, nobodys)

    def _place(self, pid: int, table: Table, us: int, nobodys: set[int]) -> None:
        """Climbs to the nearest process of which it is known whose it is; all on the way are the same's."""
        climbed: dict[int, Process] = {}
        server: Key | None = None
        while pid != us and pid not in nobodys and pid not in climbed:
            process = table.get(pid)
            if process is None:
                break
            climbed[pid] = process
            server = self._server_of.get(process.key) or self._server_in(process.session, table)
            if server is not None:
                break
            pid = process.parent
        if server is None:
            nobodys.update(climbed)
            return
        for process in reversed(climbed.values()):  # leaders of sessions stand above who is in them
            self._server_of[process.key] = server
            if self._has_made(process.session, server, table):
                self._sessions.setdefault(process.session, (server, process.started))

    def _has_made(self, session: int, server: Key, table: Table) -> bool:
        """Did the server, or something of it, begin the session? 0: its leader is beyond this pid namespace,
        and so are others of it."""
        if session in (0, self._own_session):
            return False
        leader = table.get(session)
        return leader is None or not leader.is_live or self._server_of.get(leader.key) == server

    def claim(self, process: Process, marker: str, cgroup: str, own_cgroup: str) -> bool:
        """Does a marker, or a cgroup that one server alone is in, tell whose a process is?"""
        servers = [server for server, its in self._markers.items() if marker and its == marker]
        if not servers and cgroup and own_cgroup and cgroup != own_cgroup:
            servers = [server for server, its in self._cgroups.items() if its == cgroup]
        if len(servers) == 1:
            self._server_of[process.key] = servers[0]
        return len(servers) == 1

    def _server_in(self, session: int, table: Table) -> Key | None:
        """Whose session it is. Not where its leader is younger than who was in it: the number, which nobody
        bore any more, has been given out again."""
        server, since = self._sessions.get(session, (None, 0))
        leader = table.get(session)
        if server is not None and leader is not None and leader.started > since:
            del self._sessions[session]
            return None
        return server

    def note_cgroups(self, cgroups: dict[Key, str]) -> None:
        """Of servers; they may move themselves."""
        self._cgroups = {
            server: cgroup
            for server, cgroup in (self._cgroups | cgroups).items()
            if server in self._markers and cgroup
        }

    def is_known(self, process: Process) -> bool:
        """As far as the last look tells, and the session for who came since."""
        return process.key in self._server_of or (
            process.session in self._sessions
            and (process.pid != process.session or process.started <= self._sessions[process.session][1])
        )

    def of(self, server: Key, table: Table) -> list[Process]:
        """What of the server lives, as the last look found."""
        return [process for process in self._lives(table) if self._server_of[process.key] == server]

    def left_behind(self, table: Table) -> list[Process]:
        """What lives of servers that were stopped."""
        return [p for p in self._lives(table) if self._server_of[p.key] not in self._running]

    def _lives(self, table: Table) -> Iterator[Process]:
        for key in self._server_of:
            if _stands(table, key):
                yield table[key[0]]


def descendants(of: Iterable[int], table: Table) -> list[Process]:
    """Parents before their children; those in `of` not counted."""
    children: dict[int, list[Process]] = {}
    for process in table.values():
        children.setdefault(process.parent, []).append(process)
    found: dict[int, Process] = {}
    waiting = list(of)
    while waiting:
        for process in children.get(waiting.pop(), ()):
            if process.pid not in found:
                found[process.pid] = process
                waiting.append(process.pid)
    return list(found.values())


def above(pid: int, table: Table) -> Iterator[int]:
    """The process itself and its ancestors."""
    climbed: set[int] = set()
    while pid in table and pid not in climbed:
        climbed.add(pid)
        yield pid
        pid = table[pid].parent


def _stands(table: Table, key: Key) -> bool:
    process = table.get(key[0])
    return process is not None and process.key == key and process.is_live
