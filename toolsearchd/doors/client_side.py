"""The client at the other end, as the servers that work for its session reach it: asked and told.

What a server asks is passed on as it came, and the answer too; of a form it is said whose it is, since the
person sees only this door. Imports the SDK: import it through `McpDoor` only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any

from mcp import MCPError
from mcp_types import JSONRPCNotification

from toolsearchd.disclosure.sanitise import clean_line, plain_line
from toolsearchd.doors.calls import Asked, PendingCall
from toolsearchd.errors import RpcError, ToolsearchdError

_KEY = "question"  # of one that is asked alone
_MODES, _MODE_CHARS = 8, 32  # there are two, of four letters
LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")

_CAPABILITY = {
    "sampling/createMessage": "sampling",
    "elicitation/create": "elicitation",
    "roots/list": "roots",
}


class ClientSide:
    """`shake_hands` says what the client can do; before that it is asked nothing."""

    def __init__(
        self, send_nowait: Callable[[Any], None], newest_call: Callable[[], PendingCall | None]
    ) -> None:
        """`newest_call`: by which a client of the stateless revision can be asked."""
        self._send_nowait = send_nowait
        self._newest_call = newest_call
        self._outbound: Any = None
        self._capabilities: Mapping[str, Any] = {}
        self.level = "debug"  # of log messages, and what is graver: a server sends what it sends

    def shake_hands(self, outbound: Any, initialize: Any) -> None:
        """`outbound`: the SDK's channel for requests to this client; `initialize`: its parameters."""
        self._outbound = outbound
        said = initialize.get("capabilities") if isinstance(initialize, dict) else None
        self._capabilities = _lean(said) if isinstance(said, dict) else {}

    @property
    def is_met(self) -> bool:
        """It shook hands: notifications are sent to it straight."""
        return self._outbound is not None

    def close(self) -> None:
        self._outbound = None

    async def ask(self, server: str, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """The client's answer. Raises as `ask_all` does."""
        return (await self.ask_all(server, {_KEY: (method, params)}))[_KEY]

    async def ask_all(self, server: str, asked: Asked) -> dict[str, dict[str, Any]]:
        """The client's answers, by the same keys: at once where its revision can, else one after the other.
        Raises UNSUPPORTED where it has no such thing, `RpcError` where it refuses.

        Cancelled, it tells the client so.
        """
        call = self._newest_call() if self._outbound is None else None
        if self._outbound is None and call is None:
            methods = ", ".join(method for method, _ in asked.values())
            raise ToolsearchdError("UNSUPPORTED", f"{methods} can't be passed on: this client can't be asked")
        capabilities = self._capabilities if call is None else call.capabilities
        passed = {key: _passed(server, capabilities, *question) for key, question in asked.items()}
        if call is not None:
            answers = await call.ask(passed)
        else:
            answers = {key: await self._sent(*question) for key, question in passed.items()}
        for key, (method, _) in passed.items():
            if not isinstance(answers.get(key), dict):
                words = f"the client came back without an answer to {method}"
                raise ToolsearchdError("UNSUPPORTED", words)
        return {key: answers[key] for key in passed}

    async def _sent(self, method: str, params: dict[str, Any]) -> Any:
        try:
            return await self._outbound.send_raw_request(method, params, None)
        except MCPError as refused:
            raise RpcError(refused.error.code, str(refused.error.message), refused.error.data) from refused

    def tell(self, server: str, method: str, params: Mapping[str, Any]) -> None:
        """A server's log message; one without a logger's name gets the server's."""
        level = params.get("level")
        if self._outbound is None or level not in LEVELS or LEVELS.index(level) < LEVELS.index(self.level):
            return
        message = {"jsonrpc": "2.0", "method": method, "params": {"logger": clean_line(server), **params}}
        self._send_nowait(JSONRPCNotification.model_validate(message))


def _passed(
    server: str, capabilities: Any, method: str, params: Mapping[str, Any]
) -> tuple[str, dict[str, Any]]:
    """The question as the client is asked it. Raises UNSUPPORTED where it does not offer that."""
    if not _can(capabilities, method, params):
        raise ToolsearchdError(
            "UNSUPPORTED", f"{method} can't be passed on: the calling client does not offer it"
        )
    if method == "elicitation/create" and isinstance(message := params.get("message"), str):
        return method, {**params, "message": f"{plain_line(server)}: {message}"}
    return method, dict(params)


def _lean(said: Mapping[str, Any]) -> dict[str, dict[str, bool]]:
    """Which capabilities there are that are asked for here, and their first modes: not what else they say."""
    parts = {name: said.get(name) for name in _CAPABILITY.values()}
    return {
        name: {mode[:_MODE_CHARS]: True for mode in islice(part, _MODES)}
        for name, part in parts.items()
        if isinstance(part, dict)
    }


def _can(capabilities: Any, method: str, params: Mapping[str, Any]) -> bool:
    said = capabilities.get(_CAPABILITY[method]) if isinstance(capabilities, dict) else None
    if not isinstance(said, dict):
        return False
    if method != "elicitation/create":
        return True
    # Until the revision of November 2025 an empty map meant the form.
    mode = params.get("mode", "form")
    return mode in said or (mode == "form" and not said)
