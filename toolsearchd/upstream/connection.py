"""One live MCP session with a server, over stdio, Streamable HTTP or legacy SSE: what is asked of it, and
what its answers and errors mean.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import msgspec
import trio

from toolsearchd.disclosure.sanitise import clean, plain_line
from toolsearchd.errors import RpcError, ToolsearchdError
from toolsearchd.limits import Limits
from toolsearchd.upstream.answers import (
    BAD_LINE_CODE,
    REFUSED_CODE,
    SESSION_ENDED_CODE,
    TOO_LARGE_CODE,
    call_result,
)
from toolsearchd.upstream.backoff import SessionClaims
from toolsearchd.upstream.cleaning import clean_at_once, wait_clean
from toolsearchd.upstream.elicitation import ElicitedClient, asked_in, input_required
from toolsearchd.upstream.listing import ListingCheck, ServerListing
from toolsearchd.upstream.lost import PERHAPS, LostError
from toolsearchd.upstream.patience import Patience
from toolsearchd.upstream.peer import ServerPeer
from toolsearchd.upstream.rpc import CLOSED_WORDS, CONNECTION_CLOSED, OnProgress
from toolsearchd.upstream.sendable import check_sendable
from toolsearchd.values import representable

log = logging.getLogger(__name__)

_METHOD_NOT_FOUND = -32_601
# Whose words they are where an answer is given up. A server's error may bear the same code and is an answer.
_STREAM_WORDS = "SSE stream "  # of one request, in the SDK
_MESSAGE_CHARS = 2000  # of a server's words in an error
_TOOLS_AT_ONCE = 20  # checked before others have their turn
_INPUT_ROUNDS = 16  # of one request: a person fills in no more forms for it
_CREDENTIALS = (401, 403)
_TOO_OFTEN, _NOT_NOW = 429, 503
_LAST_ANSWERS_S = 2.0
_FRESH_S = 10.0  # a connection this young had the newest credentials


class Connection:
    """Made by `open_connection`. `lost` is set when nothing more will come from the server."""

    def __init__(
        self,
        name: str,
        peer: ServerPeer,
        lost: trio.Event,
        limits: Limits,
        watched: dict[str, None],
        claims: SessionClaims,
    ) -> None:
        self._watched = watched
        self._claims = claims
        self._changes = peer.changes
        self._name = name
        self._peer = peer
        self.lost = lost
        self._limits = limits
        self._since = trio.current_time()
        self.answered = False  # a call, on this connection
        self.session_ended = False  # a new one may begin at once: the server is there
        self._open = 0  # requests
        self._settled = trio.Event()

    @property
    def was_useful(self) -> bool:
        """It answered a call, or held for a while."""
        return self.answered or trio.current_time() - self._since > _FRESH_S

    @property
    def protocol(self) -> str:
        return self._peer.protocol

    @property
    def server_info(self) -> str:
        return self._peer.server_info

    @property
    def capabilities(self) -> frozenset[str]:
        """What the server says that it offers: `prompts`, `resources`, `completions`, …"""
        return self._peer.capabilities

    @property
    def instructions(self) -> str:
        return self._peer.instructions

    async def list_tools(self, *, timeout_s: float) -> ServerListing:
        """All pages within `timeout_s`, or an error: never a partial list, but where it is too long, and then
        it says so. Raises `ToolsearchdError`."""
        params = self._peer.new_param_headers()
        check = ListingCheck(self._limits, params.refused) if params else ListingCheck(self._limits)
        with trio.move_on_after(timeout_s):
            cursor: str | float | None = None
            while True:
                tools, after = await self._page(cursor, timeout_s)
                for at, _ in enumerate(check.take(tools)):
                    if at % _TOOLS_AT_ONCE == _TOOLS_AT_ONCE - 1:
                        await trio.lowlevel.checkpoint()
                cursor = check.turn(after)
                if cursor is None:
                    if params:
                        params.bind()
                    return msgspec.structs.replace(check.listing(), instructions=self.instructions)
        raise ToolsearchdError(
            "INDETERMINATE", f"its tools were not all listed within {timeout_s:g} s ({check.seen} by then)"
        )

    async def _page(self, cursor: str | float | None, timeout_s: float) -> tuple[list[Any], Any]:
        try:
            page = await self._request("tools/list", {} if cursor is None else {"cursor": cursor}, timeout_s)
        except ToolsearchdError as error:
            if error.fields.get("server_code") == _METHOD_NOT_FOUND and cursor is None:
                return [], None  # a server of resources or prompts only
            if error.code == "SERVER_ERROR" and cursor == "":
                return [], None  # it meant the end of its list by it
            raise
        tools = page.get("tools")
        if not isinstance(tools, list):
            raise ToolsearchdError("SERVER_ERROR", "its tools/list answer holds no list of tools")
        return tools, page.get("nextCursor")

    async def call(
        self,
        tool: str,
        arguments: dict[str, Any],
        *,
        timeout_s: float,
        on_progress: OnProgress | None,
        client: ElicitedClient | None = None,
    ) -> dict[str, Any]:
        """MCP's `CallToolResult`, in shape. Raises `ToolsearchdError`: INDETERMINATE where no answer came.

        Cancelling sends `notifications/cancelled`; a late answer is dropped.
        """
        params = {"name": tool, "arguments": arguments}
        result = await self.request("tools/call", params, timeout_s, client=client, on_progress=on_progress)
        self.answered = True
        return call_result(result)

    async def request(
        self,
        method: str,
        params: Mapping[str, Any],
        timeout_s: float,
        *,
        client: ElicitedClient | None,
        on_progress: OnProgress | None = None,
    ) -> dict[str, Any]:
        """The result as it came. What the server needs for it is asked of `client`, round by round, where its
        revision does it so. Raises `ToolsearchdError`; a server's own error has its code and data."""
        asked = dict(params)
        for _ in range(_INPUT_ROUNDS):
            result = await self._request(method, dict(asked), timeout_s, on_progress)
            if result.get("resultType") != "input_required":
                return result
            asked = dict(params) | await self._input(client, result)
        raise ToolsearchdError("UNSUPPORTED", f"it asked for input {_INPUT_ROUNDS} times over")

    async def watch(self, uri: str, timeout_s: float, *, wanted: bool) -> None:
        """Has the server tell when the resource changes, from now on and after each reconnect; or not any
        more. Raises `ToolsearchdError` where it refuses."""
        if self._changes is None:
            method = "resources/subscribe" if wanted else "resources/unsubscribe"
            await self._request(method, {"uri": uri}, timeout_s)
            if wanted:
                self._watched[uri] = None
            return
        with trio.move_on_after(timeout_s):
            try:
                await self._changes.watch(uri, wanted=wanted)
                return
            except RpcError as error:
                raise self._as_ours(error, "subscriptions/listen") from error
        raise ToolsearchdError("INDETERMINATE", f"no answer to subscriptions/listen within {timeout_s:g} s")

    async def watch_again(self, timeout_s: float) -> None:
        """All that was watched before this connection; what the server refuses now is given up."""
        for uri in tuple(self._watched) if self._changes is None else ():
            try:
                await self._request("resources/subscribe", {"uri": uri}, timeout_s)
            except ToolsearchdError as error:
                self._watched.pop(uri, None)
                log.debug("%s: %.200s is told of no more: %s", self._name, uri, error.message)

    async def _input(self, client: ElicitedClient | None, result: dict[str, Any]) -> dict[str, Any]:
        """The answers to what an `input_required` result asks, and its state to go with them."""
        if client is None:
            raise input_required(result)
        asked = {
            key: (method, await wait_clean(dict(params)))
            for key, (method, params) in asked_in(result).items()
        }
        try:
            answers = await client.ask_all(self._name, asked) if asked else {}
        except RpcError as refused:
            raise ToolsearchdError("UNSUPPORTED", f"the client refused: {refused.message}") from refused
        state = result.get("requestState")
        return {"inputResponses": answers} | ({} if state is None else {"requestState": state})

    async def _request(
        self, method: str, params: dict[str, Any], timeout_s: float, on_progress: OnProgress | None = None
    ) -> dict[str, Any]:
        check_sendable(params)
        # Our own clock and not the SDK's: its error for a timeout looks like one that a server may send.
        patience = Patience(timeout_s, self._limits.max_call_s)
        with patience.scope, self._counted():
            report = _reporting(on_progress, patience) if method == "tools/call" else None
            try:
                return await self._peer.request(method, params, report)
            except RpcError as error:
                raise self._as_ours(error, method) from error
        raise ToolsearchdError("INDETERMINATE", f"no answer to {method} {patience.spent}{PERHAPS}")

    @contextmanager
    def _counted(self) -> Iterator[None]:
        self._open += 1
        try:
            yield
        finally:
            self._open -= 1
            if not self._open and self.session_ended:
                self._settled.set()

    async def settle(self) -> None:
        """Of a session that ended: until its other requests were refused too, a moment at most. What they
        came to is known then."""
        with trio.move_on_after(_LAST_ANSWERS_S):
            await self._settled.wait()

    def _as_ours(self, error: RpcError, method: str) -> ToolsearchdError:
        code, text = error.code, clean(error.message[:_MESSAGE_CHARS])
        if code == TOO_LARGE_CODE:
            return ToolsearchdError("RESULT_TOO_LARGE", text)
        if code == BAD_LINE_CODE:
            return ToolsearchdError("BAD_RESULT", text)
        if code in (REFUSED_CODE, SESSION_ENDED_CODE):
            return self._refused(code, text, error.data)
        if text.startswith((CLOSED_WORDS, _STREAM_WORDS)):
            if not text.startswith(_STREAM_WORDS):
                self.lost.set()
            if code == CONNECTION_CLOSED:
                return LostError("INDETERMINATE", f"the server went away during {method}{PERHAPS}")
        # A call's error goes to a model, which is told in words.
        data = error.data if method != "tools/call" else None
        fields = {} if data is None else {"server_data": clean_at_once(data)}
        return ToolsearchdError(
            "SERVER_ERROR",
            text or "the server gave an error without words",
            server_code=representable(code),  # one that the wires can't hold stands there as text
            **fields,
        )

    def _refused(self, code: int, text: str, data: Any) -> ToolsearchdError:
        """Of a request that HTTP refused: what ends this session, what may be sent again."""
        said = data if isinstance(data, dict) else {}
        status, wait_s = said.get("status"), said.get("retry_after_s")
        fields = {"http_status": status} if status else {}
        if wait_s is not None:
            fields["retry_after_s"] = wait_s
        if said.get("is_last"):
            self._end_session()
        if code == SESSION_ENDED_CODE:
            if not self._believes(said.get("grounds")):
                own_code = said.get("server_code")
                fields |= {} if own_code is None else {"server_code": representable(own_code)}
                return ToolsearchdError("SERVER_ERROR", text, **fields)
            self._end_session()
            if not status:  # it says so in an answer: what it did before is not known
                return LostError("INDETERMINATE", f"{text}{PERHAPS}")
            return LostError("SERVER_UNAVAILABLE", f"the session has ended: {text}", invites=True, **fields)
        if status in _CREDENTIALS:
            if self.was_useful:
                self._end_session()  # another connect may have other credentials
                return LostError("SERVER_UNAVAILABLE", text, invites=True, **fields)
            return ToolsearchdError("SERVER_UNAVAILABLE", text, **fields)
        # Without a time, a 503 may be of what stands before the server, which may have passed the request on.
        if status == _TOO_OFTEN or (status == _NOT_NOW and wait_s is not None):
            invites = wait_s is not None
            return LostError("SERVER_UNAVAILABLE", text, invites=invites, wait_s=wait_s, **fields)
        if isinstance(status, int) and status >= 500:
            return LostError("INDETERMINATE", f"{text}{PERHAPS}", **fields)
        return ToolsearchdError("SERVER_ERROR", text, **fields)

    def _believes(self, grounds: Any) -> bool:
        """That the session ended; who said so of this one before is not asked again."""
        if self.session_ended or grounds == "status":
            return True
        return self._claims.believes(trio.current_time(), is_plain=grounds == "words")

    def _end_session(self) -> None:
        self.session_ended = True
        self.lost.set()


def _reporting(on_progress: OnProgress | None, patience: Patience) -> OnProgress:
    def progressed(progress: float, total: float | None, message: str | None) -> None:
        patience.extend()
        if on_progress is not None:
            words = plain_line(message[:_MESSAGE_CHARS]) if isinstance(message, str) else None
            on_progress(progress, total, words)

    return progressed
