"""Owns the open sessions: who is connected, with which profile, grant and view; tells them of events."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import msgspec
from msgspec import UNSET

from toolsearchd import __version__
from toolsearchd.calls.activity import Activity
from toolsearchd.calls.approver import Approver
from toolsearchd.calls.dispatcher import Dispatcher
from toolsearchd.config.model import ServerSpec
from toolsearchd.config.settings import Settings
from toolsearchd.dialects.registry import DIALECTS
from toolsearchd.disclosure.gate import clean_told
from toolsearchd.disclosure.manifest import Manifest
from toolsearchd.errors import ToolsearchdError
from toolsearchd.limits import Limits
from toolsearchd.live.evaluator import Evaluator
from toolsearchd.protocol.control_replies import SessionSummary, StopSessionsReply
from toolsearchd.protocol.events import Event
from toolsearchd.protocol.replies import SessionLimits, Welcome
from toolsearchd.protocol.requests import PROTOCOL, Hello
from toolsearchd.records import Open
from toolsearchd.sessions.entitlement import Entitlement, ToldModel, checked_hello, entitlement_of, key_of
from toolsearchd.sessions.session import Session
from toolsearchd.system.guard import guarded
from toolsearchd.system.peer import Peer

log = logging.getLogger(__name__)


class Sessions:
    def __init__(
        self,
        *,
        settings: Callable[[], Settings],
        evaluator: Evaluator,
        dispatcher: Dispatcher,
        approver: Approver,
        activity: Activity,
        limits: Limits,
        manifests: Callable[[], Sequence[Manifest]],
        disclosure: tuple[str | None, str] = (None, ""),
        specs: Callable[[], Sequence[ServerSpec]] = lambda: (),
    ) -> None:
        """`disclosure`: what the daemon's environment says of it, for all sessions, and in which variable.
        `specs`: the servers that are configured."""
        self._specs = specs
        self._settings = settings
        self._evaluator = evaluator
        self._dispatcher = dispatcher
        self._approver = approver
        self._activity = activity
        self._limits = limits
        self._manifests = manifests
        self._disclosure = disclosure
        self._open: dict[str, Session] = {}

    def __iter__(self) -> Any:
        return iter(tuple(self._open.values()))

    def __len__(self) -> int:
        return len(self._open)

    def named(self, session_id: str) -> Session:
        try:
            return self._open[session_id]
        except KeyError:
            raise ToolsearchdError(
                "UNKNOWN_SESSION",
                f"no session {session_id!r} is connected; `toolsearchctl sessions` lists them",
            ) from None

    async def open(self, hello: Hello, peer: Peer) -> Session:
        """A session for this hello. Raises BAD_ARGUMENTS for a dialect or disclosure that does not exist and
        for a name or place that is too long, and BAD_CONFIG for a profile's options that its dialect refuses.

        May wait: the first session of a dialect with an index of its own has that compiled.
        """
        hello = checked_hello(hello, self._limits)
        entitlement = self._standing_of(hello)
        told = ToldModel(context_length=hello.context_length, encoding=hello.encoding, model=hello.model)
        its_key = partial(key_of, hello, environment=self._disclosure, manifests=self._manifests)
        key, _ = its_key(entitlement, told)
        read_options, how = DIALECTS[key.dialect].read_options, entitlement.how
        options = read_options(how.options if how else {}, key.local_model) if read_options else None
        await self._evaluator.prepare(key)
        session = Session(
            hello=hello,
            peer=peer,
            entitlement=entitlement,
            told=told,
            key_of=its_key,
            evaluator=self._evaluator,
            dispatcher=self._dispatcher,
            approver=self._approver,
            activity=self._activity,
            limits=self._limits,
        )
        session.options = options
        if hello.tools and not hello.mcp:  # the door's clients have no way to be called back
            try:
                await session.set_tools(hello.tools)
            except BaseException:  # what was begun for it must not stay
                session.close()
                raise
            session.hello = msgspec.structs.replace(hello, tools=None)  # the session has them as its own
        self._open[session.session_id] = session
        for warning in session.warnings:
            log.warning("%s (%s): %s", session.session_id, session.client, warning)
        self._activity.publish(
            "connected", session=session.session_id, client=session.client, profile=session.profile
        )
        return session

    def close(self, session: Session) -> None:
        session.close()
        self._open.pop(session.session_id, None)
        self._activity.publish("disconnected", session=session.session_id, client=session.client)

    def welcome(self, session: Session) -> Open:
        """The fields of a `Welcome`, clean: the client's words may stand in it."""
        limits = self._limits
        welcome = Welcome(
            session=session.session_id,
            protocol=PROTOCOL,
            version=__version__,
            generation=self._evaluator.generation,
            profile=session.profile,
            dialect=session.key.dialect,
            options=UNSET if session.options is None else session.options,
            warnings=session.warnings or UNSET,
            unknown_profile=True if session.entitlement.is_unknown else UNSET,
            limits=SessionLimits(
                frame_bytes=limits.frame_bytes,
                open_requests=limits.open_requests,
                queries_per_search=limits.queries_per_search,
                names_per_describe=limits.names_per_describe,
                entries_per_call=limits.entries_per_call,
            ),
        )
        return Open(fields=clean_told(welcome.as_map()))

    def summaries(self) -> list[SessionSummary]:
        return [_summary(session) for session in self]

    def broadcast(self, event: Event) -> None:
        for session in self:
            with guarded("telling a session"):
                session.notify(event)

    def stop_all(self, session_id: str | None = None) -> StopSessionsReply:
        """Stops one session's work, or all. Raises UNKNOWN_SESSION."""
        sessions = [self.named(session_id)] if session_id is not None else list(self)
        stopped = [session.stop() for session in sessions]
        return StopSessionsReply(
            sessions=len(sessions),
            interrupted=sum(one.interrupted for one in stopped),
            running=sum(one.running for one in stopped),
        )

    def config_changed(self) -> None:
        """Profiles may say something else now: every session stands as the new ones say."""
        for session in self:
            with guarded("settling a session's profile", partial(_tell_kept, session)):
                session.stand(self._standing_of(session.hello))

    def _standing_of(self, hello: Hello) -> Entitlement:
        return entitlement_of(hello, self._settings().profiles, self._evaluator.server_names, self._specs())


def _tell_kept(session: Session, error: ToolsearchdError) -> None:
    log.warning("%s (%s) keeps its old profile: %s", session.session_id, session.client, error)


def _summary(session: Session) -> SessionSummary:
    held = session.held
    return SessionSummary(
        session=session.session_id,
        client=session.client,
        pid=session.peer.pid,
        cwd=session.hello.cwd or "",
        profile=session.profile,
        dialect=session.key.dialect,
        tier=held.fields["tier"] if held else None,
        listing_form=held.fields["listing_form"] if held else None,
        why=f"{held.why if held else 'has not asked for its tools yet'} ({session.choice.why})",
        open=len(session.queue.batches),
        outstanding_bytes=session.account.outstanding,
        unread_bytes=session.account.unread(),
        uptime_s=round(time.monotonic() - session.opened_at, 1),
        searches=session.searches,
        searches_without_call=session.history.without_call,
        calls=session.calls,
    )
