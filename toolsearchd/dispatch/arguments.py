"""Arguments made fit and checked against the tool's schema, before any approval and before any send."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Literal, NoReturn

import msgspec

from toolsearchd.catalog.model import Definition
from toolsearchd.dialects.hermes.coercion import coerce_hermes
from toolsearchd.dispatch.bounds import count_steps, foreign_part, is_json, measure
from toolsearchd.dispatch.coerce import coerce
from toolsearchd.dispatch.jsontext import JsonFault, read_json
from toolsearchd.dispatch.schema import Schema, missing_names, read_schema
from toolsearchd.dispatch.shapes import ARGUMENT_KEYS, Rules
from toolsearchd.dispatch.validate import CannotJudge, ValidationError, Validator
from toolsearchd.dispatch.validation_errors import invalid_arguments, path_text
from toolsearchd.errors import Code, ToolsearchdError
from toolsearchd.limits import Limits

_KEPT_SCHEMAS = 256  # read and compiled; some ten kilobytes each


def prepare(
    definition: Definition,
    arguments: dict[str, Any],
    *,
    rules: Rules = "default",
    trusted: bool = False,
    unvalidatable: Literal["forward", "refuse"] = "forward",
    limits: Limits,
) -> dict[str, Any]:
    """The arguments to send; those given are not changed. `trusted`: the tool is the agent's own.

    Raises INVALID_ARGUMENTS, and where what can't be validated is to be refused UNVALIDATABLE (the schema is
    the reason) or VALIDATION_BUDGET (schema and arguments together). With the default rules arguments that
    fit are sent as they came; only others are coerced. By OpenClaw's rules only a trusted tool's are judged.
    """
    check = _Check(definition, limits)
    try:
        if rules == "openclaw" and not trusted:
            return check.as_they_came(arguments)
        if rules == "hermes":
            made = check.by_reference(arguments)
        elif rules == "hermes-v1":
            made = check.by_coercion(arguments)
        else:
            made = check.by_default(arguments)
        if made is not arguments:  # text may have become a number that nobody takes
            check.refuse_foreign(made)
        return made
    except _Unjudged as unjudged:
        if unvalidatable == "refuse":
            raise ToolsearchdError(
                unjudged.code,
                f"not sent: {unjudged.reason}; `unvalidatable: forward` for the server would send it",
                reason=unjudged.reason,
            ) from None
        check.refuse_foreign_of_any_size(unjudged.arguments)
        return unjudged.arguments


def unvalidatable_reason(definition: Definition, limits: Limits) -> str:
    """Why the tool's arguments can't be validated; empty where they can."""
    return definition.unvalidatable or _plan(definition.input_schema, limits).fault


class _Top(msgspec.Struct, frozen=True):
    properties: dict[str, msgspec.Raw] = {}


def property_names(definition: Definition) -> frozenset[str]:
    """The names of its top-level arguments."""
    return _property_names(definition.input_schema)


@lru_cache(maxsize=_KEPT_SCHEMAS)
def _property_names(schema: bytes) -> frozenset[str]:
    try:
        return frozenset(msgspec.json.decode(schema, type=_Top).properties)
    except msgspec.DecodeError:  # `properties` is not an object: a server's slip
        return frozenset()


class _Plan(msgspec.Struct, frozen=True):
    """A schema read and compiled, or its fault."""

    schema: Schema
    validator: Validator | None
    code: Code
    fault: str


@lru_cache(maxsize=_KEPT_SCHEMAS)
def _plan(data: bytes, limits: Limits) -> _Plan:
    schema = read_schema(data, limits)
    if schema.fault:
        return _Plan(schema, None, schema.code, schema.fault)
    try:
        return _Plan(schema, Validator(schema, limits), "UNVALIDATABLE", "")
    except CannotJudge as error:
        return _Plan(schema, None, "UNVALIDATABLE", f"its schema is not valid: {error}")


class _Unjudged(Exception):
    """The arguments go out unvalidated, or not at all, as the server's setting says."""

    def __init__(self, arguments: dict[str, Any], code: Code, reason: str) -> None:
        super().__init__(reason)
        self.arguments = arguments
        self.code = code
        self.reason = reason


