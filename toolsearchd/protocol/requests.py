"""The socket's messages: tagged structs, tag field `op`.

Agent → daemon: `Hello`, then requests (each with an `id`). What the daemon says is in `replies`,
`control_replies` and `events`. Control requests have a decoder of their own: their tags do not exist for an
agent. Unknown fields are ignored (forward compatible), except in those that answer approvals.

Fields that carry what a model wrote (`queries`, `names`, `calls`, `limit`) are untyped here on purpose:
their shapes are repaired or refused, with words a model can act on, by the disclosure and dispatch packages.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

PROTOCOL = 1

RequestId = int | Annotated[str, Meta(min_length=1, max_length=64)]


class GrantScope(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Globs of servers, and of tools by their own name, `server/tool` or public name; None: all."""

    servers: tuple[str, ...] | None = None
    tools: tuple[str, ...] | None = None


_GLOBS = {"type": ["array", "null"], "items": {"type": "string"}}
_SCOPE = Meta(
    extra_json_schema={
        "type": ["object", "null"],
        "properties": {"servers": _GLOBS, "tools": _GLOBS},
        "additionalProperties": False,
    }
)


class Hello(Struct, tag="hello", tag_field="op", frozen=True, kw_only=True):
    protocol: int
    client: str
    cwd: str | None = None
    roots: list[str] | None = None
    profile: str | None = None
    context_length: int | None = None
    model: str | None = None
    provider: str | None = None  # of the model, for the manifests that ask: its key,
    api: str | None = None  # the kind of its interface
    base_url: str | None = None
    encoding: str | None = None
    dialect: str | None = None
    disclosure: str | None = None  # "direct" | "progressive"
    listing: str | None = None  # "embed" | "separate"
    tools: list[dict[str, Any]] | None = None
    """The agent's own: `{name, description, parameters, core, toolset?}`; the reply to `tools` says more."""
    only: Annotated[Any, _SCOPE] = None
    """A `GrantScope`, for a sub-agent: of what its profile grants, the session sees and calls what each list
    that is given matches. Nothing is ever granted by it; the agent's own tools are not concerned."""
    without: Annotated[Any, _SCOPE] = None
    """A `GrantScope`: what either list matches is not granted. Neither can be said with `mcp`."""
    mcp: bool = False
    config_of: str | None = None  # the client whose config holds the door's entry, by its format's name


class Request(Struct, tag_field="op", frozen=True, kw_only=True):
    id: RequestId


class PingRequest(Request, tag="ping", frozen=True): ...


class AssembleRequest(Request, tag="assemble", frozen=True, kw_only=True):
    context_length: int | None = None
    encoding: str | None = None
    model: str | None = None
    refresh: bool = False


class SearchRequest(Request, tag="search", frozen=True, kw_only=True):
    queries: Any = None
    query: Any = None  # of the dialects that ask one
    limit: Any = None
    scores: bool = False  # the reply says of each tool how likely it is a right one


class DescribeRequest(Request, tag="describe", frozen=True, kw_only=True):
    names: Any = None
    name: Any = None  # of the dialects that ask for one


class UseRequest(Request, tag="use", frozen=True, kw_only=True):
    """A model's call of a tool that `assemble` gave, as it came; the reply's `value` is for the model."""

    tool: str
    arguments: Any = None


class CallRequest(Request, tag="call", frozen=True, kw_only=True):
    calls: Any = None
    name: Any = None  # the legacy single shape
    arguments: Any = None


class StopRequest(Request, tag="stop", frozen=True, kw_only=True):
    batch: RequestId | None = None  # the `id` of the call to stop; none: all of the session


class ResolveRequest(Request, tag="resolve", frozen=True, kw_only=True):
    """Reads on in a result that was too long for its reply; `offset` and `limit` count bytes."""

    handle: str
    offset: int = 0
    limit: int | None = None


class SubscribeRequest(Request, tag="subscribe", frozen=True, kw_only=True):
    events: list[str]


class ExplainRequest(Request, tag="explain", frozen=True, kw_only=True):
    query: str
    tool: str | None = None  # a name in any form: why it was or was not offered


