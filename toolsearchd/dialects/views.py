"""Makes a view in a dialect's words, with the ranker in force."""

from __future__ import annotations

from typing import Any

from toolsearchd.catalog.grant import Grant
from toolsearchd.catalog.snapshot import Snapshot
from toolsearchd.config.tool_search import ToolSearch
from toolsearchd.dialects.base import Dialect
from toolsearchd.dialects.registry import RANKINGS
from toolsearchd.disclosure.view import View


def ranker_of(dialect: Dialect, settings: ToolSearch) -> str:
    """The one that the settings name, else the dialect's."""
    return settings.ranker if settings.ranker != "default" else dialect.ranker


def make_view(
    snapshot: Snapshot, grant: Grant, *, dialect: Dialect, settings: ToolSearch, **more: Any
) -> View:
    """See `View`."""
    ranking = RANKINGS[ranker_of(dialect, settings)]
    return View(snapshot, grant, dialect=dialect, settings=settings, ranking=ranking, **more)
