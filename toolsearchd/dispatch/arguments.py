"""Arguments made fit and checked against the tool's schema, before any approval and before any send."""

from __future__ import annotations

import difflib
from collections import OrderedDict
from typing import Any, Literal

import msgspec

from toolsearchd.catalog.model import Definition
from toolsearchd.dispatch.bounds import measure, schema_fault
from toolsearchd.dispatch.shapes import Rules
from toolsearchd.errors import ToolsearchdError
from toolsearchd.limits import Limits

_KEPT_VALIDATORS = 512  # compiled schemas; a few kilobytes each
_BACKTRACKS = 100_000  # of a pattern; a server's `(a+)+$` ends here instead of in minutes
_SHOWN_CHARS = 200
_LARGE_SCHEMA_BYTES = 4_000  # above, an error carries only the properties concerned


class Checked(msgspec.Struct, frozen=True):
    """A schema, decoded once: its validator, or why it has none."""

    schema: dict[str, Any]
    validator: Any
    fault: str


_checked: OrderedDict[str, Checked] = OrderedDict()


def prepare(
    definition: Definition,
    arguments: dict[str, Any],
    *,
    rules: Rules = "default",
    unvalidatable: Literal["forward", "refuse"] = "forward",
    limits: Limits,
) -> dict[str, Any]:
    """The arguments to send. Raises INVALID_ARGUMENTS; UNVALIDATABLE and VALIDATION_BUDGET where such calls
    are to be refused."""
    checked = checked_schema(definition, limits)
    fault = checked.fault
    if not fault:
        too_much = measure(arguments, limits)
        if too_much:
            return _let_pass(arguments, unvalidatable, "VALIDATION_BUDGET", f"the arguments are {too_much}")
        error = next(checked.validator.iter_errors(arguments), None)
        if error is not None:
            raise _invalid(definition, checked.schema, arguments, error)
        return arguments
    return _let_pass(arguments, unvalidatable, "UNVALIDATABLE", fault)


def checked_schema(definition: Definition, limits: Limits) -> Checked:
    """The definition's schema, compiled; memoised by its digest."""
    found = _checked.get(definition.digest)
    if found is not None:
        _checked.move_to_end(definition.digest)
        return found
    _checked[definition.digest] = made = _check(definition, limits)
    if len(_checked) > _KEPT_VALIDATORS:
        _checked.popitem(last=False)
    return made


def unvalidatable_reason(definition: Definition, limits: Limits) -> str:
    """Why the tool's arguments can't be validated; empty where they can."""
    return checked_schema(definition, limits).fault


def _check(definition: Definition, limits: Limits) -> Checked:
    if definition.unvalidatable:
        return Checked({}, None, definition.unvalidatable)
    try:
        schema = msgspec.json.decode(definition.input_schema)
    except (msgspec.DecodeError, RecursionError) as error:
        return Checked({}, None, f"its schema can't be read: {error}")
    fault = schema_fault(schema, len(definition.input_schema), limits)
    if fault:
        return Checked(schema if isinstance(schema, dict) else {}, None, fault)
    # Imported with the first call: 0.1 s that no start has to wait for.
    import jsonschema_rs

    try:
        validator = jsonschema_rs.validator_for(
            _with_null_for_nullable(schema),
            offline=True,
            validate_formats=False,
            pattern_options=jsonschema_rs.FancyRegexOptions(backtrack_limit=_BACKTRACKS),
        )
    except (ValueError, jsonschema_rs.ReferencingError) as error:
        return Checked(schema, None, f"its schema is not valid: {str(error).splitlines()[0][:_SHOWN_CHARS]}")
    return Checked(schema, validator, "")


def _with_null_for_nullable(schema: Any) -> Any:
    """OpenAPI's `nullable: true` said in JSON Schema. `measure` bounded the depth."""
    if isinstance(schema, list):
        return [_with_null_for_nullable(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    kept = ("const", "default", "enum", "example", "examples")
    made = {k: v if k in kept else _with_null_for_nullable(v) for k, v in schema.items()}
    if made.pop("nullable", None) is True:
        kind = made.get("type")
        if isinstance(kind, str):
            made["type"] = [kind, "null"]
        elif isinstance(kind, list) and "null" not in kind:
            made["type"] = [*kind, "null"]
        elif kind is None:
            made = {"anyOf": [made, {"type": "null"}]}
    return made


def _let_pass(arguments: dict[str, Any], unvalidatable: str, code: str, reason: str) -> dict[str, Any]:
    if unvalidatable == "refuse":
        raise ToolsearchdError(
            code, f"not sent: {reason}; `unvalidatable: forward` would send it", reason=reason
        )
    return arguments


def _invalid(
    definition: Definition, schema: dict[str, Any], arguments: dict[str, Any], error: Any
) -> ToolsearchdError:
    path = _path(error.instance_path)
    constraint = str(error.schema_path[-1]) if error.schema_path else ""
    given_properties = schema.get("properties")
    properties: dict[str, Any] = given_properties if isinstance(given_properties, dict) else {}
    concerned = [part for part in error.instance_path if isinstance(part, str)][:1]
    fields: dict[str, Any] = {"path": path, "constraint": constraint}
    if constraint == "required":
        required = schema.get("required")
        wanted = required if isinstance(required, list) and not error.instance_path else []
        missing = [name for name in wanted if name not in arguments]
        fields["missing"] = missing
        concerned = missing or concerned
        near = {
            name: close
            for name in arguments
            if name not in properties and (close := difflib.get_close_matches(name, missing, n=1))
        }
        if near:
            fields["did_you_mean"] = near
    elif constraint == "additionalProperties":
        unknown = [name for name in arguments if name not in properties]
        fields["did_you_mean"] = {
            name: difflib.get_close_matches(name, list(properties), n=3) for name in unknown
        }
    else:
        fields["received"] = _shown(error.instance)
    fields["parameters"] = (
        schema
        if len(definition.input_schema) <= _LARGE_SCHEMA_BYTES
        else {name: properties[name] for name in concerned if name in properties}
    )
    return ToolsearchdError(
        "INVALID_ARGUMENTS",
        f"nothing was sent: {path}: {str(error.message)[:600]}; send arguments that fit `parameters`",
        **fields,
    )


def _path(parts: list[str | int]) -> str:
    text = "arguments"
    for part in parts:
        if isinstance(part, int):
            text += f"[{part}]"
        elif part.isidentifier():
            text += f".{part}"
        else:
            text += f"[{msgspec.json.encode(part).decode()}]"
    return text


def _shown(value: Any) -> str:
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= _SHOWN_CHARS else text[:_SHOWN_CHARS] + "…"
