"""What the daemon answers a person: the fields of each `result` on the control socket."""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET, UnsetType

from toolsearchd.protocol.events import ShownPrompt
from toolsearchd.protocol.replies import Decided, EndedByStop
from toolsearchd.records import Finding, WireRecord


class ControlPing(WireRecord, frozen=True):
    generation: int


class SessionSummary(WireRecord, frozen=True):
    session: str
    client: str
    pid: int
    cwd: str
    profile: str
    dialect: str
    tier: int | None  # None until it has asked for its tools
    listing_form: str | None
    why: str
    open: int  # calls
    outstanding_bytes: int
    unread_bytes: int
    uptime_s: float
    searches: int
    searches_without_call: int
    calls: int


class SessionsReply(WireRecord, frozen=True):
    sessions: list[SessionSummary]


class UnansweredCall(WireRecord, frozen=True):
    """That an earlier daemon sent and never heard the end of; `sent` is False where that is not sure."""

    call: str
    tool: str
    server: str
    session: str
    client: str
    sent_at: str
    sent: bool
    digests: dict[str, str]


class JournalReply(WireRecord, frozen=True):
    """`files`, oldest first; `error` is empty while it can be written."""

    files: list[str]
    dropped: int
    error: str
    unanswered: list[UnansweredCall]


class ReadConfig(WireRecord, frozen=True):
    """A config of a client; `inert`: entries of projects, which start nothing while nobody named the file."""

    file: str
    format: str
    servers: int
    inert: int
    error: str


class ConfigInForce(WireRecord, frozen=True):
    file: str


class SemanticStatus(WireRecord, frozen=True):
    """Of the sentence model. `warming`: not all tools have their vector."""

    state: Literal["off", "warming", "on"]
    reason: str | UnsetType = UNSET  # why it is off
    tools: int | UnsetType = UNSET  # with a vector, where it is not


class StatusReply(WireRecord, frozen=True):
    version: str
    pid: int
    uptime_s: float
    generation: int
    servers: dict[str, int]  # state → how many
    tools: int
    stale_tools: int  # of them, not confirmed by their servers in this run
    sessions: list[SessionSummary]
    memory_bytes: int
    config: ConfigInForce
    sources: list[ReadConfig]
    problems: list[str]
    unanswered: list[UnansweredCall]
    semantic: SemanticStatus


class EntryOrigin(WireRecord, frozen=True):
    """Where a server's entry was found."""

    file: str
    format: str
    entry: str
    project: str
    kept_in: str


class ServerStatus(WireRecord, frozen=True):
    """A server; what only a started one has is not there for others."""

    name: str
    state: str
    reason: str
    transport: str
    pid: int | None
    tools: int
    in_flight: int
    restarts: int
    last_error: str
    stderr_tail: list[str]
    junk_lines: int
    first_junk: str
    next_retry_s: float | None
    stale: bool | UnsetType = UNSET  # its tools are as last listed in an earlier run
    protocol: str | UnsetType = UNSET
    server_info: str | UnsetType = UNSET
    queued: int | UnsetType = UNSET
    breaker_open_s: float | UnsetType = UNSET
    mend: str | UnsetType = UNSET  # of what it waits for
    left_out: list[str] | UnsetType = UNSET  # tools that it lists and nobody is offered: "name: why"
    origins: list[EntryOrigin] | UnsetType = UNSET  # where they were asked for


class ServersReply(WireRecord, frozen=True):
    servers: list[ServerStatus]


class RestartReply(WireRecord, frozen=True):
    restarted: str


class StopSessionsReply(EndedByStop, frozen=True):
    sessions: int


class ToolTokens(WireRecord, frozen=True):
    name: str
    tokens: dict[str, int]  # by encoding
    at_least: bool | UnsetType = UNSET


class ServerTokens(WireRecord, frozen=True):
    """`tokens` is None where it was never asked: how much its tools cost, nobody knows."""

    name: str
    state: str
    tools: list[ToolTokens]
    tokens: dict[str, int] | None
    tool_count: int | None
    reason: str | UnsetType = UNSET
    at_least: bool | UnsetType = UNSET


class TokenTotals(WireRecord, frozen=True):
    """In every turn, under one encoding."""

    eager: int  # all schemas
    view: int  # what is shown instead: bridge, listing and pinned tools
    bridge: int
    pinned: int
    listing: int
    saved: int
    tier: int
    listing_form: str
    budget_tokens: int
    why: str


class TokensReply(WireRecord, frozen=True):
    dialect: str
    profile: str
    context_length: int | None
    encodings: list[str]
    estimated: list[str]  # encodings that have no vocabulary here
    servers: list[ServerTokens]
    unknown: list[str]  # servers
    totals: dict[str, TokenTotals]  # by encoding
    at_least: bool


class WatchReply(WireRecord, frozen=True):
    watching: bool


class ShownPermit(WireRecord, frozen=True):
    """A permit that stands."""

    approval: str
    scope: str  # "session" | "always"
    session: str | None
    server: str
    tool: str
    tool_digest: str
    given_at: str


class ApprovalsReply(WireRecord, frozen=True):
    approvals: list[ShownPrompt]
    standing: list[ShownPermit]


class ReloadReply(WireRecord, frozen=True):
    """`changed`: servers. `accepted`: files that are missing or empty and count as saying nothing. `failed`:
    those whose newest text is not in force. `needs_restart`: what counts from another start on."""

    changed: list[str]
    accepted: list[str]
    failed: list[str]
    needs_restart: list[str]
    problems: list[str]


class DoctorReply(WireRecord, frozen=True):
    findings: list[Finding]


CONTROL_REPLIES: dict[str, type[WireRecord]] = {
    "ping": ControlPing,
    "status": StatusReply,
    "servers": ServersReply,
    "restart": RestartReply,
    "sessions": SessionsReply,
    "stop": StopSessionsReply,
    "tokens": TokensReply,
    "watch": WatchReply,
    "journal": JournalReply,
    "approvals": ApprovalsReply,
    "approve": Decided,
    "deny": Decided,
    "reload": ReloadReply,
    "doctor": DoctorReply,
}
"""Operation → the fields of its result."""
