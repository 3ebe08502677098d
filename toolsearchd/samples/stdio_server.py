"""A small MCP server on stdio: newline JSON-RPC, standard library only, so that it starts at once.

A tool is a function with a description and a JSON Schema. Calls run in threads: a slow one does not keep
others waiting, and `_Stopped` ends it when the client cancels.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

PROTOCOL_VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
METHOD_NOT_FOUND, INVALID_PARAMS = -32601, -32602


class ToolError(Exception):
    """What the tool has to say to the model instead of a result."""


class _Stopped(Exception):
    """The client cancelled this call."""


@dataclass(frozen=True)
class _Call:
    """What a running tool knows of its call."""

    arguments: dict[str, Any]
    cancelled: threading.Event
    report: Callable[[float, float], None]  # progress, total

    def pause(self, seconds: float) -> None:
        """Sleeps, or raises `_Stopped` at once when the client cancels."""
        if self.cancelled.wait(seconds):
            raise _Stopped


Tool = Callable[[_Call], Any]
Schema = dict[str, Any]


@dataclass
class StdioServer:
    """`tool(...)` declares, `run()` serves until stdin ends."""

    name: str
    instructions: str
    _tools: dict[str, tuple[dict[str, Any], Tool]] = field(default_factory=dict)
    _running: dict[Any, threading.Event] = field(default_factory=dict)
    _writing: threading.Lock = field(default_factory=threading.Lock)

    def tool(
        self,
        name: str,
        title: str,
        description: str,
        arguments: dict[str, Schema],
        *,
        optional: tuple[str, ...] = (),
        read_only: bool = False,
        destructive: bool = False,
    ) -> Callable[[Tool], Tool]:
        """Declares the decorated function as a tool; `arguments`: name → schema."""
        definition = {
            "name": name,
            "title": title,
            "description": description,
            "inputSchema": {
                "type": "object",
                "properties": arguments,
                "required": [argument for argument in arguments if argument not in optional],
                "additionalProperties": False,
            },
            "annotations": {
                "readOnlyHint": read_only,
                "destructiveHint": destructive,
                "openWorldHint": False,
            },
        }

        def declare(function: Tool) -> Tool:
            self._tools[name] = (definition, function)
            return function

        return declare

    def definitions(self) -> list[dict[str, Any]]:
        return [definition for definition, _ in self._tools.values()]

    def run(self) -> None:
        for line in sys.stdin:
            try:
                message = json.loads(line)
            except ValueError:
                continue
            if isinstance(message, dict) and "method" in message:
                self._take(message)

    def _take(self, message: dict[str, Any]) -> None:
        method, params = message["method"], message.get("params") or {}
        if method == "notifications/cancelled":
            running = self._running.get(params.get("requestId"))
            if running is not None:
                running.set()
        elif method == "tools/call":
            self._start(message["id"], params)
        elif "id" in message:
            self._answer(message["id"], method, params)

    def _answer(self, request_id: Any, method: str, params: dict[str, Any]) -> None:
        if method == "initialize":
            self._send({"id": request_id, "result": self._initialize(params)})
        elif method == "tools/list":
            self._send({"id": request_id, "result": {"tools": self.definitions()}})
        elif method == "ping":
            self._send({"id": request_id, "result": {}})
        else:
            self._fail(request_id, METHOD_NOT_FOUND, f"{self.name} has no method {method}")

    def _initialize(self, params: dict[str, Any]) -> dict[str, Any]:
        asked = params.get("protocolVersion")
        return {
            "protocolVersion": asked if asked in PROTOCOL_VERSIONS else PROTOCOL_VERSIONS[0],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": self.name, "version": "1.0"},
            "instructions": self.instructions,
        }

    def _start(self, request_id: Any, params: dict[str, Any]) -> None:
        _, function = self._tools.get(params.get("name", ""), (None, None))
        if function is None:
            self._fail(request_id, INVALID_PARAMS, f"{self.name} has no tool {params.get('name')!r}")
            return
        token = (params.get("_meta") or {}).get("progressToken")

        def report(progress: float, total: float) -> None:
            if token is not None:
                told = {"progressToken": token, "progress": progress, "total": total}
                self._send({"method": "notifications/progress", "params": told})

        call = _Call(params.get("arguments") or {}, threading.Event(), report)
        self._running[request_id] = call.cancelled
        threading.Thread(target=self._run_call, args=(request_id, function, call), daemon=True).start()

    def _run_call(self, request_id: Any, function: Tool, call: _Call) -> None:
        try:
            value = function(call)
            result: dict[str, Any] = {"content": [_text(value)]}
            if isinstance(value, dict):
                result["structuredContent"] = value
        except _Stopped:
            return  # a cancelled call is not answered
        except ToolError as error:
            result = {"content": [_text(str(error))], "isError": True}
        except (KeyError, TypeError, ValueError) as error:
            result = {"content": [_text(f"these arguments do not work: {error!r}")], "isError": True}
        finally:
            self._running.pop(request_id, None)
        self._send({"id": request_id, "result": result})

    def _fail(self, request_id: Any, code: int, message: str) -> None:
        self._send({"id": request_id, "error": {"code": code, "message": message}})

    def _send(self, message: dict[str, Any]) -> None:
        line = json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False)
        with self._writing:
            sys.stdout.write(line + "\n")
            sys.stdout.flush()


def _text(value: Any) -> dict[str, str]:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return {"type": "text", "text": text}


# Schemas that the samples share.


def text(description: str, **more: Any) -> Schema:
    return {"type": "string", "description": description, **more}


def number(description: str, **more: Any) -> Schema:
    return {"type": "number", "description": description, **more}


def integer(description: str, **more: Any) -> Schema:
    return {"type": "integer", "description": description, **more}


def texts(description: str) -> Schema:
    return {"type": "array", "items": {"type": "string"}, "description": description}