class _Check:
    def __init__(self, definition: Definition, limits: Limits) -> None:
        self._definition = definition
        self._limits = limits
        self._plan = _plan(definition.input_schema, limits)

    def as_they_came(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Within the bounds, and nothing more: the schema is not the judge."""
        self._bound_value(arguments)
        return arguments

    def by_default(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """As they came where they fit, else coerced, else taken out of a second wrapper."""
        self._bound(arguments)
        if self._accepts(arguments):
            return arguments
        schema = self._plan.schema
        made = coerce(arguments, schema)
        if made is not arguments and self._accepts(made):
            return made
        inner = _unwrapped(arguments, schema)
        if inner is not None and not measure(inner, self._limits):
            inner = coerce(inner, schema)
            if self._accepts(inner):
                return inner
        raise self._invalid(made, self._validation_errors(made), corrects=True)

    def by_reference(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Missing names first, then coercion at the top level, then the validator."""
        self._bound_value(arguments)
        own = self._own_schema()
        missing = missing_names(own, arguments)
        if missing:
            detail = {"property": missing[0], "missing": missing}
            raise self._invalid(arguments, [ValidationError(path=(), constraint="required", detail=detail)])
        made = coerce_hermes(arguments, own)
        self._bound_schema(made)
        if self._accepts(made):
            return made
        raise self._invalid(made, self._validation_errors(made))

    def by_coercion(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Coercion at the top level and no judgement: the reference of June 2026."""
        self._bound_value(arguments)
        return coerce_hermes(arguments, self._own_schema())

    def _bound(self, arguments: dict[str, Any]) -> None:
        self._bound_value(arguments)
        self._bound_schema(arguments)

    def _bound_value(self, arguments: dict[str, Any]) -> None:
        too_much = measure(arguments, self._limits)
        if too_much:
            code: Code = "VALIDATION_BUDGET"
            if self._plan.fault or self._definition.unvalidatable:
                code = self._plan.code
            raise _Unjudged(arguments, code, f"the arguments are {too_much}")
        self.refuse_foreign(arguments)

    def refuse_foreign(self, arguments: dict[str, Any]) -> None:
        """Raises INVALID_ARGUMENTS for a part that JSON can't carry. For measured arguments."""
        foreign = foreign_part(arguments)
        if foreign is not None:
            self._refuse(*foreign)

    @staticmethod
    def _refuse(path: tuple[str | int, ...], what: str) -> NoReturn:
        raise ToolsearchdError(
            "INVALID_ARGUMENTS",
            f"{path_text(path)}: {what}, which JSON can't carry; nothing was sent",
            path=path_text(path),
            constraint="json",
            expected="a JSON value",
            received=what,
        )

    def refuse_foreign_of_any_size(self, arguments: dict[str, Any]) -> None:
        """As `refuse_foreign`; the place is named where it is not far in."""
        if not is_json(arguments):
            found = foreign_part(arguments, self._limits.validation_nodes)
            self._refuse(*(found or ((), "a value far in")))

    def _bound_schema(self, arguments: dict[str, Any]) -> None:
        if self._definition.unvalidatable:
            raise _Unjudged(arguments, "UNVALIDATABLE", self._definition.unvalidatable)
        if self._plan.fault:
            raise _Unjudged(arguments, self._plan.code, self._plan.fault)

    def _bound_steps(self, arguments: dict[str, Any]) -> None:
        """How many alternatives these arguments make the validator judge."""
        most = self._limits.validation_branches
        schema = self._plan.schema
        if schema.combines and count_steps(schema, arguments, most, self._limits) > most:
            raise _Unjudged(
                arguments,
                "VALIDATION_BUDGET",
                f"its schema and these arguments make more than {most} alternatives",
            )

    def _accepts(self, arguments: dict[str, Any]) -> bool:
        assert self._plan.validator is not None
        self._bound_steps(arguments)
        try:
            return self._plan.validator.accepts(arguments)
        except CannotJudge as error:
            raise _Unjudged(arguments, "UNVALIDATABLE", str(error)) from None

    def _validation_errors(self, arguments: dict[str, Any]) -> list[ValidationError]:
        """Empty only where the arguments fit."""
        assert self._plan.validator is not None
        self._bound_steps(arguments)
        try:
            return self._plan.validator.validation_errors(arguments)
        except CannotJudge as error:
            raise _Unjudged(arguments, "UNVALIDATABLE", str(error)) from None

    def _invalid(
        self, arguments: dict[str, Any], validation_errors: list[ValidationError], *, corrects: bool = False
    ) -> ToolsearchdError:
        return invalid_arguments(
            self._definition.name,
            arguments,
            validation_errors,
            self._own_schema(),
            len(self._definition.input_schema),
            self._validation_errors if corrects else None,
        )

    def _own_schema(self) -> dict[str, Any]:
        """The schema as its server wrote it; the plan's is rewritten for the validator."""
        if self._plan.schema.fault and not self._plan.schema.readable:
            return {}
        own = msgspec.json.decode(self._definition.input_schema)
        return own if isinstance(own, dict) else {}


def _unwrapped(arguments: dict[str, Any], schema: Schema) -> dict[str, Any] | None:
    """The object inside `{"arguments": {…}}` where the tool has no parameter of that name."""
    if len(arguments) != 1:
        return None
    (key, inner), *_ = arguments.items()
    properties = schema.root.get("properties")
    if key not in ARGUMENT_KEYS or (isinstance(properties, dict) and key in properties):
        return None
    if isinstance(inner, str):
        try:
            inner = read_json(inner)
        except JsonFault:
            return None
    return inner if isinstance(inner, dict) else None
