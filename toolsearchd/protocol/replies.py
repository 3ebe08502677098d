"""What the daemon answers an agent: `welcome`, and the fields of each `result`. The events are in `events`, a
person's replies in `control_replies`.

On the wire a result is `{op: "result", id, …}` with the fields of its struct beside these. What search and
describe answer is in the words of the session's dialect: `SearchReply` and `DescribeReply` are the daemon's
own shapes, other dialects' replies are open maps with `generation` and `listing_stale` beside their own
fields. A field that is UNSET is not sent.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, UnsetType

from toolsearchd.errors import CODES, Code
from toolsearchd.protocol.requests import RequestId
from toolsearchd.records import WireRecord

_Bytes = bytes  # where a field bears that name

Error = Annotated[
    dict[str, Any],
    Meta(
        description="What went wrong: a code of the README's table, words, and what more is known.",
        extra_json_schema={
            "properties": {"code": {"enum": list(CODES)}, "message": {"type": "string"}},
            "required": ["code", "message"],
        },
    ),
]


class ErrorReply(WireRecord, frozen=True, tag_field="op", tag="error"):
    """Of a request (`id`), or of the connection, which ends then. What more is known stands beside these:
    `field`, `near`, `server`, `reason`, …"""

    code: Code
    message: str
    id: RequestId | UnsetType = UNSET


class SessionLimits(WireRecord, frozen=True):
    """What one frame, one connection and one request take at most."""

    frame_bytes: int
    open_requests: int
    queries_per_search: int
    names_per_describe: int
    entries_per_call: int


class Welcome(WireRecord, frozen=True, tag_field="op", tag="welcome"):
    session: str
    protocol: int
    version: str
    generation: int
    profile: str
    dialect: str
    limits: SessionLimits
    options: dict[str, Any] | UnsetType = UNSET  # effective, where its dialect has options of its own
    warnings: list[str] | UnsetType = UNSET  # what of the hello has not the effect that was meant
    unknown_profile: bool | UnsetType = UNSET  # the profile that the hello names is not there


class DoorWelcome(WireRecord, frozen=True, tag_field="op", tag="welcome"):
    """After a hello with `mcp: true`: what follows is JSON-RPC."""

    protocol: int
    session: Literal["mcp"] = "mcp"


class Stamped(WireRecord, frozen=True):
    """What each result to an agent carries; all of it where the request was `ping` or `bye`."""

    generation: int  # of the catalog
    listing_stale: bool  # another `assemble` would give another listing


class OwnWords(Stamped, frozen=True):
    """A reply whose fields are in the words of a dialect, or were made where the shape is known."""

    fields: dict[str, Any]

    def members(self) -> dict[str, Any]:
        return {**self.fields, "generation": self.generation, "listing_stale": self.listing_stale}


class AssembleReply(Stamped, frozen=True):
    """What the model is to see."""

    tools: list[dict[str, Any]]  # in the function shape
    listing: str
    tier: int
    listing_form: str
    listing_tokens: int
    budget_tokens: int
    deferred_count: int
    version: str
    estimate: bool | UnsetType = UNSET  # the counts are estimates


class SourceLine(WireRecord, frozen=True):
    """A source that could be searched; `state` and `reason` where it is not there."""

    name: str
    tool_count: int
    state: str | UnsetType = UNSET
    reason: str | UnsetType = UNSET


class SearchGroup(WireRecord, frozen=True):
    """What one query found: names, best first."""

    query: str
    matches: list[str]
    near: list[str] | UnsetType = UNSET
    unknown: list[str] | UnsetType = UNSET  # words that no tool has
    absent_product: str | UnsetType = UNSET
    scores: dict[str, float] | UnsetType = UNSET  # by name, that it is a right one; where they were asked for
    available_sources: list[SourceLine] | UnsetType = UNSET
    hint: str | UnsetType = UNSET
    repeat: int | UnsetType = UNSET  # which time it is that the query gets this answer, from the second on


class SearchedTool(WireRecord, frozen=True):
    source: str
    source_name: str
    description: str
    required: list[str]
    stale: bool | UnsetType = UNSET  # as last listed; its server has not confirmed it in this run


class SearchReply(Stamped, frozen=True):
    """In the daemon's own words, which Hermes' are too."""

    queries: list[str]
    total_available: int
    results: list[SearchGroup]
    tools: dict[str, SearchedTool]
    semantic: Literal["off", "warming", "on"] | UnsetType = UNSET  # on: the sentence model had a part in all


class DescribedTool(WireRecord, frozen=True):
    description: str
    parameters: dict[str, Any]
    stale: bool | UnsetType = UNSET


class DescribeReply(Stamped, frozen=True):
    """In the daemon's own words, which Hermes' are too."""

    tools: dict[str, DescribedTool]
    instructions: dict[str, str] | UnsetType = UNSET  # server → its own words, once a session
    not_found: list[str] | UnsetType = UNSET
    near: dict[str, list[str]] | UnsetType = UNSET  # of names that were not found
    errors: dict[str, str] | UnsetType = UNSET
    hint: str | UnsetType = UNSET


class Spilled(WireRecord, frozen=True):
    """Where the whole of a result is that was too long; `resolve` takes the handle."""

    handle: str | UnsetType = UNSET
    path: str | UnsetType = UNSET
    bytes: int | UnsetType = UNSET
    lost: str | UnsetType = UNSET  # why it could not be kept


class Slot(WireRecord, frozen=True):
    """What became of one entry: `response` or `error`. `response` is MCP's `CallToolResult`."""

    index: int
    name: str
    response: dict[str, Any] | UnsetType = UNSET
    error: Error | UnsetType = UNSET
    spilled: Spilled | UnsetType = UNSET


