"""A validation error in words and fields that a small model can act on, and the corrected arguments where
only one correction fits."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import Any

import msgspec

from toolsearchd.dispatch.coerce import kind_of
from toolsearchd.dispatch.validate import ValidationError
from toolsearchd.errors import ToolsearchdError

_RECEIVED_CHARS = 200
_EXPECTED_CHARS = 600  # the reference's cut of a detail
_LARGE_SCHEMA_BYTES = 4_000  # about 1,000 tokens; above, an error carries the parameters concerned only
_LISTED_OPTIONS = 20
_NEAR_POOL = 200  # names looked through for near ones, of so many unknown ones
_NEAR_UNKNOWN = 5
_NEAR_NAME_CHARS = 64
_MAX_CORRECTED_BYTES = 2_000
_MAX_CORRECTIONS = 5
_OTHERS = 4
_HINT = "nothing was sent; mend what is named and call again"
_WHOLE_HINT = "nothing was sent; call again with arguments that match `parameters`"

_LIMITS = {
    "minimum": "a number of at least {}",
    "maximum": "a number of at most {}",
    "exclusiveMinimum": "a number above {}",
    "exclusiveMaximum": "a number below {}",
    "multipleOf": "a multiple of {}",
    "minLength": "text of at least {} characters",
    "maxLength": "text of at most {} characters",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
    "minProperties": "at least {} properties",
    "maxProperties": "at most {} properties",
    "pattern": "text that matches {}",
    "format": "text in the format {}",
    "const": "exactly {}",
}

FindErrors = Callable[[dict[str, Any]], list[ValidationError]]


def invalid_arguments(
    tool: str,
    arguments: dict[str, Any],
    validation_errors: list[ValidationError],
    schema: dict[str, Any],
    schema_bytes: int,
    find: FindErrors | None = None,
) -> ToolsearchdError:
    """INVALID_ARGUMENTS for the first of `validation_errors`. `schema` is the tool's own, as its server wrote
    it; `find` judges corrected arguments (None: no correction is looked for, and the schema goes whole, as
    the reference does)."""
    first = validation_errors[0]
    value = value_at(arguments, first.path)
    node = schema_at(schema, first.path)
    path, expected = path_text(first.path), expected_text(first, node)
    received = _clipped(_json(value), _RECEIVED_CHARS)
    whole = find is None or schema_bytes <= _LARGE_SCHEMA_BYTES
    fields: dict[str, Any] = {
        "tool": tool,
        "path": path,
        "constraint": first.constraint,
        "expected": expected,
        "received": received,
    }
    missing = _missing(validation_errors, first)
    if missing:
        fields["missing"] = missing
    if near := _near_names(first, missing, value, node):
        fields["did_you_mean"] = near
    if find is not None:
        if others := [
            f"{path_text(other.path)}: expected {expected_text(other, schema_at(schema, other.path))}"
            for other in validation_errors[1:]
            if other.path != first.path
        ]:
            fields["problems"] = others[:_OTHERS]
        if (corrected := _corrected(arguments, validation_errors, schema, find)) is not None:
            fields["corrected"] = corrected
    fields["parameters"] = schema if whole else _concerned(schema, first, missing, fields.get("did_you_mean"))
    fields["hint"] = _WHOLE_HINT if whole else _HINT
    came = f"received {received} ({kind_of(value)})"
    message = f"{path}: expected {expected}, {came}; {_HINT}"
    return ToolsearchdError("INVALID_ARGUMENTS", message, **fields)


def path_text(path: tuple[str | int, ...]) -> str:
    """`arguments.a.b[0]["odd-key"]`."""
    text = "arguments"
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        elif part.isascii() and part.isidentifier():
            text += f".{part}"
        else:
            text += f"[{_clipped(_json(part), _RECEIVED_CHARS)}]"
    return text


def value_at(value: Any, path: tuple[str | int, ...]) -> Any:
    for part in path:
        value = value[part]
    return value


def schema_at(schema: Any, path: tuple[str | int, ...]) -> dict[str, Any]:
    """The subschema at a place by plain `properties` and `items` alone; empty where they don't lead there."""
    for part in path:
        if not isinstance(schema, dict):
            return {}
        schema = schema.get("items") if isinstance(part, int) else _properties(schema).get(part)
    return schema if isinstance(schema, dict) else {}


def expected_text(validation_error: ValidationError, node: dict[str, Any]) -> str:
    """What would fit, in words."""
    constraint, detail = validation_error.constraint, validation_error.detail
    if constraint in _LIMITS and detail:
        text = _LIMITS[constraint].format(_plain(next(iter(detail.values()))))
    elif constraint == "type":
        text = " or ".join(detail["types"])
    elif constraint == "enum":
        text = f"one of {_options(detail['options'])}"
    elif constraint in ("required", "dependentRequired", "dependencies") and "property" in detail:
        text = f"a value for {detail['property']!r}"
    elif constraint in ("additionalProperties", "unevaluatedProperties") and "unexpected" in detail:
        known = list(_properties(node))
        allowed = f"only {_options(known)}" if known else "no further properties"
        text = f"{allowed}, not {_options(detail['unexpected'])}"
    elif constraint in ("anyOf", "oneOf"):
        kinds, count = detail.get("kinds"), detail.get("alternatives")
        text = " or ".join(kinds) if kinds else f"exactly one of {count or 'the'} alternatives"
        text = text if kinds or constraint == "oneOf" else f"one of {count or 'the'} alternatives"
    else:
        text = {"uniqueItems": "no item twice", "falseSchema": "nothing here"}.get(constraint, constraint)
    return _clipped(text, _EXPECTED_CHARS)


