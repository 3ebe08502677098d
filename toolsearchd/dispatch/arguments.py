"""Arguments made fit and checked against the tool's schema, before any approval and before any send."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Literal

import msgspec

from toolsearchd.catalog.model import Definition
from toolsearchd.dispatch.check import KEPT_SCHEMAS, Check, Unjudged
from toolsearchd.dispatch.rules import RULES, Rules
from toolsearchd.errors import ToolsearchdError
from toolsearchd.limits import Limits


def prepare(
    definition: Definition,
    arguments: dict[str, Any],
    *,
    called: str = "",
    rules: Rules = RULES,
    trusted: bool = False,
    validates: bool = True,
    unvalidatable: Literal["forward", "refuse"] = "forward",
    limits: Limits,
) -> dict[str, Any]:
    """The arguments to send; those given are not changed. `called`: the tool's name in what is told (empty:
    its own). `trusted`: the tool is the agent's own. `validates`: False: they go out as they came, whatever
    the schema says, if JSON can carry them.

    Raises INVALID_ARGUMENTS, and where what can't be validated is to be refused UNVALIDATABLE (the schema is
    the reason) or VALIDATION_BUDGET (schema and arguments together). With the default rules arguments that
    fit are sent as they came; only others are coerced.
    """
    check = Check(definition, limits, called)
    if not validates:
        check.refuse_foreign_of_any_size(arguments)
        return arguments
    try:
        made = rules.fit(check, arguments, trusted=trusted)
        if made is not arguments:  # text may have become a number that nobody takes
            check.refuse_foreign(made)
        return made
    except Unjudged as unjudged:
        if unvalidatable == "refuse":
            raise ToolsearchdError(
                unjudged.code,
                f"not sent: {unjudged.reason}; `unvalidatable: forward` for the server would send it",
                reason=unjudged.reason,
            ) from None
        check.refuse_foreign_of_any_size(unjudged.arguments)
        return unjudged.arguments


class _Top(msgspec.Struct, frozen=True):
    properties: dict[str, msgspec.Raw] = {}


def property_names(definition: Definition) -> frozenset[str]:
    """The names of its top-level arguments."""
    return _property_names(definition.input_schema)


@lru_cache(maxsize=KEPT_SCHEMAS)
def _property_names(schema: bytes) -> frozenset[str]:
    try:
        return frozenset(msgspec.json.decode(schema, type=_Top).properties)
    except msgspec.DecodeError:  # `properties` is not an object: a server's slip
        return frozenset()
