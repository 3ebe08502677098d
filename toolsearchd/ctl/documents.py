"""What each verb prints with `--json`, where that is not the daemon's reply as it came.

A verb that fails prints `{error: {code, message, …}}` in its place.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from toolsearchd.protocol import control_replies as control
from toolsearchd.protocol import replies
from toolsearchd.protocol.events import ApprovalEnded, ApprovalRequested, CallStep
from toolsearchd.records import WireRecord


class JournalDocument(control.JournalReply, frozen=True):
    """What the daemon says of its journal, and the records that fit, oldest first."""

    records: list[dict[str, Any]]


class Installed(WireRecord, frozen=True):
    """Of one client's config; `diff` where nothing was written."""

    client: str
    file: str
    changed: bool
    dry_run: bool
    diff: str | UnsetType = UNSET


class KeptServer(WireRecord, frozen=True):
    name: str
    reason: str


class DoorEntry(WireRecord, frozen=True):
    """The entry that starts the relay."""

    name: str
    command: Any = UNSET  # as the client's format has it
    args: list[str] | UnsetType = UNSET


class InstallDocument(Installed, frozen=True, kw_only=True):
    moved: list[str]
    kept: list[KeptServer]
    door: DoorEntry
    moved_file: str
    backup: str
    variables: list[str]
    notes: list[str]


class UninstallDocument(Installed, frozen=True, kw_only=True):
    restored: list[str]
    identical: bool


class DisclosureDocument(Installed, frozen=True, kw_only=True):
    disclosure: str
    door: str


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """Means over the queries that a figure concerns; null where there are none."""

    queries: int
    hit_1: float | None = msgspec.field(name="hit@1")
    hit_5: float | None = msgspec.field(name="hit@5")
    hit_10: float | None = msgspec.field(name="hit@10")
    hit_5_matches: float | None = msgspec.field(name="hit@5_matches")
    recall_5: float | None = msgspec.field(name="recall@5")
    mrr_10: float | None = msgspec.field(name="mrr@10")
    ndcg_10: float | None = msgspec.field(name="ndcg@10")
    empty: float | None
    false_match: float | None
    false_any: float | None
    p50_us: float | None
    p99_us: float | None


class Miss(WireRecord, frozen=True):
    id: str
    query: str
    got: list[str]
    why: str


class CalibrationBin(WireRecord, frozen=True, rename={"least": "from"}):
    """The tools of one tenth of `p`: how many were right ones."""

    least: float
    tools: int
    p: float
    right: float


class CalibrationTable(WireRecord, frozen=True):
    brier: float
    tools: int
    bins: list[CalibrationBin]


class ComparedFigure(WireRecord, frozen=True):
    """One figure of the queries that two runs asked both."""

    figure: str
    queries: int
    before: float
    now: float
    difference: float
    interval: tuple[float, float]  # of 95%
    up: int
    down: int


class EvalDocument(Figures, frozen=True, kw_only=True):
    misses: list[Miss]
    kinds: dict[str, Figures]
    intervals: dict[str, dict[str, tuple[float, float]]]  # `all` or a kind → figure → of 95%
    calibration: CalibrationTable | None  # None where no answer told `p`
    by_query: dict[str, dict[str, float]]
    compared: list[ComparedFigure] | UnsetType = UNSET  # with `--compare`


class DemoCost(WireRecord, frozen=True):
    """Tokens of what a model is given in every turn."""

    tools: int
    eager_tokens: int
    bridge_tokens: int
    listing_tokens: int
    listing_form: str
    tier: int
    context_tokens: int
    listing: str | UnsetType = UNSET
    added_s: float | UnsetType = UNSET  # from the file's save until the tools were found


class DemoSearch(WireRecord, frozen=True):
    reply: replies.SearchReply
    ms: float
    tokens: int


class DemoDescribe(WireRecord, frozen=True):
    reply: replies.DescribeReply
    tokens: int


class DemoStop(WireRecord, frozen=True):
    counts: control.StopSessionsReply
    ms: float
    reply: replies.CallReply


class DemoDocument(WireRecord, frozen=True):
    servers: list[control.ServerStatus]
    cost: DemoCost
    search: DemoSearch
    describe: DemoDescribe
    call: replies.CallReply
    stop: DemoStop
    large_catalog: DemoCost


class Failed(WireRecord, frozen=True):
    error: replies.Error


DOCUMENTS: dict[str, tuple[Any, ...]] = {
    "status": (control.StatusReply,),
    "servers": (control.ServersReply,),
    "search": (replies.SearchReply, replies.Stamped),
    "describe": (replies.DescribeReply, replies.Stamped),
    "call": (replies.CallReply,),
    "listing": (replies.AssembleReply,),
    "explain": (replies.ExplainReply,),
    "eval": (EvalDocument,),
    "tokens": (control.TokensReply,),
    "sessions": (control.SessionsReply,),
    "stop": (control.StopSessionsReply,),
    "restart": (control.RestartReply,),
    "reload": (control.ReloadReply,),
    "doctor": (control.DoctorReply,),
    "approvals": (control.ApprovalsReply, ApprovalRequested, ApprovalEnded),
    "approve": (replies.Decided,),
    "deny": (replies.Decided,),
    "journal": (JournalDocument,),
    "watch": (CallStep,),
    "install": (InstallDocument,),
    "uninstall": (UninstallDocument,),
    "disclosure": (DisclosureDocument,),
    "demo": (DemoDocument,),
}
"""Verb → the kinds of its documents. `watch` and `approvals --watch` print one a line. Another dialect's
search and describe have fields of their own beside those of `Stamped`."""
