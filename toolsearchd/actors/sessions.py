"""Owns the open sessions: who is connected, with which profile, grant and view; tells them of events."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from pathlib import PurePath
from typing import Any

from toolsearchd import __version__
from toolsearchd.actors.activity import Activity
from toolsearchd.actors.dispatcher import Dispatcher
from toolsearchd.actors.evaluator import Evaluator, ViewKey
from toolsearchd.actors.peer import Peer
from toolsearchd.actors.session import Session
from toolsearchd.catalog.grant import Grant
from toolsearchd.config.profile import Profile
from toolsearchd.config.settings import Settings
from toolsearchd.disclosure.dialects import DIALECTS
from toolsearchd.errors import ToolsearchdError
from toolsearchd.limits import Limits
from toolsearchd.protocol.messages import PROTOCOL, Hello

log = logging.getLogger(__name__)

DEFAULT_PROFILE = "default"


class Sessions:
    def __init__(
        self,
        *,
        settings: Callable[[], Settings],
        evaluator: Evaluator,
        dispatcher: Dispatcher,
        activity: Activity,
        limits: Limits,
    ) -> None:
        self._settings = settings
        self._evaluator = evaluator
        self._dispatcher = dispatcher
        self._activity = activity
        self._limits = limits
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
        """A session for this hello. Raises BAD_ARGUMENTS for a dialect or disclosure that does not exist, and
        BAD_CONFIG for a profile's options that its dialect refuses.

        May wait: the first session of a dialect with an index of its own has that compiled.
        """
        name, profile, grant = self._profile_of(hello)
        dialect = self._dialect_of(hello, profile)
        read_options = DIALECTS[dialect].read_options
        options = read_options(profile.options if profile else {}) if read_options else None
        key = ViewKey(
            grant=grant,
            dialect=dialect,
            profile=name,
            context_length=hello.context_length or (profile.context_length if profile else None),
            encoding=hello.encoding or (profile.encoding if profile else None),
            model=hello.model,
            separate_listing=hello.listing == "separate",
        )
        await self._evaluator.prepare(key)
        session = Session(
            hello=hello,
            peer=peer,
            key=key,
            profile=name,
            evaluator=self._evaluator,
            dispatcher=self._dispatcher,
            activity=self._activity,
            limits=self._limits,
        )
        session.options = options
        self._open[session.session_id] = session
        self._activity.publish("connected", session=session.session_id, client=session.client, profile=name)
        return session

    def close(self, session: Session) -> None:
        session.close()
        self._open.pop(session.session_id, None)
        self._activity.publish("disconnected", session=session.session_id, client=session.client)

    def welcome(self, session: Session) -> dict[str, Any]:
        limits = self._limits
        options = {} if session.options is None else {"options": session.options}
        return {
            "session": session.session_id,
            "protocol": PROTOCOL,
            "version": __version__,
            "generation": self._evaluator.generation,
            "profile": session.profile,
            "dialect": session.key.dialect,
            **options,
            "limits": {
                "frame_bytes": limits.frame_bytes,
                "open_requests": limits.open_requests,
                "queries_per_search": limits.queries_per_search,
                "names_per_describe": limits.names_per_describe,
                "entries_per_call": limits.entries_per_call,
            },
        }

    def broadcast(self, event: str, fields: dict[str, Any]) -> None:
        for session in self:
            session.notify(event, fields)

    def stop_all(self, session_id: str | None = None) -> dict[str, int]:
        """Stops one session's work, or all. Raises UNKNOWN_SESSION."""
        sessions = [self.named(session_id)] if session_id else list(self)
        totals = {"sessions": len(sessions), "interrupted": 0, "running": 0}
        for session in sessions:
            counts = session.stop()
            totals["interrupted"] += counts["interrupted"]
            totals["running"] += counts["running"]
        return totals

    def _profile_of(self, hello: Hello) -> tuple[str, Profile | None, Grant]:
        """The client's own profile, narrowed by the one the hello names. An unknown name grants nothing."""
        profiles = self._settings().profiles
        own = next(
            (
                name
                for name, profile in profiles.items()
                if name != DEFAULT_PROFILE and profile.matches(hello.client)
            ),
            DEFAULT_PROFILE,
        )
        projects = tuple(_projects_of(hello))
        grant = _grant_of(profiles.get(own), projects)
        if hello.profile is None or hello.profile == own:
            return own, profiles.get(own), grant
        asked = profiles.get(hello.profile)
        if asked is None and hello.profile != DEFAULT_PROFILE:
            log.warning(
                "client %.64r asks for the unknown profile %.64r: it is granted nothing",
                hello.client,
                hello.profile,
            )
            return hello.profile[:64], None, Grant.nothing()
        return hello.profile, asked, grant.narrowed(_grant_of(asked, projects))

    def _dialect_of(self, hello: Hello, profile: Profile | None) -> str:
        if hello.disclosure == "direct" or os.environ.get("TOOLSEARCHD_TOOL_DISCLOSURE") == "direct":
            return "direct"
        if hello.disclosure not in (None, "progressive"):
            raise ToolsearchdError(
                "BAD_ARGUMENTS", f"disclosure {hello.disclosure[:64]!r}; `progressive` and `direct` exist"
            )
        name = hello.dialect or (profile.dialect if profile else None) or "default"
        if name not in DIALECTS:
            raise ToolsearchdError(
                "BAD_ARGUMENTS", f"no dialect {name[:64]!r}; there are {', '.join(sorted(DIALECTS))}"
            )
        return name


def _grant_of(profile: Profile | None, projects: tuple[str, ...]) -> Grant:
    if profile is None:
        return Grant(projects=projects)
    return Grant(servers=profile.servers, tools=profile.tools, projects=projects)


def _projects_of(hello: Hello) -> list[str]:
    """Every directory that the session's places lie in: a project's servers are for sessions inside it."""
    places = [PurePath(place) for place in (hello.cwd, *(hello.roots or ())) if place]
    return sorted({str(directory) for place in places for directory in (place, *place.parents)})
