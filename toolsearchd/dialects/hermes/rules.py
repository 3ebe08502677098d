"""The reference's rules for calls, of its two releases: what is refused as a whole, coerced, and told."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any

from toolsearchd.dialects.hermes.shapes import parse_hermes_calls
from toolsearchd.dispatch.rules import Rules
from toolsearchd.dispatch.shapes import RequestedCall
from toolsearchd.errors import ToolsearchdError

if TYPE_CHECKING:
    from toolsearchd.dispatch.check import Check

# Told as a plain refusal, the code as its reason.
_REFUSALS = frozenset(
    ("DENIED", "HOOK_FAILED", "NO_APPROVER", "APPROVAL_TIMEOUT", "STALE", "AUDIT_UNAVAILABLE")
)


class HermesV1Rules(Rules):
    """June 2026: coercion at the top level and no judgement."""

    def parse(
        self,
        args: Mapping[str, object],
        *,
        max_entries: int,
        properties: Callable[[str], Collection[str] | None] | None = None,
    ) -> list[RequestedCall]:
        """Its own bounds hold: one local call, or a few of a connector's."""
        return parse_hermes_calls(args)

    def fit(self, check: Check, arguments: dict[str, Any], *, trusted: bool) -> dict[str, Any]:
        from toolsearchd.dialects.hermes.coercion import coerce_hermes

        check.bound_value(arguments)
        return coerce_hermes(arguments, check.own_schema())


class HermesRules(HermesV1Rules):
    """September 2026: missing names first, then coercion at the top level, then the validator."""

    def fit(self, check: Check, arguments: dict[str, Any], *, trusted: bool) -> dict[str, Any]:
        from toolsearchd.dialects.hermes.coercion import coerce_hermes
        from toolsearchd.dispatch.schema import missing_names
        from toolsearchd.dispatch.validate import ValidationError

        check.bound_value(arguments)
        own = check.own_schema()
        missing = missing_names(own, arguments)
        if missing:
            detail = {"property": missing[0], "missing": missing}
            raise check.invalid(arguments, [ValidationError(path=(), constraint="required", detail=detail)])
        coerced = coerce_hermes(arguments, own)
        check.bound_schema(coerced)
        if check.accepts(coerced):
            return coerced
        raise check.invalid(coerced, check.validation_errors(coerced))

    def refusal(self, error: ToolsearchdError, *, withdrawn: bool) -> ToolsearchdError:
        if not withdrawn and error.code not in _REFUSALS:
            return error
        return ToolsearchdError("TOOL_ERROR", error.message, **error.fields | {"reason": error.code})
