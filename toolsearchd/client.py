"""The Python client: `AsyncClient` (trio), its blocking face `Client`; `ControlClient` for people.

    with Client(client="my-agent", cwd="/project") as agent:
        agent.search(["github create issue"])
        agent.describe(["mcp__github__create_issue"])
        agent.call([{"name": "mcp__github__create_issue", "arguments": {"title": "…"}}])

Replies and events are the structs of `protocol/`, which read as maps too: `reply["results"]`; `as_map` makes
one for JSON. An error reply raises `ToolsearchdError` with its code; no daemon at the socket, or one that
says nothing, raises NO_DAEMON, and a socket that is not this user's NOT_ALLOWED, before a byte is sent; a
call whose answer can't come any more raises INDETERMINATE.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolsearchd.client_wire import Blocking, given, hello_message, socket_path
from toolsearchd.endpoint import GREETING_S
from toolsearchd.protocol import control_replies as control
from toolsearchd.protocol.events import Event
from toolsearchd.protocol.received import Received
from toolsearchd.protocol.replies import (
    REPLIES,
    AssembleReply,
    CallReply,
    CallResultReply,
    Decided,
    DecideReply,
    DescribeReply,
    ExplainReply,
    OwnWords,
    ResolveReply,
    SearchReply,
    Stamped,
    StopReply,
    SubscribeReply,
    ToolsReply,
    UseReply,
    Welcome,
)
from toolsearchd.records import Open

if TYPE_CHECKING:
    from toolsearchd.async_client import AsyncClient as AsyncClient


def __getattr__(name: str) -> Any:
    """`AsyncClient` brings trio along: only where it is asked for."""
    if name == "AsyncClient":
        from toolsearchd.async_client import AsyncClient

        return AsyncClient
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class Client(Blocking):
    """A blocking agent session. `timeout_s` bounds each wait on the socket (None: for ever); `hello`: its
    other fields, `profile` or `only={"servers": ["github"]}` for example."""

    replies = REPLIES

    def __init__(
        self,
        *,
        client: str,
        runtime_dir: Path | str | None = None,
        timeout_s: float | None = None,
        **hello: Any,
    ) -> None:
        super().__init__(socket_path(runtime_dir, "agent.sock"), timeout_s)
        try:
            with self._at_once():
                self._send("hello", hello_message(client, hello))
                self.welcome = self._receive("hello").reply(Welcome)
        except BaseException:
            self.close()
            raise

    def ping(self) -> Stamped:
        """Raises NO_DAEMON where the answer does not come at once; then the connection is closed."""
        with self._at_once():
            return self._ask(Stamped, "ping")

    def assemble(
        self,
        *,
        context_length: int | None = None,
        encoding: str | None = None,
        model: str | None = None,
        refresh: bool = False,
    ) -> AssembleReply:
        fields = given(context_length=context_length, encoding=encoding, model=model)
        return self._ask(AssembleReply, "assemble", refresh=refresh, **fields)

    def search(
        self, queries: Sequence[str], limit: int | None = None, *, scores: bool | None = None
    ) -> SearchReply | OwnWords:
        """`OwnWords` where the session's dialect has a shape of its own."""
        asked = {"queries": list(queries), **given(limit=limit, scores=scores)}
        return self._wait("search", asked).found(SearchReply)

    def describe(self, names: Sequence[str]) -> DescribeReply | OwnWords:
        """`OwnWords` where the session's dialect has a shape of its own."""
        return self._wait("describe", {"names": list(names)}).found(DescribeReply)

    def explain(self, query: str, tool: str | None = None) -> ExplainReply:
        return self._ask(ExplainReply, "explain", query=query, **given(tool=tool))

    def call(self, calls: Sequence[dict[str, Any]]) -> CallReply:
        return self._ask(CallReply, "call", calls=list(calls))

    def use(self, tool: str, arguments: dict[str, Any]) -> UseReply:
        """A model's call of a tool that `assemble` gave; the reply's `text` or `value` is for the model."""
        return self._ask(UseReply, "use", tool=tool, arguments=arguments)

    def set_tools(self, tools: Sequence[dict[str, Any]]) -> ToolsReply:
        """The agent's own tools from now on; calls of them come out of `events` as `call_requested`."""
        return self._ask(ToolsReply, "tools", tools=list(tools))

    def call_result(self, call: str, **outcome: Any) -> CallResultReply:
        """What became of a `call_requested`: `response=` or `error=`."""
        return self._ask(CallResultReply, "call_result", call=call, **outcome)

    def stop(self, batch: int | str | None = None) -> StopReply:
        return self._ask(StopReply, "stop", **given(batch=batch))

    def resolve(self, handle: str, offset: int = 0, limit: int | None = None) -> ResolveReply:
        """Reads on in a result that was too long for its reply: `text`, and `next_offset` where more is."""
        return self._ask(ResolveReply, "resolve", handle=handle, offset=offset, **given(limit=limit))

    def subscribe(self, events: Sequence[str]) -> SubscribeReply:
        return self._ask(SubscribeReply, "subscribe", events=list(events))

    def decide(self, approval: str, decision: str) -> DecideReply:
        """`approve`, `session`, `always` or `deny`, for a prompt of this session."""
        return self._ask(DecideReply, "decide", approval=approval, decision=decision)

    def bye(self) -> Stamped:
        """Ends the session; the daemon closes the connection behind the reply."""
        return self._ask(Stamped, "bye")

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()


