"""Lets an entry through, or says what is against it: name, validation, policy, a person; again at the send.

Owns nothing; waits only for a person's answer. Everything against an entry is a `ToolsearchdError`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import msgspec

from toolsearchd.actors.approver import Approver, Permit
from toolsearchd.actors.peer import Peer
from toolsearchd.catalog.model import Tool
from toolsearchd.config.model import ServerSpec
from toolsearchd.config.settings import Settings
from toolsearchd.dispatch.approvals import Binding, Question, arguments_digest
from toolsearchd.dispatch.arguments import prepare
from toolsearchd.dispatch.entry import Entry, Outcome
from toolsearchd.dispatch.policy import Decision, decide, strictest
from toolsearchd.dispatch.queue import Queue
from toolsearchd.dispatch.shapes import CallRequest, Rules
from toolsearchd.errors import ToolsearchdError
from toolsearchd.limits import Limits

_WITHDRAWN = ToolsearchdError(
    "INTERRUPTED",
    "a stop came while this entry waited for an approval; the prompt was withdrawn, nothing was sent",
    prompt="withdrawn",
)
# What the reference's dialect tells as a plain refusal.
_REFUSALS = frozenset(("DENIED", "NO_APPROVER", "APPROVAL_TIMEOUT", "STALE", "AUDIT_UNAVAILABLE"))


class Caller(Protocol):
    """What a call needs of its session."""

    session_id: str
    client: str
    peer: Peer
    queue: Queue

    @property
    def profiles(self) -> tuple[str, ...]:
        """Those whose rules bind it, its client's own first."""

    @property
    def may_decide(self) -> bool:
        """Its own user interface may answer its prompts."""

    @property
    def argument_rules(self) -> Rules: ...

    def tool_to_call(self, name: str) -> Tool:
        """The granted tool that `name` means now. Raises TOOL_NOT_FOUND or TOOL_CHANGED."""

    def notify(self, event: str, fields: dict[str, Any]) -> None: ...

    async def call_own(self, tool: str, arguments: dict[str, Any], *, timeout_s: float) -> dict[str, Any]:
        """Runs a tool of its own, as `Upstream.call` does a server's."""


class Upstream(Protocol):
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
    ) -> dict[str, Any]:
        """MCP's `CallToolResult` as a map. `check` is asked right before the send: what it raises ends the
        call unsent. Raises `ToolsearchdError`."""


class Admitted(NamedTuple):
    """An entry that may be sent: what, to which tool, and by whose leave where the policy asks."""

    tool: Tool
    arguments: dict[str, Any]
    permit: Permit | None


class Admission:
    def __init__(
        self,
        *,
        upstream: Upstream,
        approver: Approver,
        settings: Callable[[], Settings],
        limits: Limits,
    ) -> None:
        self._upstream = upstream
        self._approver = approver
        self._settings = settings
        self._limits = limits

    async def wait_admitted(self, caller: Caller, entry: Entry, request: CallRequest) -> Admitted:
        """All before the send, in order: name, validation, policy, approval. Raises what is against it.

        A stop while a person is asked withdraws the prompt and gives the entry its `when_stopped`.
        """
        tool = caller.tool_to_call(request.name)
        entry.name = tool.public_name
        spec = self._spec(tool)
        arguments = prepare(
            tool.definition,
            request.arguments or {},
            rules=caller.argument_rules,
            trusted=tool.kind == "plugin",
            unvalidatable=spec.unvalidatable if spec else "forward",
            limits=self._limits,
        )
        decision = strictest(self._decide(profile, tool, spec, arguments) for profile in caller.profiles)
        if decision.then == "deny":
            raise ToolsearchdError("DENIED", f"the policy refuses {tool.public_name} ({decision.rule})")
        permit = None
        if decision.then == "ask":
            entry.when_stopped = refused(caller, _WITHDRAWN)
            try:
                permit = await self._wait_permit(caller, entry, request, tool, arguments, decision.rule)
            finally:
                entry.when_stopped = None
        return Admitted(tool, arguments, permit)

    def check(self, caller: Caller, request: CallRequest, admitted: Admitted) -> None:
        """The last look, right before the send. Raises TOOL_CHANGED, TOOL_NOT_FOUND or STALE."""
        tool = caller.tool_to_call(request.name)
        if tool.definition.digest != admitted.tool.definition.digest:
            raise ToolsearchdError(
                "TOOL_CHANGED",
                f"{tool.public_name} changed while the call waited; nothing was sent; describe it again",
            )
        if admitted.permit is not None:
            admitted.permit.use(self._binding(caller, tool, _sent(admitted.arguments)))

    def _decide(
        self, profile: str, tool: Tool, spec: ServerSpec | None, arguments: dict[str, Any]
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
        )

    def _spec(self, tool: Tool) -> ServerSpec | None:
        """What is configured for the tool's server; a tool of the agent's own has none."""
        return None if tool.kind == "plugin" else self._upstream.spec(tool.server)

    async def _wait_permit(
        self,
        caller: Caller,
        entry: Entry,
        request: CallRequest,
        tool: Tool,
        arguments: dict[str, Any],
        rule: str,
    ) -> Permit:
        sent = _sent(arguments)
        binding = self._binding(caller, tool, sent)
        question = Question(
            binding=binding,
            arguments=sent,
            public_name=tool.public_name,
            client=caller.client,
            profile=caller.profiles[-1],
            rule=rule,
        )

        def is_current() -> bool:
            try:
                return self._binding(caller, caller.tool_to_call(request.name), sent) == binding
            except ToolsearchdError:
                return False

        return await self._approver.wait_permit(caller, entry, question, is_current)

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
    withdrawn = error is _WITHDRAWN
    if caller.argument_rules == "hermes" and (withdrawn or error.code in _REFUSALS):
        error = ToolsearchdError("TOOL_ERROR", error.message, **error.fields | {"reason": error.code})
    return Outcome.failed(error)


def _sent(arguments: dict[str, Any]) -> bytes:
    """The JSON text of the arguments as it goes to a server. Raises INVALID_ARGUMENTS where there is none."""
    try:
        return msgspec.json.encode(arguments)
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise ToolsearchdError(
            "INVALID_ARGUMENTS", f"the arguments have no JSON form, nothing was sent: {error}"
        ) from error
