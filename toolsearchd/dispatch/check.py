"""One tool's schema as the judge of one call's arguments: the steps that rules of reading are made of."""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import Any, NoReturn

import msgspec

from toolsearchd.catalog.model import Definition
from toolsearchd.dispatch.bounds import count_steps, foreign_part, is_json, measure
from toolsearchd.dispatch.coerce import coerce
from toolsearchd.dispatch.jsontext import JsonFault, read_json
from toolsearchd.dispatch.schema import Schema, read_schema
from toolsearchd.dispatch.shapes import ARGUMENT_KEYS
from toolsearchd.dispatch.validate import CannotJudge, ValidationError, Validator
from toolsearchd.dispatch.validation_errors import invalid_arguments, path_text
from toolsearchd.errors import Code, ToolsearchdError
from toolsearchd.limits import Limits

KEPT_SCHEMAS = 256  # read and compiled; some ten kilobytes each


class SchemaPlan(msgspec.Struct, frozen=True):
    """A schema read and compiled, or its fault."""

    schema: Schema
    validator: Validator | None
    code: Code
    fault: str


@lru_cache(maxsize=KEPT_SCHEMAS)
def plan(data: bytes, limits: Limits) -> SchemaPlan:
    schema = read_schema(data, limits)
    if schema.fault:
        return SchemaPlan(schema, None, schema.code, schema.fault)
    try:
        return SchemaPlan(schema, Validator(schema, limits), "UNVALIDATABLE", "")
    except CannotJudge as error:
        return SchemaPlan(schema, None, "UNVALIDATABLE", f"its schema is not valid: {error}")


class Unjudged(Exception):
    """The arguments go out unvalidated, or not at all, as the server's setting says."""

    def __init__(self, arguments: dict[str, Any], code: Code, reason: str) -> None:
        super().__init__(reason)
        self.arguments = arguments
        self.code = code
        self.reason = reason


class Check:
    def __init__(self, definition: Definition, limits: Limits, called: str = "") -> None:
        """`called`: the tool's name in what is told; empty: its own."""
        self._definition = definition
        self._called = called or definition.name
        self._limits = limits

    @cached_property
    def _plan(self) -> SchemaPlan:
        return plan(self._definition.input_schema, self._limits)

    def as_they_came(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Within the bounds, and nothing more: the schema is not the judge."""
        self.bound_value(arguments)
        return arguments

    def by_default(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """As they came where they fit, else coerced, else taken out of a second wrapper."""
        self._bound(arguments)
        if self.accepts(arguments):
            return arguments
        schema = self._plan.schema
        made = coerce(arguments, schema)
        if made is not arguments and self.accepts(made):
            return made
        inner = _unwrapped(arguments, schema)
        if inner is not None and not measure(inner, self._limits):
            inner = coerce(inner, schema)
            if self.accepts(inner):
                return inner
        raise self.invalid(made, self.validation_errors(made), corrects=True)

    def _bound(self, arguments: dict[str, Any]) -> None:
        self.bound_value(arguments)
        self.bound_schema(arguments)

    def bound_value(self, arguments: dict[str, Any]) -> None:
        too_much = measure(arguments, self._limits)
        if too_much:
            code: Code = "VALIDATION_BUDGET"
            if self._plan.fault or self._definition.unvalidatable:
                code = self._plan.code
            raise Unjudged(arguments, code, f"the arguments are {too_much}")
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

    def bound_schema(self, arguments: dict[str, Any]) -> None:
        if self._definition.unvalidatable:
            raise Unjudged(arguments, "UNVALIDATABLE", self._definition.unvalidatable)
        if self._plan.fault:
            raise Unjudged(arguments, self._plan.code, self._plan.fault)

    def _bound_steps(self, arguments: dict[str, Any]) -> None:
        """How many alternatives these arguments make the validator judge."""
        most = self._limits.validation_branches
        schema = self._plan.schema
        if schema.combines and count_steps(schema, arguments, most, self._limits) > most:
            raise Unjudged(
                arguments,
                "VALIDATION_BUDGET",
                f"its schema and these arguments make more than {most} alternatives",
            )

    def accepts(self, arguments: dict[str, Any]) -> bool:
        assert self._plan.validator is not None
        self._bound_steps(arguments)
        try:
            return self._plan.validator.accepts(arguments)
        except CannotJudge as error:
            raise Unjudged(arguments, "UNVALIDATABLE", str(error)) from None

    def validation_errors(self, arguments: dict[str, Any]) -> list[ValidationError]:
        """Empty only where the arguments fit."""
        assert self._plan.validator is not None
        self._bound_steps(arguments)
        try:
            return self._plan.validator.validation_errors(arguments)
        except CannotJudge as error:
            raise Unjudged(arguments, "UNVALIDATABLE", str(error)) from None

    def invalid(
        self, arguments: dict[str, Any], validation_errors: list[ValidationError], *, corrects: bool = False
    ) -> ToolsearchdError:
        return invalid_arguments(
            self._called,
            arguments,
            validation_errors,
            self.own_schema(),
            len(self._definition.input_schema),
            self.validation_errors if corrects else None,
        )

    def own_schema(self) -> dict[str, Any]:
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
