"""Owns one session's own tools: which of them stay direct, which hide, and the calls that come back to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import trio

from toolsearchd.dialects.registry import DIALECTS
from toolsearchd.disclosure.own_tools import OwnTools, name_in
from toolsearchd.errors import ToolsearchdError
from toolsearchd.limits import Limits
from toolsearchd.live.evaluator import Evaluator, ViewKey
from toolsearchd.sessions.call_backs import CallBacks, Send


class SessionTools:
    """`owner`: the session's id; `send` reaches its agent."""

    def __init__(self, owner: str, evaluator: Evaluator, send: Send, limits: Limits) -> None:
        self._owner = owner
        self._evaluator = evaluator
        self._limits = limits
        self._given: Sequence[dict[str, Any]] = ()  # as they came
        self._sorted_for: object = None  # what decided which of them hide
        self._turn = trio.CapacityLimiter(1)  # one sorting at a time: the last one asked for stands
        self._closed = False
        self.tools = OwnTools()
        self.call_backs = CallBacks(send)

    @property
    def owner(self) -> str:
        """Whose tools the session's view is to hold: empty where none hide."""
        return self._owner if self.tools.deferred else ""

    async def replace(self, tools: Sequence[dict[str, Any]], key: ViewKey) -> tuple[int, int]:
        """These are the tools from now on, under the session's `key`; how many names are new, how many gone.

        Raises BAD_ARGUMENTS, and then the ones before stay.
        """
        async with self._turn:
            given, self._given = self._given, tools
            try:
                await self._sort(key)
            except ToolsearchdError:
                self._given = given
                raise
        before, now = set(map(name_in, given)), set(map(name_in, tools))
        return len(now - before - {""}), len(before - now - {""})

    async def sort(self, key: ViewKey) -> None:
        """Another dialect, or other settings, may hide others of them."""
        if self._given and self._sorting(key) != self._sorted_for:
            async with self._turn:
                await self._sort(key)

    def close(self) -> None:
        """The agent is gone."""
        self._closed = True
        self._given, self.tools = (), OwnTools()
        self.call_backs.close()
        self._evaluator.lift(self._owner)

    def _sorting(self, key: ViewKey) -> tuple[object, ...]:
        return key.dialect, self._evaluator.tool_search(key).defer

    async def _sort(self, key: ViewKey) -> None:
        tools = (
            DIALECTS[key.dialect]
            .interpreter()
            .sort_own(
                self._given,
                defer=self._evaluator.tool_search(key).defer or (),
                taken=self._evaluator.public_names,
                limits=self._limits,
            )
        )
        await self._evaluator.lay(self._owner, tools.deferred)
        if self._closed:
            self._evaluator.lift(self._owner)
        self.tools, self._sorted_for = tools, self._sorting(key)
