"""The shapes in which models send calls, read into one list of entries.

`calls` as a list, as one object, as JSON text of either; a lone name/arguments; also
arguments beside the name, one level of `tool_call` inside `tool_call`, and the envelope of a function call.
A repair happens only where the text has one reading. A dialect may read them by rules of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NoReturn

import msgspec

from toolsearchd.dispatch.jsontext import JsonFault, read_json, read_json_leniently
from toolsearchd.errors import ToolsearchdError

BRIDGE_TOOLS = ("tool_search", "tool_describe", "tool_call")
SKELETON = '{"calls": [{"name": "mcp__server__tool", "arguments": {}}]}'

_NAME_KEYS = ("name", "tool_name", "tool")  # the later ones only where the earlier are absent
ARGUMENT_KEYS = ("arguments", "args", "parameters", "params", "input")
_ENVELOPE_KEYS = frozenset(
    {"id", "type", "index", "call_id", "tool_call_id"}
)  # of a provider's own tool call
_SHOWN_CHARS = 80  # of a name or key in a message


class RequestedCall(msgspec.Struct, frozen=True, kw_only=True):
    """One entry as it was asked for. Exactly one of `arguments` and `error` is set."""

    name: str
    arguments: dict[str, Any] | None = None
    error: dict[str, Any] | None = None  # {code, message, reason, …} as a slot carries it


def parse_calls(
    args: Mapping[str, object],
    *,
    max_entries: int,
    properties: Callable[[str], Collection[str] | None] | None = None,
) -> list[RequestedCall]:
    """The entries of a `call` request or of a model's `tool_call` arguments; never empty.

    `properties` gives the top-level property names of a tool's schema, None where the tool is unknown; it
    settles entries that have fields beside `arguments`, which are refused without it. Raises BAD_ARGUMENTS
    or TOO_MANY where the request is refused as a whole; that is only where nothing can be read: an entry's
    own fault becomes that entry's error.
    """
    requests: list[RequestedCall] = []
    for item in _items(args):
        requests += _Entry(len(requests), properties).read(item, nested=False)
        if len(requests) > max_entries:
            break  # whatever follows, it is too many
    if len(requests) > max_entries:
        raise ToolsearchdError(
            "TOO_MANY",
            f"at least {len(requests)} calls in one request, at most {max_entries} are taken; "
            "send the rest apart",
            reason="too_many",
            limit=max_entries,
        )
    return requests


def refuse(reason: str, message: str, **fields: Any) -> NoReturn:
    """Refuses the whole request. `reason` is a stable word for programs."""
    raise ToolsearchdError("BAD_ARGUMENTS", message, reason=reason, **fields)


def shown(text: str) -> str:
    """A name as a message shows it: quoted, of bounded length."""
    return repr(text if len(text) <= _SHOWN_CHARS else text[: _SHOWN_CHARS - 1] + "…")


def kind_name(value: object) -> str:
    """JSON's word for the kind of a value."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, str):
        return "text"
    if isinstance(value, Mapping):
        return "an object"
    return "a list" if isinstance(value, list | tuple) else type(value).__name__


def is_blank(value: object) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def _items(args: Mapping[str, object]) -> Sequence[object]:
    """The raw entries of the request, before each is read by itself."""
    calls = args.get("calls")
    if is_blank(calls):
        rest = {key: value for key, value in args.items() if key != "calls"}
        if _name_key(rest) is None and not isinstance(rest.get("function"), Mapping):
            given = ", ".join(shown(key) for key in list(rest)[:5]) or "nothing"
            refuse("nothing", f"no calls given ({given} came); a valid request is {SKELETON}")
        return [rest]
    if isinstance(calls, str):
        calls = _read_calls_text(calls)
    if isinstance(calls, Mapping):
        calls = _unwrap(calls)
    if not isinstance(calls, list | tuple) or not calls:
        what = "an empty list" if isinstance(calls, list | tuple) else kind_name(calls)
        refuse("not_a_list", f"`calls` is {what}; it takes a non-empty list of entries: {SKELETON}")
    name = args.get("name")
    if isinstance(name, str) and name.strip() and _bridge_name(name) != "tool_call":
        refuse("two_readings", f"both `calls` and `name` ({shown(name)}) are given; send {SKELETON}")
    return calls


def _read_calls_text(text: str) -> object:
    try:
        return read_json_leniently(text)
    except JsonFault as fault:
        refuse(
            "not_json",
            f"`calls` is text that is not JSON: {fault.reason}. "
            f"Send `calls` as a list, not as text: {SKELETON}",
            position=fault.position,
        )


def _unwrap(calls: Mapping[str, object]) -> object:
    """`{"calls": …}` given as the calls themselves; anything else is one entry."""
    inner = calls.get("calls")
    if len(calls) == 1 and isinstance(inner, list | tuple | Mapping):
        return [inner] if isinstance(inner, Mapping) else inner
    return [calls]


def _name_key(entry: Mapping[str, object]) -> str | None:
    for key in _NAME_KEYS:
        value = entry.get(key)
        if isinstance(value, str) and value.strip():
            return key
    return None


def _bridge_name(name: str) -> str:
    """The bridge tool that `name` means, also under the prefix a client puts before a door's tools."""
    name = name.strip()
    for prefix in ("mcp__toolsearchd__", "toolsearchd__"):
        name = name.removeprefix(prefix)
    return name if name in BRIDGE_TOOLS else ""


