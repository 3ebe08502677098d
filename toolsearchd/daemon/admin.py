"""Answers people on the control socket: status, servers, sessions, doctor; restart, stop, reload."""

from __future__ import annotations

import os
import resource
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import msgspec
import trio
from msgspec import UNSET
from msgspec.structs import replace

from toolsearchd import __version__
from toolsearchd.calls.journal import Journal
from toolsearchd.catalog.model import Source
from toolsearchd.config.model import MEND
from toolsearchd.daemon.findings import (
    bug_findings,
    evidence_findings,
    journal_findings,
    no_server_findings,
    only_login_shell_findings,
    run_twice_findings,
    source_findings,
    surroundings_findings,
)
from toolsearchd.daemon.orphans import Orphans
from toolsearchd.daemon.unmatched import unmatched_findings
from toolsearchd.disclosure.tokens import VOCABULARIES
from toolsearchd.errors import ToolsearchdError
from toolsearchd.limits import Limits
from toolsearchd.live.cataloger import Cataloger
from toolsearchd.live.evaluator import Evaluator
from toolsearchd.live.sentences import Sentences
from toolsearchd.protocol import requests as messages
from toolsearchd.protocol.control_replies import (
    ConfigInForce,
    ControlPing,
    DoctorReply,
    ReloadReply,
    RestartReply,
    SemanticStatus,
    ServersReply,
    ServerStatus,
    SessionsReply,
    StatusReply,
    TokensReply,
)
from toolsearchd.records import Finding
from toolsearchd.sessions.entitlement import profile_findings
from toolsearchd.sessions.sessions import Sessions
from toolsearchd.system import processes
from toolsearchd.system.guard import bugs
from toolsearchd.watching.manifest_files import ManifestFiles
from toolsearchd.watching.watcher import Watcher


class ServerDesk(Protocol):
    """What people may ask of the fleet."""

    def sources(self) -> tuple[Source, ...]: ...
    def status(self) -> list[ServerStatus]: ...
    def restart(self, name: str) -> None: ...