def _missing(validation_errors: list[ValidationError], first: ValidationError) -> list[str]:
    """All required names that are missing at the first one's place."""
    if first.constraint != "required":
        return []
    if isinstance(first.detail.get("missing"), list):
        return list(first.detail["missing"])
    here = [m for m in validation_errors if m.constraint == "required" and m.path == first.path]
    return [str(m.detail["property"]) for m in here]


def _near_names(
    first: ValidationError, missing: list[str], value: Any, node: dict[str, Any]
) -> dict[str, list[str]]:
    """Names that came and are not known → names that may have been meant."""
    if not isinstance(value, dict):
        return {}
    known = _properties(node)
    if first.constraint in ("additionalProperties", "unevaluatedProperties"):
        unknown, pool = (
            list(first.detail.get("unexpected", [])),
            [name for name in known if name not in value],
        )
    elif missing:
        unknown, pool = [name for name in value if name not in known], missing
    else:
        return {}
    found = {name: _near(name, pool) for name in unknown[:_NEAR_UNKNOWN]}
    return {name: close for name, close in found.items() if close}


def _near(name: str, pool: list[str]) -> list[str]:
    if len(name) > _NEAR_NAME_CHARS:
        return []
    folded = {item.lower().replace("_", "").replace("-", ""): item for item in reversed(pool[:_NEAR_POOL])}
    wanted = name.lower().replace("_", "").replace("-", "")
    if wanted in folded:
        return [folded[wanted]]
    short = [item for item in folded if len(item) <= _NEAR_NAME_CHARS]
    return [folded[item] for item in difflib.get_close_matches(wanted, short, n=3, cutoff=0.6)]


def _corrected(
    arguments: dict[str, Any],
    validation_errors: list[ValidationError],
    schema: dict[str, Any],
    find: FindErrors,
) -> dict[str, Any] | None:
    """The arguments with each validation error mended in the only way there is; None where that is not so, or
    where the result would still not fit."""
    if len(_json(arguments)) > _MAX_CORRECTED_BYTES:
        return None
    made: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(arguments))
    for _ in range(_MAX_CORRECTIONS):
        if not _mend(made, validation_errors, schema):
            return None
        validation_errors = find(made)
        if not validation_errors:
            return made
    return None


def _mend(made: dict[str, Any], validation_errors: list[ValidationError], schema: dict[str, Any]) -> bool:
    """One correction, in place; False where none is certain."""
    first = validation_errors[0]
    node = schema_at(schema, first.path)
    value = value_at(made, first.path)
    near = _near_names(first, _missing(validation_errors, first), value, node)
    if near:
        return all(_rename(value, name, choices) for name, choices in near.items())
    if not first.path:
        return False
    parent, last = value_at(made, first.path[:-1]), first.path[-1]
    if first.constraint == "enum" and isinstance(value, str):
        options = [option for option in first.detail.get("options", []) if isinstance(option, str)]
        choices = _near(value, options)
        if len(choices) == 1:
            parent[last] = choices[0]
        return len(choices) == 1
    if first.constraint == "type" and first.detail["types"] == ["string"] and type(value) is int:
        parent[last] = str(value)
        return True
    if value is None and isinstance(last, str):  # null for "not given"
        required = schema_at(schema, first.path[:-1]).get("required")
        if isinstance(required, list) and last in required:
            return False
        del parent[last]
        return True
    return False


def _rename(value: dict[str, Any], name: str, choices: list[str]) -> bool:
    if len(choices) != 1 or choices[0] in value:
        return False
    value[choices[0]] = value.pop(name)
    return True


def _concerned(
    schema: dict[str, Any], first: ValidationError, missing: list[str], near: dict[str, list[str]] | None
) -> dict[str, Any]:
    """The parameters that it is about: of the top level, or of the place itself where those are
    large too."""
    properties = _properties(schema)
    meant = [name for choices in (near or {}).values() for name in choices]
    names = list(first.path[:1]) or [*missing, *meant]
    parts = {str(name): properties[name] for name in names if name in properties}
    if len(_json(parts)) <= _LARGE_SCHEMA_BYTES:
        return parts
    return {name: _outline(part) for name, part in list(parts.items())[:_LISTED_OPTIONS]}


def _outline(node: Any) -> Any:
    """A subschema without what makes it large: its members by kind alone."""
    if not isinstance(node, dict):
        return node
    kept = {key: node[key] for key in ("type", "required", "$ref") if key in node}
    if isinstance(node.get("description"), str):
        kept["description"] = _clipped(node["description"], _RECEIVED_CHARS)
    if isinstance(node.get("enum"), list):
        kept["enum"] = node["enum"][:_LISTED_OPTIONS]
    members = list(_properties(node).items())[: 2 * _LISTED_OPTIONS]
    if members:
        kept["properties"] = {
            name: {"type": part.get("type", "any")} if isinstance(part, dict) else part
            for name, part in members
        }
    return kept if len(_json(kept)) <= 2 * _LARGE_SCHEMA_BYTES else {"type": node.get("type", "any")}


def _properties(node: dict[str, Any]) -> dict[str, Any]:
    properties = node.get("properties")
    return properties if isinstance(properties, dict) else {}


def _options(options: list[Any]) -> str:
    shown = ", ".join(_clipped(_json(option), _NEAR_NAME_CHARS) for option in options[:_LISTED_OPTIONS])
    return shown + (f" and {len(options) - _LISTED_OPTIONS} more" if len(options) > _LISTED_OPTIONS else "")


def _plain(value: Any) -> str:
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else _json(value)


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _clipped(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
