"""The daemon's own words."""

from __future__ import annotations

from toolsearchd.disclosure.dialects.base import Dialect
from toolsearchd.limits import Limits

_LIMITS = Limits()

DEFAULT = Dialect(
    name="default",
    name_of=lambda tool: tool.public_name,
    source_name_of=lambda tool: tool.server,
    max_queries=_LIMITS.queries_per_search,
    max_names=_LIMITS.names_per_describe,
)
