"""Approvals through the MCP client's own form (elicitation): the person answers where they see the agent.

One form per prompt, taken away when somebody else answered. A form that was dismissed leaves the prompt to
the others; a client whose form fails is not asked again. Imports the SDK: import it through `McpDoor` only.
"""

from __future__ import annotations

import logging
from typing import Any

import anyio
import trio
from mcp.shared.exceptions import MCPError

from toolsearchd.disclosure.sanitise import plain_line, visible
from toolsearchd.doors.mcp import DoorSession
from toolsearchd.errors import ToolsearchdError
from toolsearchd.protocol.events import ApprovalEnded, ApprovalRequested, Event
from toolsearchd.system import guard

log = logging.getLogger(__name__)

# Never "always": a client that fills in its own form must not permit itself anything past its session.
_ENDS = (anyio.BrokenResourceError, anyio.ClosedResourceError)
_DECISIONS = ("approve", "session", "deny")
_SCHEMA = {
    "type": "object",
    "properties": {
        "decision": {
            "type": "string",
            "title": "Decision",
            "description": "approve: this call, once; session: this tool in this session; deny: no, and "
            "this call is not asked for again in this session",
            "enum": list(_DECISIONS),
        }
    },
    "required": ["decision"],
}


class ApprovalForms:
    """Made once the client said that it has a form; `sdk` is the SDK's session of the handshake era."""

    def __init__(self, session: DoorSession, sdk: Any, nursery: trio.Nursery) -> None:
        self._session = session
        self._sdk = sdk
        self._nursery = nursery
        self._open: dict[str, trio.CancelScope] = {}

    def hear(self, event: Event) -> None:
        if isinstance(event, ApprovalEnded):
            scope = self._open.pop(event.approval, None)
            if scope is not None:
                scope.cancel()
        elif isinstance(event, ApprovalRequested) and event.arguments is not None:  # else too long for a form
            guard.start(
                self._nursery,
                "asking by a client's form",
                self._ask,
                event,
                tell=lambda _bug: self._give_up(),
            )

    async def _ask(self, prompt: ApprovalRequested) -> None:
        approval = prompt.approval
        with trio.CancelScope() as scope:
            self._open[approval] = scope
            try:
                answer = await self._sdk.elicit_form(_question(prompt), _SCHEMA)
                decision = _decision_of(answer)
                if decision is not None:
                    self._session.decide(approval, decision)
            except ToolsearchdError as error:
                log.info("an answer to approval %s came too late: %s", approval, error)
            except (
                MCPError,
                ValueError,
                RuntimeError,
                *_ENDS,
            ) as error:  # it refuses, or is gone
                log.warning("the client's form failed, approvals are asked for elsewhere: %r", error)
                self._give_up()
            finally:
                self._open.pop(approval, None)

    def _give_up(self) -> None:
        self._session.answer_by_form(False)


def has_form(initialize: Any) -> bool:
    """Did the client say so, in the parameters of its `initialize`? Before the revision of November 2025 an
    empty map meant the form; since then it may hold `form`, `url` or both."""
    capabilities = initialize.get("capabilities") if isinstance(initialize, dict) else None
    said = capabilities.get("elicitation") if isinstance(capabilities, dict) else None
    return isinstance(said, dict) and (not said or "form" in said)


def _question(prompt: ApprovalRequested) -> str:
    return (
        f"{plain_line(prompt.client)} wants to call {plain_line(prompt.tool)} with these arguments, "
        f"exactly:\n{visible(prompt.arguments or '')}\n({plain_line(prompt.rule)})"
    )


def _decision_of(answer: Any) -> Any:
    """None where the person dismissed the form; anything but a clear yes is a no."""
    if answer.action == "cancel":
        return None
    decision = (answer.content or {}).get("decision") if answer.action == "accept" else "deny"
    return decision if decision in _DECISIONS else "deny"
