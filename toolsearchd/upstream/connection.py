"""One live MCP session with a server, over stdio, Streamable HTTP or legacy SSE, through the SDK.

The handshake is the SDK's; lists and calls go through its dispatcher as plain maps, because its typed results
refuse a whole list for one bad tool and drop fields they don't know.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import msgspec
import trio

from toolsearchd import __version__
from toolsearchd.catalog.definition import decode_definition
from toolsearchd.catalog.model import Definition
from toolsearchd.catalog.naming import keeps
from toolsearchd.config.model import ServerSpec
from toolsearchd.errors import ToolsearchdError
from toolsearchd.limits import Limits
from toolsearchd.upstream.lines import LineReader
from toolsearchd.upstream.process import ServerProcess
from toolsearchd.upstream.stdio import BAD_LINE_CODE, TOO_LARGE_CODE, stdio_streams

log = logging.getLogger(__name__)

OnProgress = Callable[[float, float | None, str | None], None]

_CONNECTION_CLOSED = -32_000
_REQUEST_TIMEOUT = -32_001


class Listing(msgspec.Struct, frozen=True):
    """What tools/list gave: usable tools, and what was left out and why."""

    definitions: tuple[Definition, ...]
    rejected: tuple[str, ...]
    truncated: int


class Connection:
    """Made by `open_connection`. `lost` is set when nothing more will come from the server."""

    def __init__(self, session: Any, dispatcher: Any, lost: trio.Event, limits: Limits) -> None:
        self._session = session
        self._dispatcher = dispatcher
        self._limits = limits
        self.lost = lost
        self.tools_changed = trio.Event()  # replaced by whoever acted on it

    @property
    def protocol(self) -> str:
        return self._session.protocol_version or ""

    @property
    def instructions(self) -> str:
        return self._session.instructions or ""

    @property
    def server_info(self) -> str:
        info = self._session.server_info
        return f"{info.name} {info.version}" if info else ""

    async def list_tools(self, spec: ServerSpec) -> Listing:
        """All pages, or an error: never a partial list. Raises `ToolsearchdError`."""
        raw: list[Any] = []
        cursor: str | None = None
        for _ in range(self._limits.list_pages):
            page = await self._request("tools/list", {"cursor": cursor} if cursor else {}, spec.timeout_s)
            tools = page.get("tools")
            if not isinstance(tools, list):
                raise ToolsearchdError("SERVER_ERROR", "its tools/list answer holds no list of tools")
            raw += tools
            next_cursor = page.get("nextCursor")
            if (
                not isinstance(next_cursor, str)
                or not next_cursor
                or len(raw) > self._limits.tools_per_server
            ):
                break
            cursor = next_cursor
        return await self._checked(raw, spec)

    async def _checked(self, raw: list[Any], spec: ServerSpec) -> Listing:
        found: dict[str, Definition] = {}
        rejected: list[str] = []
        truncated = max(0, len(raw) - self._limits.tools_per_server)
        for at, tool in enumerate(raw[: self._limits.tools_per_server]):
            if at % 20 == 19:
                await trio.lowlevel.checkpoint()  # a long list must not hold the loop
            try:
                definition = decode_definition(msgspec.json.encode(tool), self._limits)
            except (ValueError, TypeError, RecursionError) as error:
                name = tool.get("name") if isinstance(tool, dict) else None
                rejected.append(f"{name!s:.64}: {error}" if name else f"tool {at}: {error}")
                continue
            if not keeps(definition.name, spec.include, spec.exclude):
                continue
            if definition.name in found:
                rejected.append(f"{definition.name:.64}: the name stands twice; the first counts")
                continue
            found[definition.name] = definition
        return Listing(tuple(found.values()), tuple(rejected), truncated)

    async def call(
        self, tool: str, arguments: dict[str, Any], *, timeout_s: float, on_progress: OnProgress | None
    ) -> dict[str, Any]:
        """MCP's `CallToolResult` as it came. Raises `ToolsearchdError`: INDETERMINATE where no answer came.

        Cancelling sends `notifications/cancelled`; a late answer is dropped.
        """
        params = {"name": tool, "arguments": arguments}
        result = await self._request("tools/call", params, timeout_s, on_progress)
        if result.get("resultType") == "input_required" or "inputRequests" in result:
            raise ToolsearchdError("UNSUPPORTED", "the tool asks for input in the middle of the call")
        content = result.get("content")
        if not isinstance(content, list) or not all(isinstance(block, dict) for block in content):
            if "structuredContent" not in result:
                raise ToolsearchdError("BAD_RESULT", "the tool's answer holds no list of content blocks")
            result["content"] = []
        return result

    async def _request(
        self, method: str, params: dict[str, Any], timeout_s: float, on_progress: OnProgress | None = None
    ) -> dict[str, Any]:
        from mcp import MCPError

        options: dict[str, Any] = {"timeout": timeout_s}
        if on_progress is not None:
            report = on_progress

            async def progressed(progress: float, total: float | None, message: str | None) -> None:
                report(progress, total, message)

            options["on_progress"] = progressed
        try:
            result = await self._dispatcher.send_raw_request(method, params, options)
        except MCPError as error:
            raise _as_ours(error, method) from error
        if not isinstance(result, dict):
            raise ToolsearchdError("BAD_RESULT", f"the answer to {method} is no object")
        return result


def _as_ours(error: Any, method: str) -> ToolsearchdError:
    code, text = error.error.code, str(error.error.message)[:2000]
    if code == TOO_LARGE_CODE:
        return ToolsearchdError("RESULT_TOO_LARGE", text)
    if code == BAD_LINE_CODE:
        return ToolsearchdError("BAD_RESULT", text)
    if code == _REQUEST_TIMEOUT:
        return ToolsearchdError("INDETERMINATE", f"no answer to {method} in time: it may have happened")
    if code == _CONNECTION_CLOSED:
        return ToolsearchdError(
            "INDETERMINATE", f"the server went away during {method}: it may have happened"
        )
    return ToolsearchdError(
        "SERVER_ERROR", text or "the server gave an error without words", server_code=code
    )


@asynccontextmanager
async def open_connection(
    spec: ServerSpec,
    *,
    process: ServerProcess | None,
    reader: LineReader,
    limits: Limits,
    first_byte: trio.Event,
) -> AsyncIterator[Connection]:
    """A session whose handshake is done. `process` for stdio; None for a remote server.

    Raises what the SDK raises, in groups. The 2025-11-25 handshake comes first; a server that refuses it is
    asked by `server/discover`, and one whose entry says so is asked that at once.
    """
    from mcp.client.session import ClientSession
    from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
    from mcp_types import Implementation

    lost = trio.Event()
    async with AsyncExitStack() as stack:
        if process is not None:
            streams = stdio_streams(process, reader, limits, lost, first_byte)
        else:
            streams = await _remote_streams(spec, stack)
        read, write = (await stack.enter_async_context(streams))[:2]
        dispatcher = JSONRPCDispatcher(read, write)
        connection: Connection | None = None

        async def on_message(message: Any) -> None:
            method = getattr(getattr(message, "root", message), "method", "")
            if method == "notifications/tools/list_changed" and connection is not None:
                connection.tools_changed.set()

        session = await stack.enter_async_context(
            ClientSession(
                dispatcher=dispatcher,
                message_handler=on_message,
                client_info=Implementation(name="toolsearchd", version=__version__),
            )
        )
        await _shake_hands(session, spec, limits)
        first_byte.set()
        connection = Connection(session, dispatcher, lost, limits)
        try:
            yield connection
        finally:
            lost.set()


async def _shake_hands(session: Any, spec: ServerSpec, limits: Limits) -> None:
    from mcp import MCPError

    if spec.protocol == "2026-07-28":
        await session.discover()
        return
    try:
        await session.initialize()
    except MCPError as refused:
        if refused.error.code in (_CONNECTION_CLOSED, _REQUEST_TIMEOUT):
            raise
        with trio.move_on_after(limits.discover_timeout_s):
            await session.discover()
            return
        raise


async def _remote_streams(spec: ServerSpec, stack: AsyncExitStack) -> Any:
    from mcp.client.sse import sse_client
    from mcp.client.streamable_http import streamable_http_client
    from mcp.shared._httpx_utils import create_mcp_http_client

    if spec.transport == "sse":
        return sse_client(spec.url, headers=dict(spec.headers))
    client = await stack.enter_async_context(create_mcp_http_client(headers=dict(spec.headers)))
    return streamable_http_client(spec.url, http_client=client)
