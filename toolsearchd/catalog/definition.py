"""One tool as a server listed it → a `Definition`. A bad tool costs that tool, never its list.

Depth is measured without recursion, before any decoder sees the bytes: msgspec fails past about 1,000 levels,
other decoders earlier.
"""

from __future__ import annotations

import re
import sys
from hashlib import blake2b
from typing import Any

import msgspec
import numpy as np

from toolsearchd.catalog.model import OPEN_SCHEMA, Definition
from toolsearchd.catalog.moments import mask_moments
from toolsearchd.limits import Limits

NAME_CHARS = 64 * 1024  # a 10 kB name is shortened for models; nothing real comes near this
DEEP_KEY = b'"x-toolsearchd-cut"'
DEEP_MARK = b"{" + DEEP_KEY + b":true}"  # stands where `clip_depth` took a subtree out
_DEFAULT_TEXT = b'"default":"'
ENVELOPE_DEPTH = 8  # levels of a tools/list answer around a tool's own schema

# One that never ends goes to the end of the text: else each quote in it would begin another search.
_STRING = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)'
_STRINGS = re.compile(_STRING, re.DOTALL)
_BRACKETS_AND_STRINGS = re.compile(_STRING + rb"|[\[\]{}]", re.DOTALL)
_STEP = np.zeros(256, np.int8)
_STEP[[ord("{"), ord("[")]] = 1
_STEP[[ord("}"), ord("]")]] = -1


class _Wire(msgspec.Struct):
    """A tool on the wire, nothing believed yet."""

    name: msgspec.Raw = msgspec.Raw()
    title: msgspec.Raw = msgspec.Raw()
    description: msgspec.Raw = msgspec.Raw()
    inputSchema: msgspec.Raw = msgspec.Raw()
    outputSchema: msgspec.Raw = msgspec.Raw()
    annotations: msgspec.Raw = msgspec.Raw()
    icons: msgspec.Raw = msgspec.Raw()
    meta: msgspec.Raw = msgspec.field(name="_meta", default=msgspec.Raw())


_wire_decoder = msgspec.json.Decoder(_Wire)


def decode_definition(raw: bytes | msgspec.Raw, limits: Limits) -> Definition:
    """The definition in one tool's JSON. Raises ValueError with the reason where the tool can't be offered.

    What is wrong with its schema costs only the validation: it becomes open and says why.
    """
    data = bytes(raw)
    if json_depth(data, limits.schema_depth) > limits.schema_depth:
        data = clip_depth(data, limits.schema_depth)
    try:
        wire = _wire_decoder.decode(data)
        name = _decoded(wire.name)
        title, description, annotations = (
            _decoded(wire.title),
            _decoded(wire.description),
            _decoded(wire.annotations),
        )
    except (msgspec.MsgspecError, RecursionError, UnicodeError) as error:
        raise ValueError(f"not a tool: {error}") from None
    if not isinstance(name, str):
        raise ValueError(f"its name is {_kind(name)}, not text")  # noqa: TRY004 - a bad value, as any other
    if not name.strip():
        raise ValueError("its name is empty")
    if len(name) > NAME_CHARS:
        raise ValueError(f"its name has {len(name)} characters, {NAME_CHARS} are accepted")
    hints = annotations if isinstance(annotations, dict) else {}
    if not isinstance(title, str) or not title:
        title = hints.get("title")
    input_schema, unvalidatable = _input_schema(bytes(wire.inputSchema))
    output_schema = _object_or_nothing(bytes(wire.outputSchema))
    text = {
        "name": sys.intern(name),  # it stands in the index's table, too
        "title": title if isinstance(title, str) else "",
        "description": description if isinstance(description, str) else "",
    }
    return Definition(
        **text,
        input_schema=input_schema,
        output_schema=output_schema,
        annotations=_compact(bytes(wire.annotations)) if hints else b"",
        read_only=_flag(hints.get("readOnlyHint")),
        destructive=_flag(hints.get("destructiveHint")),
        unvalidatable=unvalidatable,
        extras=_extras(bytes(wire.meta), bytes(wire.icons)),
        digest=digest_of(text, input_schema, output_schema, hints),
    )


