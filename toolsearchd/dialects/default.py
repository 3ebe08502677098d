"""The daemon's own words."""

from __future__ import annotations

from toolsearchd.dialects.base import Dialect

DEFAULT = Dialect(
    name="default",
    name_of=lambda tool: tool.public_name,
    source_name_of=lambda tool: tool.server,
)
