"""What `tools/list` gives one client: what `assemble` gives, in pages, the listing where the client shows it.

Imports the SDK: import it through `McpDoor` only.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import msgspec
import trio

from toolsearchd.doors.mcp import DoorSession
from toolsearchd.doors.passthrough import begin
from toolsearchd.doors.revisions import serialised_tool
from toolsearchd.doors.texts import Placed, bridged, direct, place_listing
from toolsearchd.doors.tools import listed_tool
from toolsearchd.limits import Limits
from toolsearchd.protocol.replies import AssembleReply

_PAGE_BYTES = 2 * 1024 * 1024  # of tools in one answer, some 1,000: one message is encoded in one go


class ListedTools:
    """Of one session. `cut`: after how many bytes its client cuts a text; None: not known to."""

    def __init__(self, session: Callable[[], DoorSession], limits: Limits) -> None:
        self._session = session
        self._limits = limits
        self.cut: int | None = None
        self._given: AssembleReply | None = None  # what the client was given, or told to fetch again

    async def instructions(self) -> str:
        return self._place(await self._assembled()).instructions

    async def page(self, cursor: Any, version: str) -> dict[str, Any]:
        """As many tools as an answer holds, from the one whose number the cursor is; made in slices."""
        assembled, session = await self._assembled(), self._session()
        placed, view, functions = self._place(assembled), session.view, _functions(assembled)
        at = begin(cursor, len(functions))
        tools: list[dict[str, Any]] = []
        size, slice_ends = 0, time.monotonic() + self._limits.compile_slice_s
        while at < len(functions):
            verb = session.bridge.get(functions[at]["name"])
            tool = listed_tool(functions[at], view, verb)
            if verb == "search":
                tool["description"] = placed.description
            tool = serialised_tool(tool, version)
            size += len(msgspec.json.encode(tool))
            if tools and size > _PAGE_BYTES:
                return {"tools": tools, "nextCursor": str(at)}
            tools.append(tool)
            at += 1
            if time.monotonic() > slice_ends:
                await trio.lowlevel.checkpoint()
                slice_ends = time.monotonic() + self._limits.compile_slice_s
        return {"tools": tools}

    async def take_news(self) -> bool:
        """Would the client be given other tools than it has? Said once."""
        before = self._given
        if before is None:
            return False  # it has not asked yet: what it gets will be the newest
        after = await self._newest()
        if before is not self._given or _seen(before) == _seen(after):
            return False
        self._given = after
        return True

    async def _assembled(self) -> AssembleReply:
        self._given = await self._newest()
        return self._given

    async def _newest(self) -> AssembleReply:
        # A listing is held until something real changes; tools that stand there directly are not a listing.
        direct = self._given is not None and self._given.tier == 0
        return await self._session().assemble(refresh=direct)

    def _place(self, assembled: AssembleReply) -> Placed:
        """Instructions and the search tool's description, with the listing where this client shows it."""
        session = self._session()
        verbs = session.bridge
        search = next((f for f in _functions(assembled) if verbs.get(f["name"]) == "search"), None)
        if search is None:
            return Placed("", direct(session.view.instructions_of(f["name"] for f in _functions(assembled))))
        instructions = bridged({verb: name for name, verb in verbs.items()})
        if self.cut is None:
            return Placed(search["description"], instructions)
        return place_listing(
            assembled.listing,
            description=search["description"],
            cut=self.cut,
            shorter=session.view.listing_of_bytes,
            instructions=instructions,
        )


def _functions(assembled: AssembleReply) -> list[dict[str, Any]]:
    return [entry["function"] for entry in assembled.tools if "function" in entry]


def _seen(assembled: AssembleReply) -> tuple[Any, Any]:
    """What of it the client sees."""
    return assembled.tools, assembled.listing