class Admin:
    def __init__(
        self,
        *,
        watcher: Watcher,
        fleet: ServerDesk,
        cataloger: Cataloger,
        evaluator: Evaluator,
        sessions: Sessions,
        journal: Journal,
        manifests: ManifestFiles,
        orphans: Orphans,
        sentences: Sentences,
        limits: Limits,
        restart_needed: Callable[[], list[Finding]],
        oddities: Sequence[Callable[[], list[Finding]]] = (),
    ) -> None:
        self._limits = limits
        self._restart_needed = restart_needed
        self._orphans = orphans
        self._sentences = sentences
        self._oddities = oddities  # what the process itself finds odd about where it runs
        self._manifests = manifests
        self._watcher = watcher
        self._fleet = fleet
        self._cataloger = cataloger
        self._evaluator = evaluator
        self._sessions = sessions
        self._journal = journal
        self._memory = processes.Memory()
        self._started_at = time.monotonic()

    def answers(self) -> Mapping[type[messages.ControlRequest], Callable[[Any], Any]]:
        """Message type → what answers it. `Watch` is the connection's own."""
        return {
            messages.ControlPingRequest: lambda _: self.ping(),
            messages.JournalRequest: lambda _: self._journal.summary(),
            messages.StatusRequest: lambda _: self.status(),
            messages.ServersRequest: lambda request: self.servers(request.name, origins=request.origins),
            messages.RestartRequest: lambda request: self.restart(request.name),
            messages.SessionsRequest: lambda _: SessionsReply(sessions=self._sessions.summaries()),
            messages.StopSessionsRequest: lambda request: self._sessions.stop_all(request.session),
            messages.TokensRequest: lambda request: self.tokens(request.session, request.encodings),
            messages.ReloadRequest: self.reload,
            messages.DoctorRequest: lambda _: self.doctor(),
        }

    def one_line(self) -> str:
        """For systemd's STATUS and the log."""
        states = Counter(source.state for source in self._sources())
        servers = (
            ", ".join(f"{count} {state}" for state, count in sorted(states.items())) or "none configured"
        )
        refusal = "no config is in force, calls are refused; " if self._watcher.refusal() else ""
        tools, sessions = len(self._cataloger.snapshot), len(self._sessions)
        return f"{refusal}servers: {servers}; tools: {tools}; sessions: {sessions}"

    def ping(self) -> ControlPing:
        return ControlPing(generation=self._cataloger.snapshot.generation)

    def status(self) -> StatusReply:
        snapshot = self._cataloger.snapshot
        return StatusReply(
            version=__version__,
            pid=os.getpid(),
            uptime_s=round(time.monotonic() - self._started_at, 1),
            generation=snapshot.generation,
            servers=dict(Counter(source.state for source in self._sources())),
            tools=len(snapshot),
            stale_tools=sum(len(source.definitions) for source in snapshot.sources if source.stale),
            sessions=self._sessions.summaries(),
            memory_bytes=self._memory.resident_bytes(),
            config=ConfigInForce(file=str(self._watcher.config_file)),
            sources=self._watcher.files(),
            problems=[
                *(str(problem) for problem in self._watcher.problems),
                *(finding.message for finding in self._odd_findings()),
            ],
            unanswered=self._journal.summary().unanswered,
            semantic=self._semantic(),
        )

    def _semantic(self) -> SemanticStatus:
        sentences = self._sentences
        if sentences.state == "off":
            return SemanticStatus(state="off", reason=sentences.reason)
        return SemanticStatus(state=sentences.state, tools=len(sentences.store))

    def servers(self, name: str | None, *, origins: bool) -> ServersReply:
        """Raises UNKNOWN_SERVER."""
        by_name = {source.name: source for source in self._sources()}
        found: list[ServerStatus] = []
        for server in self._fleet.status():
            if name in (None, server.name):
                source, kept = by_name[server.name], server.origins if origins else UNSET
                told = replace(server, state=source.state, reason=source.reason, stale=source.stale)
                found.append(replace(told, origins=kept))
        if name is not None and not found:
            raise _unknown_server(name)
        return ServersReply(servers=found)

    def _sources(self) -> list[Source]:
        """The fleet's sources; one whose tools are not in the snapshot yet is not called ready: a search
        would not find them."""
        known = {source.name: source for source in self._cataloger.snapshot.sources}
        return [
            replace(source, state="starting", reason="its tools are being indexed")
            if source.state == "ready" and not _same_tools(known.get(source.name), source)
            else source
            for source in self._fleet.sources()
        ]

    async def tokens(self, session_id: str, encodings: Sequence[str] | None) -> TokensReply:
        """What the session's view costs. Raises UNKNOWN_SESSION."""
        session = self._sessions.named(session_id)
        wanted = encodings or sorted(VOCABULARIES, reverse=True)
        report = await self._evaluator.token_costs(session.key, wanted)
        more = {"profile": session.profile, "context_length": session.key.context_length}
        return msgspec.convert(report | more, TokensReply)

    def restart(self, name: str) -> RestartReply:
        """Raises UNKNOWN_SERVER."""
        if name not in {source.name for source in self._fleet.sources()}:
            raise _unknown_server(name)
        self._fleet.restart(name)
        return RestartReply(restarted=name)

    def reload(self, request: messages.ReloadRequest) -> ReloadReply:
        """Re-reads every config now; what changed is under way when this returns. `accepted`: the files that
        are missing or empty and from now on count as saying nothing. `failed`: those whose newest text is not
        in force. `needs_restart`: what the config says and counts from another start on."""
        before = {spec.name: spec for spec in self._watcher.desired.servers}
        accepted = self._watcher.reload_nowait(accept_missing=request.accept_missing, removed=request.removed)
        after = {spec.name: spec for spec in self._watcher.desired.servers}
        changed = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
        return ReloadReply(
            changed=changed,
            accepted=[str(path) for path in accepted],
            failed=self._watcher.failed(),
            needs_restart=[finding.message for finding in self._restart_needed()],
            problems=[str(problem) for problem in self._watcher.problems],
        )

    async def doctor(self) -> DoctorReply:
        """Everything odd, with the mend. Takes seconds in a large catalog, in slices."""
        from toolsearchd.live.findability import findability  # `app` has it loaded after the start

        found = self.findings() + surroundings_findings(self._watcher.settings, os.environ)
        found += await only_login_shell_findings(
            self._fleet.status(), self._watcher.desired.servers, os.environ
        )
        if self._watcher.settings.tool_search.ranker == "default":
            most = self._watcher.settings.limits.doctor_searches
            limits = msgspec.structs.replace(self._limits, doctor_searches=most)
            found += await findability(self._cataloger.snapshot, self._watcher.lexicon, limits)
        return DoctorReply(findings=found)

    def _odd_findings(self) -> list[Finding]:
        return [finding for look in (*self._oddities, self._restart_needed) for finding in look()]

    def findings(self) -> list[Finding]:
        """What is odd about configs, servers and the process itself."""
        found = [
            Finding(
                level=problem.level,
                about=problem.path or problem.file,
                message=f"{problem.place}: {problem.message}",
                mend=problem.mend or MEND,
                kind="config",
            )
            for problem in self._watcher.problems
        ]
        found += self._odd_findings()
        settings, sources = self._watcher.settings, self._sources()
        found += profile_findings(settings.profiles, {source.name for source in sources})
        found += self._manifests.findings()
        found += journal_findings(self._journal.summary())
        found += bug_findings()
        found += self._orphans.findings()
        found += self._sentences.findings()
        specs = {spec.name: spec for spec in self._watcher.desired.servers}
        statuses = self._fleet.status()
        reasons = {status.name: status.reason for status in statuses}  # with its paths, for people
        for source in sources:
            found += source_findings(replace(source, reason=reasons.get(source.name) or source.reason), specs)
        found += [one for status in statuses for one in evidence_findings(status, specs)]
        found += unmatched_findings(settings, specs.values(), sources)
        found += run_twice_findings(specs.values(), self._watcher.looked_for)
        named = settings.sources
        places = self._watcher.looked_for if named == "auto" else [source.path for source in named]
        return found + no_server_findings(specs, places)

    def statistics(self) -> dict[str, Any]:
        usage = resource.getrusage(resource.RUSAGE_SELF)
        return self.status().as_map() | {
            "cpu_s": round(usage.ru_utime + usage.ru_stime, 2),
            "tasks": trio.lowlevel.current_statistics().tasks_living,
            "open_fds": processes.open_files(),
            "compile_ms": self._cataloger.compile_ms,
            "bugs": dict(bugs),
        }


def _same_tools(indexed: Source | None, now: Source) -> bool:
    return indexed is not None and indexed.available and indexed.definitions is now.definitions


def _unknown_server(name: str) -> ToolsearchdError:
    return ToolsearchdError(
        "UNKNOWN_SERVER", f"no server {name!r} is configured; `toolsearchctl servers` lists them"
    )
