"""A server as its connection sees it, whoever speaks with it: our own session, or the SDK's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from toolsearchd.upstream.rpc import OnProgress

if TYPE_CHECKING:
    from toolsearchd.upstream.changes import ChangeListener
    from toolsearchd.upstream.param_headers import ParamHeaders


class ServerPeer(Protocol):
    """The handshake is done. Texts are cut to what is used of them."""

    @property
    def protocol(self) -> str: ...

    @property
    def server_info(self) -> str: ...

    @property
    def capabilities(self) -> frozenset[str]:
        """What the server says that it offers: `prompts`, `resources`, `completions`, …"""

    @property
    def instructions(self) -> str: ...

    @property
    def changes(self) -> ChangeListener | None:
        """Of the stateless revision, whose servers tell those who listen."""

    def new_param_headers(self) -> ParamHeaders | None:
        """Of a listing, where the revision has arguments in headers; `bind` puts them in force."""

    async def request(
        self, method: str, params: Mapping[str, Any], on_progress: OnProgress | None = None
    ) -> dict[str, Any]:
        """The result as it came. Raises `RpcError`. Cancelled, the server is told so."""