class CallReply(Stamped, frozen=True):
    results: list[Slot]
    success_count: int
    error_count: int
    total_count: int


class UseReply(Stamped, frozen=True):
    """What the model is to be given, in its dialect's shape: a text as it is, anything else as `text` has it,
    or as JSON."""

    value: Any
    text: str | UnsetType = UNSET


class EndedByStop(WireRecord, frozen=True):
    """How many entries a stop found."""

    interrupted: int  # were not sent
    running: int  # are told to cancel; they may have happened


class StopReply(EndedByStop, frozen=True):
    generation: int
    listing_stale: bool


class ResultPiece(WireRecord, frozen=True):
    """Of a result; `bytes` in place of `text` where it begins within a character."""

    total: int  # bytes
    text: str | UnsetType = UNSET
    bytes: _Bytes | UnsetType = UNSET
    next_offset: int | UnsetType = UNSET  # where more is


class ResolveReply(ResultPiece, frozen=True, kw_only=True):
    generation: int
    listing_stale: bool


class StemCount(WireRecord, frozen=True):
    stem: str
    df: int
    idf: float
    weight: float


class ExplainedTerm(WireRecord, frozen=True):
    word: str
    known: bool
    read_as: str | None  # where it was taken for a typo
    df: int
    idf: float
    stems: list[StemCount]


class RarestTerm(WireRecord, frozen=True):
    word: str
    df: int
    idf: float


class Coverage(WireRecord, frozen=True):
    needed: float
    best: float
    enough: bool


class WordScore(WireRecord, frozen=True):
    word: str
    via: str
    score: float
    fields: dict[str, float]


class SecondStageWeights(WireRecord, frozen=True):
    """What a feature weighs. `p` is 1 / (1 + e^-(bias + the sum of admit's weights times features))."""

    rank: dict[str, float]
    admit: dict[str, float]
    bias: float
    match: float  # the least `p` of a match
    near: float  # the least best `p` at which anything is offered


class ToolScore(WireRecord, frozen=True):
    tool: str
    score: float  # of the first stage
    coverage: float
    words: list[WordScore]
    came_by: list[str] | UnsetType = UNSET  # words, vector: how it became a candidate
    features: dict[str, float] | UnsetType = UNSET
    total: float | UnsetType = UNSET  # the sum of rank's weights times features: what decides the order
    p: float | UnsetType = UNSET  # that it is a right one


class ToolVerdict(WireRecord, frozen=True):
    """The one reason why a tool is where it is."""

    cause: str
    text: str
    rank: int | None
    words: list[str]
    key: str


class ExplainReply(Stamped, frozen=True):
    """Every number behind an answer of the default ranker."""

    query: str
    terms: list[ExplainedTerm]
    gate: RarestTerm | None
    coverage: Coverage
    relative: float
    absent_product: str | None
    unknown: list[str]
    values: list[str]  # of them, what the query gives as values: not looked for; then no answer is empty
    second_stage: SecondStageWeights | None  # None with `tables: off`
    candidates: list[ToolScore]
    matches: list[str]
    near: list[str]
    verdict: ToolVerdict | None


class ToolsReply(Stamped, frozen=True):
    added: int
    removed: int
    warnings: list[str] | UnsetType = UNSET


class CallResultReply(Stamped, frozen=True):
    accepted: bool  # False where nobody waits for it


class SubscribeReply(Stamped, frozen=True):
    events: list[str]  # all that are subscribed to


class Decided(WireRecord, frozen=True):
    """What became of an approval by an answer."""

    approval: str
    state: str
    tool: str


class DecideReply(Decided, frozen=True):
    generation: int
    listing_stale: bool


REPLIES: dict[str, type[WireRecord]] = {
    "ping": Stamped,
    "assemble": AssembleReply,
    "search": SearchReply,
    "describe": DescribeReply,
    "use": UseReply,
    "call": CallReply,
    "stop": StopReply,
    "resolve": ResolveReply,
    "subscribe": SubscribeReply,
    "explain": ExplainReply,
    "tools": ToolsReply,
    "call_result": CallResultReply,
    "decide": DecideReply,
    "bye": Stamped,
}
"""Operation → the fields of its result."""
OF_A_DIALECT = frozenset(("search", "describe"))
"""The operations whose results are open maps in other dialects than the daemon's own and Hermes'."""