class _Fault(Exception):
    """One entry can't be read; becomes its error."""

    def __init__(self, reason: str, message: str, **fields: Any) -> None:
        super().__init__(message)
        self.error = ToolsearchdError("BAD_ARGUMENTS", message, reason=reason, **fields).as_fields()


class _Entry:
    """Reads one entry. `index` is its slot, for messages."""

    def __init__(self, index: int, properties: Callable[[str], Collection[str] | None] | None) -> None:
        self._index = index
        self._properties = properties

    def read(self, item: object, *, nested: bool) -> list[RequestedCall]:
        """The entry's requests: one, or those of the `tool_call` nested in it."""
        name = ""
        try:
            entry = self._object(item)
            key = _name_key(entry)
            if key is None:
                raise _Fault(
                    "no_name",
                    f"entry {self._index} has no name; an entry is "
                    '{"name": "mcp__server__tool", "arguments": {}}',
                    index=self._index,
                )
            name = str(entry[key]).strip()
            bridge = _bridge_name(name)
            if bridge == "tool_call" and not nested:
                return self._nested(entry, key)
            if bridge:
                raise _Fault(
                    "bridge_tool",
                    f"entry {self._index} names {bridge}, which is not called through tool_call; "
                    "call it directly, and name the tool itself here",
                    index=self._index,
                )
            return [RequestedCall(name=name, arguments=self._arguments(name, entry, key))]
        except _Fault as fault:
            return [RequestedCall(name=name, error=fault.error)]

    def _object(self, item: object) -> Mapping[str, object]:
        """The entry as an object: itself, JSON text of one, or the function of a provider's envelope."""
        if isinstance(item, str):
            item = self._text(item, "entry_not_object", f"entry {self._index}")
        if not isinstance(item, Mapping):
            raise _Fault(
                "entry_not_object",
                f"entry {self._index} is {kind_name(item)}; an entry is an object with name and arguments",
                index=self._index,
            )
        function = item.get("function")
        if isinstance(function, Mapping) and _name_key(item) is None:
            return function
        return item

    def _nested(self, entry: Mapping[str, object], key: str) -> list[RequestedCall]:
        """One level of `tool_call` inside `tool_call`: the inner request is the one that is meant."""
        inner = self._arguments("tool_call", entry, key)
        try:
            items = _items(inner)
        except ToolsearchdError as error:
            raise _Fault("bridge_tool", f"entry {self._index}, inside tool_call: {error}") from None
        requests: list[RequestedCall] = []
        for item in items:
            requests += _Entry(self._index + len(requests), self._properties).read(item, nested=True)
        return requests

    def _arguments(self, name: str, entry: Mapping[str, object], name_key: str) -> dict[str, Any]:
        beside = {key: value for key, value in entry.items() if key != name_key}
        known = self._properties(name) if self._properties else None
        key = next(
            (key for key in ARGUMENT_KEYS if key in beside and self._is_wrapper(key, beside, known)), None
        )
        if key is None:
            return self._flattened(beside, known)
        arguments = self._object_arguments(beside.pop(key))
        extra = {k: v for k, v in beside.items() if k not in _ENVELOPE_KEYS or (known and k in known)}
        if not extra:
            return arguments
        if not arguments:
            return extra
        if known is not None and all(k in known and k not in arguments for k in extra):
            return arguments | extra
        raise _Fault(
            "two_readings",
            f"entry {self._index} has fields beside `{key}` ({', '.join(map(shown, list(extra)[:5]))}); "
            "put them into `arguments`, or leave them out",
            index=self._index,
        )

    @staticmethod
    def _is_wrapper(key: str, beside: Mapping[str, object], known: Collection[str] | None) -> bool:
        """True where `key` holds the arguments, False where it is one of them."""
        if key == "arguments":
            return True
        if known is not None and key in known:
            return False
        value = beside[key]
        looks_like_object = isinstance(value, Mapping) or (
            isinstance(value, str) and value.lstrip().startswith("{")
        )
        return looks_like_object and all(k in _ENVELOPE_KEYS or k == key for k in beside)

    @staticmethod
    def _flattened(beside: dict[str, object], known: Collection[str] | None) -> dict[str, Any]:
        """Arguments that stand beside the name. A provider's envelope fields are none of them."""
        if known is not None:
            return {k: v for k, v in beside.items() if k in known or k not in _ENVELOPE_KEYS}
        if beside.keys() <= _ENVELOPE_KEYS and beside.get("type") in ("function", "tool_use"):
            return {}
        return beside

    def _object_arguments(self, value: object) -> dict[str, Any]:
        if is_blank(value):
            return {}
        if isinstance(value, str):
            value = self._text(value, "args_not_json", f"the arguments of entry {self._index}")
        if not isinstance(value, Mapping):
            raise _Fault(
                "args_not_object",
                f"the arguments of entry {self._index} are {kind_name(value)}; they must be an object",
                index=self._index,
            )
        return dict(value)

    def _text(self, text: str, reason: str, what: str) -> object:
        try:
            value = read_json(text)
            return read_json(value) if isinstance(value, str) else value
        except JsonFault as fault:
            raise _Fault(
                reason,
                f"{what}: text that is not JSON, {fault.reason}. Send an object, not text",
                index=self._index,
                position=fault.position,
            ) from None