class ControlClient(Blocking):
    """A blocking control connection.

    Nobody is greeted there: where `timeout_s` lets a request wait for long, a ping comes before the first.
    """

    replies = control.CONTROL_REPLIES

    def __init__(self, *, runtime_dir: Path | str | None = None, timeout_s: float | None = None) -> None:
        super().__init__(socket_path(runtime_dir, "control.sock"), timeout_s)
        if timeout_s is None or timeout_s > GREETING_S:
            try:
                self.ping()
            except BaseException:
                self.close()
                raise

    def ping(self) -> control.ControlPing:
        """Raises NO_DAEMON where the answer does not come at once; then the connection is closed."""
        with self._at_once():
            return self._ask(control.ControlPing, "ping")

    def status(self) -> control.StatusReply:
        return self._ask(control.StatusReply, "status")

    def servers(self, name: str | None = None, *, origins: bool = False) -> control.ServersReply:
        return self._ask(control.ServersReply, "servers", name=name, origins=origins)

    def restart(self, name: str) -> control.RestartReply:
        return self._ask(control.RestartReply, "restart", name=name)

    def sessions(self) -> control.SessionsReply:
        return self._ask(control.SessionsReply, "sessions")

    def stop(self, session: str | None = None) -> control.StopSessionsReply:
        """Stops one session's work, or everybody's."""
        return self._ask(control.StopSessionsReply, "stop", session=session)

    def tokens(self, session: str, encodings: Sequence[str] | None = None) -> control.TokensReply:
        return self._ask(control.TokensReply, "tokens", session=session, encodings=encodings)

    def watch(self) -> control.WatchReply:
        """After this, `activity` comes out of `events`."""
        return self._ask(control.WatchReply, "watch")

    def journal(self) -> control.JournalReply:
        return self._ask(control.JournalReply, "journal")

    def approvals(self, approval: str | None = None, *, watch: bool = False) -> control.ApprovalsReply:
        """What waits; `watch`: what comes, and how it ends, comes out of `events`."""
        return self._ask(control.ApprovalsReply, "approvals", approval=approval, watch=watch)

    def approve(self, approval: str, scope: str = "once", code: str | None = None) -> Decided:
        """`scope`: once, session or always."""
        return self._ask(Decided, "approve", approval=approval, scope=scope, code=code)

    def deny(self, approval: str) -> Decided:
        """Refuses a pending approval, or ends a standing permit."""
        return self._ask(Decided, "deny", approval=approval)

    def reload(self, *, accept_missing: bool = False, removed: Sequence[str] = ()) -> control.ReloadReply:
        return self._ask(control.ReloadReply, "reload", accept_missing=accept_missing, removed=list(removed))

    def doctor(self) -> control.DoctorReply:
        return self._ask(control.DoctorReply, "doctor")

    def fileno(self) -> int:
        """For `select`: readable means that `read_some` will not wait."""
        return self._sock.fileno()

    def read_some(self) -> None:
        """Reads once. Raises NO_DAEMON at the connection's end."""
        self._read("events")

    def come_events(self) -> list[Event | Open]:
        """The events that have come whole, without waiting for any."""
        while (payload := self._frames.next_payload()) is not None:
            self._events.append(Received(payload).event())
        come = self._events[:]
        self._events.clear()
        return come

    def __enter__(self) -> ControlClient:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()
