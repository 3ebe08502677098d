"""Lets an entry through, or says what is against it: name, hooks, validation, policy, a person; and again at
the send.

Owns nothing; waits only for hooks and a person's answer. Everything against an entry is a `ToolsearchdError`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, Protocol

import msgspec

from toolsearchd.calls.account import Account
from toolsearchd.calls.approver import Approver, Permit
from toolsearchd.calls.hooks import Hooks
from toolsearchd.calls.journal import Journal
from toolsearchd.catalog.model import Tool
from toolsearchd.config.model import ServerSpec
from toolsearchd.config.settings import Settings
from toolsearchd.disclosure.sanitise import clipped
from toolsearchd.dispatch.entry import Entry, Outcome
from toolsearchd.dispatch.parallel import BARRIER, Footprint, footprint
from toolsearchd.dispatch.policy import Decision, decide, strictest
from toolsearchd.dispatch.prompt import Binding, Question, arguments_digest
from toolsearchd.dispatch.queue import Queue
from toolsearchd.dispatch.rules import Rules
from toolsearchd.dispatch.shapes import RequestedCall
from toolsearchd.errors import ToolsearchdError
from toolsearchd.limits import Limits
from toolsearchd.protocol.events import Event
from toolsearchd.system.peer import Peer

_NAME_CHARS = 128  # of a name that a model made up
_WITHDRAWN = ToolsearchdError(
    "INTERRUPTED",
    "a stop came while this entry waited for an approval; the prompt was withdrawn, nothing was sent",
    prompt="withdrawn",
)


class Caller(Protocol):
    """What a call needs of its session."""

    session_id: str
    client: str
    peer: Peer
    queue: Queue
    account: Account  # what its calls make the daemon hold
    client_side: Any  # its client, as servers ask it for something; None: it can't be asked

    @property
    def profiles(self) -> tuple[str, ...]:
        """Those whose rules bind it, its client's own first."""

    @property
    def may_decide(self) -> bool:
        """Its own user interface may answer its prompts."""

    @property
    def rules(self) -> Rules:
        """How its calls are read and its arguments made fit."""

    def tool_to_call(self, name: str) -> Tool:
        """The granted tool that `name` means now. Raises TOOL_NOT_FOUND or TOOL_CHANGED."""

    def client_word(self, tool: Tool) -> Decision | None:
        """What its client's own config says of calls of the tool now; None where that is nothing."""

    def notify(self, event: Event) -> None: ...

    async def call_own(self, tool: str, arguments: dict[str, Any], *, timeout_s: float) -> dict[str, Any]:
        """Runs a tool of its own, as `UpstreamPort.call` does a server's."""


class UpstreamPort(Protocol):
    """Where calls go: the fleet."""

    def spec(self, server: str) -> ServerSpec | None: ...

    async def call(
        self,
        server: str,
        tool: str,
        arguments: dict[str, Any],
        *,
        timeout_s: float,
        on_progress: Callable[[float, float | None, str | None], None] | None = None,
        check: Callable[[], None],
        caller: str,
        replays: bool,
        client: Any,
    ) -> dict[str, Any]:
        """MCP's `CallToolResult` as a map. `check` is asked right before each send: what it raises ends the
        call unsent. `replays`: it may be sent again after a lost connection. `client` is asked what the
        server asks meanwhile. Raises `ToolsearchdError`."""


_calls = itertools.count(1)


class CallContext:
    """One entry on its way: what it turned out to be, and by whose leave it goes. Filled as it goes."""

    def __init__(self, caller: Caller, entry: Entry, life: str = "") -> None:
        self.caller = caller
        self.call = f"{life}-{next(_calls)}"  # in the journal, from its start to its end
        self.entry = entry
        self.tool: Tool | None = None
        self.arguments: dict[str, Any] | None = None  # as they would be sent
        self.rule = ""  # which word of the policy decided
        self.binding: Binding | None = None
        self.permit: Permit | None = None  # where the policy asks
        self.lacks_leave = False  # the policy asks since a moment ago, and nobody has been asked yet
        self.lacks_room = False  # the session holds more than it may; the send waits till it reads
        self.sent = False
        self.began_at = 0.0  # monotonic seconds; 0: it was ended before its turn

    @property
    def who(self) -> dict[str, Any]:
        """For hooks."""
        caller = self.caller
        return {"session": caller.session_id, "client": caller.client, "profile": caller.profiles[-1]}

    def record(self, *, with_arguments: bool) -> dict[str, Any]:
        """For the journal: who, what, by whose leave. Values of arguments only where they are wanted."""
        caller, tool, binding = self.caller, self.tool, self.binding
        fields: dict[str, Any] = {
            **self.who,
            "call": self.call,
            "pid": caller.peer.pid,
            "tool": clipped(self.entry.name, _NAME_CHARS),
        }
        if tool is not None:
            fields["server"] = tool.server
        if self.rule:
            fields["decision"] = self.permit.how if self.permit else "as the policy says"
            fields["rule"] = self.rule
        if binding is not None:
            fields["digests"] = {
                "server": binding.server_digest,
                "tool": binding.tool_digest,
                "arguments": binding.arguments_digest,
            }
        if with_arguments and self.arguments is not None:
            fields["arguments"] = self.arguments
        return fields


