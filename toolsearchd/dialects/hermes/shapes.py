"""The reference's reading of `tool_call` arguments: whole refusals, and only connector entries batch."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from toolsearchd.dispatch.jsontext import JsonFault, read_json
from toolsearchd.dispatch.shapes import (
    BRIDGE_TOOLS,
    SKELETON,
    RequestedCall,
    is_blank,
    kind_name,
    refuse,
    shown,
)
from toolsearchd.errors import ToolsearchdError

CONNECTOR_PREFIX = "connectors__"
CONNECTOR_ENTRIES = 10  # the reference's cap for one connector batch
_ECHO_CHARS = 1500  # of an entry's arguments as compact JSON; longer ones are replaced by a placeholder


def parse_hermes_calls(args: Mapping[str, object]) -> list[RequestedCall]:
    """The entries, or the refusal of all of them: shape of each entry first, then the batch rule."""
    requests = [_entry(index, item) for index, item in enumerate(_items(args))]
    if len(requests) > 1:
        _check_batch(requests)
    return requests


def _items(args: Mapping[str, object]) -> list[object]:
    calls = args.get("calls")
    if calls is None:
        if not args.get("name"):
            refuse("nothing", f"no calls were given; a valid request is {SKELETON}")
        return [{"name": args["name"], "arguments": args.get("arguments")}]
    if isinstance(calls, str):
        try:
            calls = read_json(calls)
        except JsonFault as fault:
            refuse("not_json", f"`calls` is not JSON: {fault.reason}", position=fault.position)
    if isinstance(calls, Mapping):
        return [calls]
    if not isinstance(calls, list | tuple) or not calls:
        refuse("not_a_list", f"`calls` must be a non-empty list of entries: {SKELETON}")
    return list(calls)


def _entry(index: int, item: object) -> RequestedCall:
    if not isinstance(item, Mapping):
        refuse("entry_not_object", f"entry {index} is {kind_name(item)}, not an object", index=index)
    name = item.get("name")
    if not isinstance(name, str) or not name.strip():
        refuse("entry_no_name", f"entry {index} has no name", index=index)
    name = name.strip()
    if name in BRIDGE_TOOLS:
        refuse("bridge_tool", f"{name} can't be called through tool_call; call it directly", tool=name)
    return RequestedCall(name=name, arguments=_arguments(index, item.get("arguments")))


def _arguments(index: int, value: object) -> dict[str, Any]:
    if is_blank(value):
        return {}
    if isinstance(value, str):
        try:
            value = read_json(value)
        except JsonFault as fault:
            message = f"the arguments of entry {index} are not JSON: {fault.reason}"
            refuse("args_not_json", message, index=index, position=fault.position)
    if not isinstance(value, Mapping):
        refuse("args_not_object", f"the arguments of entry {index} are not an object", index=index)
    return dict(value)


def _check_batch(requests: list[RequestedCall]) -> None:
    count = len(requests)
    if not all(request.name.startswith(CONNECTOR_PREFIX) for request in requests):
        first = requests[0]
        arguments: Any = first.arguments
        if len(json.dumps(arguments, separators=(",", ":"), ensure_ascii=False)) > _ECHO_CHARS:
            arguments = {"…": "the same arguments as before"}
        payload = json.dumps({"calls": [{"name": first.name, "arguments": arguments}]}, ensure_ascii=False)
        refuse(
            "multi_entry_with_local",
            f"{count} entries were sent and none was run: only {CONNECTOR_PREFIX}* names go "
            f"together in one call. Send {shown(first.name)} alone first: {payload} "
            "and then each of the others in a call of its own",
            count=count,
            first={"name": first.name, "arguments": arguments},
        )
    if count > CONNECTOR_ENTRIES:
        raise ToolsearchdError(
            "TOO_MANY",
            f"{count} connector entries were sent, at most {CONNECTOR_ENTRIES} go together",
            reason="too_many_calls",
            limit=CONNECTOR_ENTRIES,
        )
