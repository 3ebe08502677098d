"""What a server of the stateless revision tells of changes: it tells those who listen, of what they name.

Imports the SDK: to be imported after `load_sdk`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

import trio
from mcp import MCPError
from mcp.client.session import ClientSession
from mcp.client.subscriptions import SubscriptionLost, ToolsListChanged, listen
from mcp.shared.subscriptions import ResourceUpdated, ServerEvent, event_to_notification
from mcp_types import INVALID_PARAMS

from toolsearchd.errors import RpcError
from toolsearchd.limits import Limits
from toolsearchd.system.signal import Signal
from toolsearchd.upstream.cleaning import clean_at_once
from toolsearchd.upstream.listeners import OnTold

UPDATED = "notifications/resources/updated"
_LISTS = ("notifications/prompts/list_changed", "notifications/resources/list_changed")
_ABSENT = object()
_HELD_S = 60.0  # a stream that held so long was no accident: the next one is tried soon again


class _Heard:
    """Who waits for the server to have heard what is watched since a version."""

    def __init__(self, version: int) -> None:
        self.version = version
        self.settled = trio.Event()
        self.refusal: RpcError | None = None


class ChangeListener:
    """Of one connection. `watched`: the URIs that are listened to; kept here from now on."""

    def __init__(
        self,
        session: ClientSession,
        watched: dict[str, None],
        limits: Limits,
        *,
        tools_changed: Callable[[], None],
        on_told: OnTold,
    ) -> None:
        self._session = session
        self._watched = watched
        self._limits = limits
        self._tools_changed = tools_changed
        self._on_told = on_told
        self._version = 0  # of what is watched
        self._waiting: list[_Heard] = []
        self._wanted = Signal()
        self._stream = trio.CancelScope()

    async def watch(self, uri: str, *, wanted: bool) -> None:
        """Until the server has heard that it is to tell of the resource, or not any more. Raises `RpcError`
        as it refuses; refused or cancelled, it is not watched."""
        self._watched.pop(uri, None)
        if wanted:
            self._watched[uri] = None
        heard = self._relisten()
        try:
            await heard.settled.wait()
            if heard.refusal is not None:
                raise heard.refusal
        except BaseException:
            if self._watched.pop(uri, _ABSENT) is None:
                self._relisten()
            raise

    def _relisten(self) -> _Heard:
        self._version += 1
        heard = _Heard(self._version)
        self._waiting.append(heard)
        self._wanted.set()
        self._stream.cancel()
        return heard

    async def run(self) -> None:
        """Until cancelled. A server that refuses is left alone until something else is watched."""
        pauses = iter(self._limits.reconnect_delays_s)
        while True:
            self._wanted.clear()
            version, began = self._version, trio.current_time()
            refusal = await self._listen(version)
            if version != self._version:
                continue
            if refusal is not None:
                self._settle(version, refusal)
                await self._wanted.wait()
                continue
            if trio.current_time() - began >= _HELD_S:
                pauses = iter(self._limits.reconnect_delays_s)
            with trio.move_on_after(next(pauses, self._limits.parked_probe_s)):
                await self._wanted.wait()
            self._tell_all()

    async def _listen(self, version: int) -> RpcError | None:
        """One stream, to its end; the error where there was none."""
        uris = tuple(self._watched)
        with trio.CancelScope() as self._stream:
            try:
                async with listen(
                    self._session,
                    tools_list_changed=True,
                    prompts_list_changed=True,
                    resources_list_changed=True,
                    resource_subscriptions=uris,
                ) as changes:
                    left_out = set(uris) - set(changes.honored.resource_subscriptions or ())
                    self._settle(version, _not_listened_to(left_out) if left_out else None)
                    async for change in changes:
                        self._tell(change)
            except MCPError as refusal:
                return RpcError(refusal.error.code, str(refusal.error.message), refusal.error.data)
            except SubscriptionLost:
                pass
        return None

    def _settle(self, version: int, refusal: RpcError | None) -> None:
        for heard in self._waiting:
            if heard.version <= version:
                heard.refusal = refusal
                heard.settled.set()
        self._waiting = [heard for heard in self._waiting if heard.version > version]

    def _tell(self, change: ServerEvent) -> None:
        if isinstance(change, ToolsListChanged):
            self._tools_changed()
        elif isinstance(change, ResourceUpdated):
            self._on_told(UPDATED, clean_at_once({"uri": change.uri}))
        else:
            self._on_told(event_to_notification(change, {}).method, {})

    def _tell_all(self) -> None:
        """What changed while nobody listened nobody told."""
        self._tools_changed()
        for method in _LISTS:
            self._on_told(method, {})
        for uri in tuple(self._watched):
            self._on_told(UPDATED, clean_at_once({"uri": uri}))


def _not_listened_to(uris: Collection[str]) -> RpcError:
    shown = ", ".join(sorted(uris))
    return RpcError(INVALID_PARAMS, f"the server does not tell of changes to {shown:.200}")
