"""What the daemon tells unasked: events, each a map with its name under `op`. They carry no id."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, UnsetType

from toolsearchd.protocol.requests import RequestId
from toolsearchd.records import WireRecord


class Event(WireRecord, frozen=True, tag_field="op"):
    @property
    def op(self) -> str:
        """Its name."""
        return str(self.__struct_config__.tag)


class CatalogChanged(Event, frozen=True, tag="catalog_changed"):
    generation: int


class CallRequested(Event, frozen=True, tag="call_requested"):
    """The agent is to run one of its own tools, and to say `call_result`."""

    call: str
    name: str
    arguments: dict[str, Any]


class CallCancelled(Event, frozen=True, tag="call_cancelled"):
    """Nobody waits for it any more."""

    call: str


class Digests(WireRecord, frozen=True):
    """Of the server's entry, the tool's definition and the arguments: what an approval is for."""

    server: str
    tool: str
    arguments: str


class ShownPrompt(WireRecord, frozen=True):
    """A call that waits for an approval. `arguments` is the JSON text that would be sent, with escapes for
    what hides in it; null where it is long and not asked for by the approval's id."""

    approval: str
    session: str
    client: str
    profile: str
    server: str
    tool: str
    arguments: str | None
    arguments_bytes: int
    rule: str
    asked_at: str  # ISO 8601, UTC
    expires_at: str
    digests: Digests
    pid: int
    pending: int  # prompts of its session
    needs_code: bool | UnsetType = UNSET  # for a person: must the code be given?
    code: str | UnsetType = UNSET  # for a person who need not give it


class ApprovalRequested(Event, ShownPrompt, frozen=True, tag="approval_requested"): ...


class ApprovalEnded(Event, frozen=True, tag="approval_ended"):
    approval: str
    state: str
    by: str


class ProgressMade(Event, frozen=True, tag="progress"):
    batch: RequestId  # the `id` of the call
    index: int
    name: str
    progress: float
    total: float | None
    message: str | None


class CallStep(WireRecord, frozen=True):
    """A step of somebody's work, for who watches: `step` says which, the rest is there as it has it."""

    step: str
    session: str
    client: str
    profile: str | UnsetType = UNSET  # connected
    queries: list[str] | UnsetType = UNSET  # search
    found: int | UnsetType = UNSET
    tools: list[str] | UnsetType = UNSET  # describe
    tool: str | UnsetType = UNSET  # received, sent, call, hook, approval, orphaned
    ms: float | UnsetType = UNSET  # search, call, hook
    outcome: str | UnsetType = UNSET  # call: ok or an error code; hook
    hook: str | UnsetType = UNSET
    command: str | UnsetType = UNSET
    approval: str | UnsetType = UNSET
    rule: str | UnsetType = UNSET
    state: str | UnsetType = UNSET
    interrupted: int | UnsetType = UNSET  # stop
    running: int | UnsetType = UNSET


class ActivityStep(Event, CallStep, frozen=True, tag="activity"): ...


class Drain(Event, frozen=True, tag="drain"):
    """The daemon is stopping."""


AGENT_EVENTS: tuple[type[Event], ...] = (
    CatalogChanged,
    CallRequested,
    CallCancelled,
    ApprovalRequested,
    ApprovalEnded,
    ProgressMade,
    Drain,
)
CONTROL_EVENTS: tuple[type[Event], ...] = (ActivityStep, ApprovalRequested, ApprovalEnded)
