"""Owns which servers run: desired against running, a supervising task each. Emits sources (latest value)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
import trio
from msgspec import UNSET

from toolsearchd.catalog.model import Source, SourceState
from toolsearchd.catalog.naming import keeps
from toolsearchd.config.model import ServerSpec
from toolsearchd.errors import ToolsearchdError
from toolsearchd.globs import matches_glob
from toolsearchd.limits import Limits
from toolsearchd.protocol.control_replies import EntryOrigin, ServerStatus
from toolsearchd.records import Finding
from toolsearchd.system import guard
from toolsearchd.upstream.elicitation import ElicitedClient
from toolsearchd.upstream.listing import ServerListing, listed_by, sift
from toolsearchd.upstream.login_shell import is_bare, login_environment

if TYPE_CHECKING:
    from toolsearchd.upstream.rpc import OnProgress
    from toolsearchd.upstream.upstream import Upstream

log = logging.getLogger(__name__)


class _Member:
    """A server that runs, or is not to run and says why."""

    def __init__(self, spec: ServerSpec, upstream: Upstream | None, source: Source | None) -> None:
        self.spec = spec
        self.upstream = upstream
        self._source = source
        self.scope = trio.CancelScope()
        self.ended = trio.Event()
        if upstream is None:
            self.ended.set()

    def source(self) -> Source:
        if self.upstream is not None:
            return self.upstream.source()
        assert self._source is not None
        return self._source


class Fleet:
    """`apply` says what should run, at any time; `run` makes it so. `publish()` tells of changed sources."""

    def __init__(
        self,
        *,
        limits: Limits,
        environ: Mapping[str, str],
        passed: Callable[[], tuple[str, ...]],
        publish: Callable[[], None],
        known: Iterable[Source] = (),
    ) -> None:
        """`known`: sources of an earlier run, whose tools stand until their servers come up."""
        self._known = {
            source.spec_digest: ServerListing(listed_by(source), instructions=source.instructions)
            for source in known
            if source.spec_digest
        }
        self._limits = limits
        self._environ = dict(environ)
        self._passed = passed
        self._passed_at_start: dict[str, frozenset[str]] = {}  # names of variables, by server
        self._publish = publish
        self._desired: tuple[ServerSpec, ...] = ()
        self._wanted: dict[str, ServerSpec] = {}  # the same by name
        self._members: dict[str, _Member] = {}
        self._leaving: dict[str, _Member] = {}  # told to stop, the last one of each name
        self._start_slots = trio.CapacityLimiter(limits.concurrent_starts)
        self._nursery: trio.Nursery | None = None
        self._path_asked = trio.Event()
        self.on_told: Callable[[str, str, Mapping[str, Any]], None] = lambda *_: None

    # --- what should run --------------------------------------------------------------------------

    def apply(self, servers: Sequence[ServerSpec]) -> None:
        """The newest desired servers, in catalog order. Only those that changed are touched."""
        self._desired = tuple(servers)
        self._wanted = {spec.name: spec for spec in servers}
        if self._nursery is not None:
            self._reconcile()
        self._publish()

    def spec(self, server: str) -> ServerSpec | None:
        member = self._members.get(server)
        return member.spec if member else None

    def offers(self, server: str, tool: str) -> bool:
        """Does the server's entry, as it is now, let calls of the tool through? Whatever the catalog says,
        which is compiled a moment later."""
        spec = self._wanted.get(server)
        return spec is not None and spec.enabled and not spec.idle and keeps(tool, spec.include, spec.exclude)

    def sources(self) -> tuple[Source, ...]:
        """The newest state of each desired server, in catalog order."""
        return tuple(
            self._members[spec.name].source() if spec.name in self._members else self._expected(spec)
            for spec in self._desired
        )

    def _expected(self, spec: ServerSpec) -> Source:
        """Of a server that nothing was done about yet."""
        listing = self._known.get(spec.digest) if spec.enabled and not spec.idle else None
        known = sift(listing.definitions if listing else (), spec)
        return Source(
            name=spec.name,
            state="starting",
            reason="starting",
            stale=bool(known.kept),
            definitions=known.kept,
            withheld=known.withheld,
            instructions=listing.instructions if listing else "",
            declared_tools=len(known.kept),
            project=spec.project,
            pins=spec.pins,
            spec_digest=spec.digest,
        )

    def status(self) -> list[ServerStatus]:
        return [self._status_of(spec) for spec in self._desired]

    def passed_before(self) -> list[Finding]:
        """A finding for each server that runs with other variables passed on than the config says now."""
        found = []
        for name, member in self._members.items():
            given, wanted = self._passed_at_start.get(name), self._passed_to(member.spec)
            if given is None or given == wanted or self._status_of(member.spec).pid is None:
                continue
            found.append(
                Finding(
                    level="warning",
                    about=name,
                    message=f"{name} runs with the variables passed on before: what changed is "
                    f"{', '.join(sorted(given ^ wanted))}",
                    mend=f"`toolsearchctl restart {name}`",
                    kind="old-variables",
                )
            )
        return found

    def restart(self, name: str) -> None:
        """Starts the named server anew, or again if it waits. Raises UNKNOWN_SERVER, and SERVER_UNAVAILABLE
        where it is not to run."""
        member = self._members.get(name)
        if member is None:
            raise ToolsearchdError("UNKNOWN_SERVER", f"no server {name!r} is configured")
        if member.upstream is None:
            raise ToolsearchdError("SERVER_UNAVAILABLE", f"{name}: {member.source().reason}", server=name)
        member.upstream.restart()

    async def call(
        self,
        server: str,
        tool: str,
        arguments: dict[str, Any],
        *,
        timeout_s: float,
        on_progress: OnProgress | None = None,
        check: Callable[[], None] = lambda: None,
        caller: str = "",
        replays: bool = False,
        client: ElicitedClient | None = None,
    ) -> dict[str, Any]:
        """MCP's `CallToolResult` as a map. Raises `ToolsearchdError`; see `Calls.call`. `client` is asked
        what the server asks meanwhile."""
        return await self._running(server).calls.call(
            tool,
            arguments,
            timeout_s=timeout_s,
            on_progress=on_progress,
            check=check,
            caller=caller,
            replays=replays,
            client=client,
        )

    def capabilities(self, server: str) -> frozenset[str]:
        """What the server offers beside tools; nothing while it is not connected."""
        member = self._members.get(server)
        return member.upstream.capabilities if member and member.upstream else frozenset()

    async def request(
        self,
        server: str,
        method: str,
        params: Mapping[str, Any],
        *,
        timeout_s: float,
        client: ElicitedClient | None,
    ) -> dict[str, Any]:
        """The result of a request that is no tool's call. Raises `ToolsearchdError`; a server's own error is
        SERVER_ERROR with `server_code` and, where it has some, `server_data`."""
        return await self._running(server).calls.request(method, params, timeout_s=timeout_s, client=client)

    def _running(self, server: str) -> Upstream:
        member = self._members.get(server)
        if member is None or member.upstream is None:
            reason = member.source().reason if member else "not configured any more"
            raise ToolsearchdError("SERVER_UNAVAILABLE", f"{server}: {reason}", server=server)
        return member.upstream

    # --- making it so -----------------------------------------------------------------------------

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Until cancelled; then all servers are stopped, in parallel."""
        async with trio.open_nursery() as nursery:
            task_status.started()
            guard.start(nursery, "asking the login shell for its environment", self._take_login_environment)
            self._nursery = nursery
            try:
                self._reconcile()
                await trio.sleep_forever()
            finally:
                self._nursery = None

    async def _take_login_environment(self) -> None:
        """PATH, and what is passed on and not set here."""
        try:
            if is_bare(self._environ.get("PATH", "")):
                found = await login_environment(self._environ)
                passed = {k: v for k, v in found.items() if any(matches_glob(k, g) for g in self._passed())}
                path = found.get("PATH") or self._environ.get("PATH", "")
                self._environ = {**passed, **self._environ, "PATH": path}
        finally:
            self._path_asked.set()

    async def _environment_of(self, spec: ServerSpec) -> dict[str, str]:
        from toolsearchd.upstream.process import environment_of

        await self._path_asked.wait()
        self._passed_at_start[spec.name] = self._passed_to(spec)
        return environment_of(spec, self._environ, self._passed())

    def _passed_to(self, spec: ServerSpec) -> frozenset[str]:
        return frozenset((*self._passed(), *spec.pass_env))

    def _reconcile(self) -> None:
        assert self._nursery is not None
        for name, member in list(self._members.items()):
            spec = self._wanted.get(name)
            if spec is None or member.upstream is None or _must_replace(member.spec, spec):
                self._let_go(member, spec)
                self._leaving[name] = self._members.pop(name)
        started = len(self._members)
        for spec in self._desired:
            known = self._members.get(spec.name)
            if known is not None and known.upstream is not None:
                if known.spec != spec:
                    known.spec = spec
                    known.upstream.update(spec)
                continue
            member = self._member(spec, full=started >= self._limits.started_servers)
            self._members[spec.name] = member
            if member.upstream is not None:
                started += 1
                before = self._leaving.pop(spec.name, None)
                guard.start(self._nursery, "keeping a server", self._keep, member, before)

    def _let_go(self, member: _Member, wanted: ServerSpec | None) -> None:
        """Ends the member; `wanted` is what stands in its place. What the same server listed is kept for the
        time when it is enabled again."""
        member.scope.cancel()
        if member.upstream is None:
            return
        if wanted is None:
            member.upstream.retire("is not configured any more")
            return
        why = "has another entry now" if wanted.enabled else "was disabled in its config"
        member.upstream.retire(wanted.idle or why)
        if wanted.digest == member.spec.digest:
            self._known[wanted.digest] = member.upstream.listed

    def _member(self, spec: ServerSpec, *, full: bool) -> _Member:
        from toolsearchd.upstream.upstream import Upstream  # what is known of servers shows before they start

        def idle(state: SourceState, reason: str) -> _Member:
            return _Member(
                spec, None, Source(name=spec.name, state=state, reason=reason, project=spec.project)
            )

        if not spec.enabled:
            return idle("disabled", "disabled in its config")
        if spec.idle:
            return idle("not_started", spec.idle)
        if full:
            return idle("not_started", f"limit: {self._limits.started_servers} servers run already")
        upstream = Upstream(
            spec,
            limits=self._limits,
            environment=self._environment_of,
            start_slots=self._start_slots,
            publish=self._publish,
            known=self._known.pop(spec.digest, ServerListing()),
            on_told=lambda *told: self.on_told(*told),
        )
        return _Member(spec, upstream, None)

    async def _keep(self, member: _Member, before: _Member | None) -> None:
        """The member's task: a server's end is never the fleet's. It starts when the one it replaces has
        ended: two of one server would fight over its port or file."""
        assert member.upstream is not None
        try:
            if before is not None:
                await before.ended.wait()
            with member.scope:
                await member.upstream.run()
        finally:
            member.ended.set()

    def _status_of(self, spec: ServerSpec) -> ServerStatus:
        member = self._members.get(spec.name)
        if member is not None and member.upstream is not None:
            return member.upstream.status()
        source = member.source() if member else None
        return ServerStatus(
            name=spec.name,
            state=source.state if source else "starting",
            reason=source.reason if source else "starting",
            transport=spec.transport,
            pid=None,
            tools=0,
            in_flight=0,
            restarts=0,
            last_error="",
            stderr_tail=[],
            junk_lines=0,
            first_junk="",
            next_retry_s=None,
            mend=spec.mend if spec.enabled and spec.mend else UNSET,
            origins=msgspec.convert(spec.origins, list[EntryOrigin], from_attributes=True),
        )


def _must_replace(old: ServerSpec, new: ServerSpec) -> bool:
    """Is it another server, or to be spoken to in another way? All other keys change while it runs."""
    return (old.digest, old.enabled, old.idle, old.protocol) != (
        new.digest,
        new.enabled,
        new.idle,
        new.protocol,
    )
