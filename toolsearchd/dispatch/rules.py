"""Whose rules read a model's calls and make their arguments fit: the daemon's own, or those of a dialect."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any

from toolsearchd.dispatch.shapes import RequestedCall, parse_calls
from toolsearchd.errors import ToolsearchdError

if TYPE_CHECKING:
    from toolsearchd.dispatch.check import Check  # large, and not needed before the first call


class Rules:
    """The daemon's own; who has others overrides what differs."""

    def parse(
        self,
        args: Mapping[str, object],
        *,
        max_entries: int,
        properties: Callable[[str], Collection[str] | None] | None = None,
    ) -> list[RequestedCall]:
        """The entries of a request, never empty; see `parse_calls`. Raises what refuses it whole."""
        return parse_calls(args, max_entries=max_entries, properties=properties)

    def fit(self, check: Check, arguments: dict[str, Any], *, trusted: bool) -> dict[str, Any]:
        """The arguments to send. Raises INVALID_ARGUMENTS, and `Unjudged` where the schema is no judge."""
        return check.by_default(arguments)

    def refusal(self, error: ToolsearchdError, *, withdrawn: bool) -> ToolsearchdError:
        """The error of an entry that was not let through. `withdrawn`: a stop ended its prompt."""
        return error


RULES = Rules()