class Admission:
    def __init__(
        self,
        *,
        upstream: UpstreamPort,
        approver: Approver,
        hooks: Hooks,
        journal: Journal,
        settings: Callable[[], Settings],
        limits: Limits,
        offers: Callable[[str, str], bool] = lambda _server, _tool: True,
    ) -> None:
        """`offers(server, tool)`: do the entries let it through at this moment?"""
        self._offers = offers
        self._upstream = upstream
        self._approver = approver
        self._hooks = hooks
        self._journal = journal
        self._settings = settings
        self._limits = limits

    async def wait_admitted(self, context: CallContext, request: RequestedCall) -> None:
        """All before the send, in order: name, hooks, validation, policy, approval. Raises what bars it."""
        from toolsearchd.dispatch.arguments import prepare  # large: `app` has it loaded after the start

        caller, entry = context.caller, context.entry
        tool = context.tool = self._tool_to_call(context, request)
        entry.name = tool.public_name
        given = await self._hooks.run_pre(context.who, caller.profiles, tool, request.arguments or {})
        spec = self._spec(tool)
        context.arguments = prepare(
            tool.definition,
            given,
            called=entry.name,
            rules=caller.rules,
            trusted=tool.kind == "plugin",
            validates=spec.validate if spec else True,
            unvalidatable=spec.unvalidatable if spec else "forward",
            limits=self._limits,
        )
        await self.wait_leave(context, request)

    async def wait_leave(self, context: CallContext, request: RequestedCall) -> None:
        """The policy's leave, a person's where it asks; recorded before this returns. Raises what refuses it.

        A stop while a person is asked withdraws the prompt and gives the entry its `when_stopped`.
        """
        caller, entry, tool = context.caller, context.entry, context.tool
        assert tool is not None
        sent = _sent(context.arguments or {})
        context.binding, context.lacks_leave = self._binding(caller, tool, sent), False
        if self._is_allowed(context, tool):
            return
        entry.when_stopped = refused(caller, _WITHDRAWN)
        try:
            context.permit = await self._wait_permit(context, request, sent)
        finally:
            entry.when_stopped = None
        # No call that somebody had to approve goes unrecorded.
        record = context.record(with_arguments=self._journal.writes_arguments)
        await self._journal.wait_recorded("approved", record)

    def check(self, context: CallContext, request: RequestedCall) -> None:
        """The last look, right before each send: grant, definition and policy as they are now, and the
        approval where one is needed.

        Raises what keeps the call back: TOOL_CHANGED, TOOL_NOT_FOUND, DENIED, STALE; NO_APPROVER, with
        `lacks_leave` set, where the policy has come to ask: then `wait_leave` is due before the next try.
        """
        assert context.binding is not None
        tool = self._tool_to_call(context, request)
        if tool.definition.digest != context.binding.tool_digest:
            raise ToolsearchdError(
                "TOOL_CHANGED",
                f"{tool.public_name} changed while the call waited; nothing was sent; describe it again",
            )
        if not self._is_allowed(context, tool):
            if context.permit is None:
                context.lacks_leave = True
                raise ToolsearchdError(
                    "NO_APPROVER", f"{tool.public_name} needs an approval ({context.rule})"
                )
            context.permit.use(self._binding(context.caller, tool, _sent(context.arguments or {})))
        context.sent = True

    def _is_allowed(self, context: CallContext, tool: Tool) -> bool:
        """The policy's word of this moment: True goes, False is to be asked for. Raises DENIED."""
        spec, arguments = self._spec(tool), context.arguments or {}
        profiles = context.caller.profiles
        word = context.caller.client_word(tool)
        decision = strictest(self._decide(profile, tool, spec, arguments, word) for profile in profiles)
        context.rule = decision.rule
        if decision.then == "deny":
            raise ToolsearchdError("DENIED", f"the policy refuses {tool.public_name} ({decision.rule})")
        return decision.then == "allow"

    def footprint_before(self, context: CallContext, request: RequestedCall) -> Footprint:
        """What the call seems to touch, before hooks and repairs. Raises TOOL_NOT_FOUND or TOOL_CHANGED."""
        return self._footprint(self._tool_to_call(context, request), {})

    def footprint_of(self, context: CallContext) -> Footprint:
        """What the admitted call touches."""
        assert context.tool is not None
        return self._footprint(context.tool, context.arguments or {})

    def _footprint(self, tool: Tool, arguments: dict[str, Any]) -> Footprint:
        spec = self._spec(tool)
        if spec is None:
            return BARRIER
        return footprint(
            arguments,
            read_only=tool.definition.read_only,
            trusted=spec.trust == "full",
            server_is_parallel=spec.supports_parallel_tool_calls,
        )

    def only_reads(self, tool: Tool) -> bool:
        """Does it say so, and is its server trusted to?"""
        spec = self._spec(tool)
        return tool.definition.read_only is True and spec is not None and spec.trust == "full"

    def _decide(
        self,
        profile: str,
        tool: Tool,
        spec: ServerSpec | None,
        arguments: dict[str, Any],
        client: Decision | None,
    ) -> Decision:
        settings = self._settings()
        named = settings.profiles.get(profile)
        return decide(
            settings.approval,
            profile=profile,
            server=tool.server,
            tool=tool.name,
            read_only=tool.definition.read_only,
            destructive=tool.definition.destructive,
            trust=spec.trust if spec else "full",
            server_approval=spec.approval if spec else "",
            arguments=arguments,
            public_name=tool.public_name,
            profile_approval=named.approval if named else None,
            client=client,
        )

    def _tool_to_call(self, context: CallContext, request: RequestedCall) -> Tool:
        """As the session knows it, where the entries let it through: they may have changed since the catalog
        was compiled, or since the call was admitted. Raises TOOL_NOT_FOUND, TOOL_CHANGED or
        SERVER_UNAVAILABLE."""
        if context.tool is not None:
            self._check_offered(context.tool)
        tool = context.caller.tool_to_call(request.name)
        self._check_offered(tool)
        return tool

    def _check_offered(self, tool: Tool) -> None:
        if tool.kind != "mcp" or self._offers(tool.server, tool.name):
            return
        spec = self._upstream.spec(tool.server)
        if spec is None or not spec.enabled:
            why = "is not configured any more" if spec is None else "was disabled in its config"
            raise ToolsearchdError("SERVER_UNAVAILABLE", f"{tool.server} {why}", server=tool.server)
        raise ToolsearchdError(
            "TOOL_NOT_FOUND", f"{tool.public_name} is filtered out by its server's entry; nothing was sent"
        )

    def _spec(self, tool: Tool) -> ServerSpec | None:
        """What is configured for the tool's server; a tool of the agent's own has none."""
        return None if tool.kind == "plugin" else self._upstream.spec(tool.server)

    async def _wait_permit(self, context: CallContext, request: RequestedCall, sent: bytes) -> Permit:
        caller, binding = context.caller, context.binding
        assert binding is not None
        question = Question(
            binding=binding,
            arguments=sent,
            public_name=context.entry.name,
            client=caller.client,
            profile=caller.profiles[-1],
            rule=context.rule,
        )

        def is_current() -> bool:
            try:
                return self._binding(caller, self._tool_to_call(context, request), sent) == binding
            except ToolsearchdError:
                return False

        try:
            return await self._approver.wait_permit(caller, context.entry, question, is_current)
        except ToolsearchdError as error:
            if error.code == "TOOL_CHANGED":
                self._tool_to_call(context, request)  # if it is gone, that says more
            raise

    def _binding(self, caller: Caller, tool: Tool, sent: bytes) -> Binding:
        spec = self._spec(tool)
        return Binding(
            session=caller.session_id,
            server=tool.server,
            server_digest=spec.digest if spec else "",
            tool=tool.name,
            tool_digest=tool.definition.digest,
            arguments_digest=arguments_digest(sent),
        )


def refused(caller: Caller, error: ToolsearchdError) -> Outcome:
    """The outcome of an entry that was not let through, in the words of the caller's dialect."""
    return Outcome.failed(caller.rules.refusal(error, withdrawn=error is _WITHDRAWN))


def _sent(arguments: dict[str, Any]) -> bytes:
    """The JSON text of the arguments as it goes to a server. Raises INVALID_ARGUMENTS where there is none."""
    try:
        return msgspec.json.encode(arguments)
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise ToolsearchdError(
            "INVALID_ARGUMENTS", f"the arguments have no JSON form, nothing was sent: {error}"
        ) from error