class ToolsRequest(Request, tag="tools", frozen=True, kw_only=True):
    """The agent's own tools from now on, in place of those before: `{name, description, parameters, core,
    toolset?}`.

    `core: false` ones are indexed for this session and called back by `call_requested`; the others stay
    direct, and a definition without a callable name passes through untouched. `toolset` (`plugin`) is the
    source that a search names and a listing groups by.
    """

    tools: list[dict[str, Any]]


class CallResultRequest(Request, tag="call_result", frozen=True, kw_only=True):
    """What became of a `call_requested`: `response`, or `error` (a text, or a map with a message)."""

    call: str
    response: Any = None
    error: Any = None


class DecideRequest(Request, tag="decide", frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The agent's own user interface answers one of the session's prompts, where its profile lets it."""

    approval: str
    decision: Literal["approve", "session", "always", "deny"]


class ByeRequest(Request, tag="bye", frozen=True): ...


AgentMessage = (
    Hello
    | PingRequest
    | AssembleRequest
    | SearchRequest
    | DescribeRequest
    | UseRequest
    | CallRequest
    | StopRequest
    | ResolveRequest
    | SubscribeRequest
    | ExplainRequest
    | ToolsRequest
    | CallResultRequest
    | DecideRequest
    | ByeRequest
)


# Control requests: the person's side.


class ControlRequest(Struct, tag_field="op", frozen=True, kw_only=True):
    id: RequestId


class StatusRequest(ControlRequest, tag="status", frozen=True): ...


class ServersRequest(ControlRequest, tag="servers", frozen=True, kw_only=True):
    name: str | None = None
    origins: bool = False


class RestartRequest(ControlRequest, tag="restart", frozen=True, kw_only=True):
    name: str


class SessionsRequest(ControlRequest, tag="sessions", frozen=True): ...


class StopSessionsRequest(ControlRequest, tag="stop", frozen=True, kw_only=True):
    session: str | None = None


class TokensRequest(ControlRequest, tag="tokens", frozen=True, kw_only=True):
    """What the view of a connected session costs, and what it saves."""

    session: str
    encodings: list[str] | None = None  # default: those whose vocabularies are here


class WatchRequest(ControlRequest, tag="watch", frozen=True):
    """Events `activity` follow until the connection closes."""


class JournalRequest(ControlRequest, tag="journal", frozen=True):
    """Where the record of calls is, and whether it can be written."""


class ApprovalsRequest(
    ControlRequest, tag="approvals", frozen=True, kw_only=True, forbid_unknown_fields=True
):
    """What waits for an answer, one with all of its arguments, or (`watch`) events for what comes too."""

    approval: str | None = None
    watch: bool = False


class ApproveRequest(ControlRequest, tag="approve", frozen=True, kw_only=True, forbid_unknown_fields=True):
    approval: str
    scope: Literal["once", "session", "always"] = "once"
    code: str | None = None


class DenyRequest(ControlRequest, tag="deny", frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Refuses a pending approval, or ends a standing permit."""

    approval: str


class ReloadRequest(ControlRequest, tag="reload", frozen=True, kw_only=True):
    """Reads all configs again. A file that is missing or empty keeps its last good state in force, unless
    somebody says that this is meant: of all such files, or of those that the asker has removed itself."""

    accept_missing: bool = False
    removed: list[str] = []


class DoctorRequest(ControlRequest, tag="doctor", frozen=True): ...


class ControlPingRequest(ControlRequest, tag="ping", frozen=True): ...


ControlMessage = (
    TokensRequest
    | StatusRequest
    | ServersRequest
    | RestartRequest
    | SessionsRequest
    | StopSessionsRequest
    | ApprovalsRequest
    | ApproveRequest
    | DenyRequest
    | JournalRequest
    | WatchRequest
    | ReloadRequest
    | DoctorRequest
    | ControlPingRequest
)

# `call_requested` and `call_cancelled` come unasked, to an agent whose own tools are called.
EVENTS = (
    "catalog_changed",
    "call_requested",
    "call_cancelled",
    "approval_requested",
    "progress",
    "activity",
    "drain",
)
# Who hears `approval_requested` hears `approval_ended` too.

agent_decoder: msgspec.msgpack.Decoder[AgentMessage] = msgspec.msgpack.Decoder(AgentMessage)
control_decoder: msgspec.msgpack.Decoder[ControlMessage] = msgspec.msgpack.Decoder(ControlMessage)
