"""JSON Schema of everything that is said on the sockets, made of the structs that say it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from toolsearchd.protocol.control_replies import CONTROL_REPLIES
from toolsearchd.protocol.events import AGENT_EVENTS, CONTROL_EVENTS, Event
from toolsearchd.protocol.replies import OF_A_DIALECT, REPLIES, DoorWelcome, ErrorReply, Stamped, Welcome
from toolsearchd.protocol.requests import AgentMessage, ControlMessage

Kinds = Sequence[Any]
"""Types of which a value has one."""


def json_schema() -> dict[str, Any]:
    """`agent` and `control`: what may be sent there. `welcome`, `error`. `replies`: by socket and operation,
    what stands in a result beside `op` and `id`. `events`: by socket and name."""
    agent = {op: (kind, Stamped) if op in OF_A_DIALECT else (kind,) for op, kind in REPLIES.items()}
    control = {op: (kind,) for op, kind in CONTROL_REPLIES.items()}
    named = {
        "agent": (AgentMessage,),
        "control": (ControlMessage,),
        "welcome": (Welcome, DoorWelcome),
        "error": (ErrorReply,),
        "replies": {"agent": agent, "control": control},
        "events": {"agent": _by_name(AGENT_EVENTS), "control": _by_name(CONTROL_EVENTS)},
    }
    return schema_of(named)


def schema_of(named: Mapping[str, Any]) -> dict[str, Any]:
    """The same tree with a schema for each leaf, its kinds, and `$defs`."""
    kinds = list(_leaves(named))
    schemas, defs = msgspec.json.schema_components(kinds, ref_template="#/$defs/{name}")
    of_kind = dict(zip(map(id, kinds), schemas, strict=True))
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **_filled(named, of_kind),
        "$defs": defs,
    }


def _leaves(tree: Any) -> Any:
    if isinstance(tree, Mapping):
        for branch in tree.values():
            yield from _leaves(branch)
    else:
        yield from tree


def _filled(tree: Any, of_kind: Mapping[int, dict[str, Any]]) -> Any:
    if isinstance(tree, Mapping):
        return {name: _filled(branch, of_kind) for name, branch in tree.items()}
    schemas = [of_kind[id(kind)] for kind in tree]
    return schemas[0] if len(schemas) == 1 else {"anyOf": schemas}


def _by_name(events: Sequence[type[Event]]) -> dict[str, Kinds]:
    return {str(event.__struct_config__.tag): (event,) for event in events}