def digest_of(text: dict[str, str], input_schema: bytes, output_schema: bytes, hints: Any) -> str:
    """Digest over everything a model or a validator sees. Key order and white space do not matter, nor which
    date or time a default is: several servers write that of their start."""
    schemas = [msgspec.json.decode(schema) if schema else None for schema in (input_schema, output_schema)]
    if _DEFAULT_TEXT in input_schema or _DEFAULT_TEXT in output_schema:
        mask_moments({"prefixItems": schemas})
    canonical = msgspec.json.encode(
        [text, *schemas, hints],
        order="sorted",
    )
    return blake2b(canonical, digest_size=16).hexdigest()


def json_depth(data: bytes, enough: int = 0) -> int:
    """How deeply objects and lists nest in JSON text; brackets inside strings do not count.

    With `enough`: a text that can't nest deeper is not scanned, its number of opening brackets is returned.
    """
    opening = data.count(b"{") + data.count(b"[")
    if opening <= enough:
        return opening
    steps = _STEP[np.frombuffer(_STRINGS.sub(b"", data), np.uint8)]
    return int(np.cumsum(steps, dtype=np.int64).max(initial=0))


def clip_depth(data: bytes, max_depth: int) -> bytes:
    """The same JSON with every object or list nested deeper than `max_depth` replaced by `DEEP_MARK`."""
    kept: list[bytes] = []
    depth, start = 0, 0
    for match in _BRACKETS_AND_STRINGS.finditer(data):
        mark = match[0]
        if mark in b"{[":
            depth += 1
            if depth == max_depth + 1:
                kept.append(data[start : match.start()])
                start = -1
        elif mark in b"}]":
            if depth == max_depth + 1:
                kept.append(DEEP_MARK)
                start = match.end()
            depth -= 1
    if start >= 0:
        kept.append(data[start:])
    return b"".join(kept)


def _input_schema(raw: bytes) -> tuple[bytes, str]:
    """The input schema to keep, and why it can't be used to validate."""
    if raw in (b"", b"null", b"true"):
        return OPEN_SCHEMA, ""
    if DEEP_KEY in raw:
        return OPEN_SCHEMA, "the input schema nests too deeply"
    try:
        compact = _compact(raw)
        value = msgspec.json.decode(compact)
    except (msgspec.MsgspecError, RecursionError, UnicodeError) as error:
        return OPEN_SCHEMA, f"the input schema can't be read: {error}"
    if not isinstance(value, dict):
        return OPEN_SCHEMA, f"the input schema is {_kind(value)}, not an object"
    return compact, ""


def _object_or_nothing(raw: bytes) -> bytes:
    """An output schema that is an object, else nothing: no tool is lost over its output schema."""
    if raw[:1] != b"{" or DEEP_KEY in raw:
        return b""
    try:
        msgspec.json.decode(raw)
        return _compact(raw)
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return b""


def _extras(meta: bytes, icons: bytes) -> bytes:
    """As far as they have MCP's types: an object, and a list of what there is."""
    parts = [b'"_meta":' + meta] if meta[:1] == b"{" and DEEP_KEY not in meta else []
    if icons[:1] == b"[" and DEEP_KEY not in icons:
        parts.append(b'"icons":' + icons)
    return _compact(b"{" + b",".join(parts) + b"}") if parts else b""


def _compact(raw: bytes) -> bytes:
    return msgspec.json.format(raw, indent=-1)


def _decoded(raw: msgspec.Raw) -> Any:
    return msgspec.json.decode(raw) if bytes(raw) else None


def _flag(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


def _kind(value: Any) -> str:
    kinds = {type(None): "missing", bool: "true or false", int: "a number", float: "a number", str: "text"}
    return kinds.get(type(value), "a list" if isinstance(value, list) else "an object")
