"""Views under OpenClaw's dialects."""

from __future__ import annotations

from typing import Any

from tests.unit.disclosure_catalog import source
from toolsearchd.catalog.compile import compile_snapshot
from toolsearchd.catalog.grant import Grant
from toolsearchd.catalog.model import Source
from toolsearchd.catalog.snapshot import Snapshot
from toolsearchd.config.profile import Profile
from toolsearchd.config.tool_search import ToolSearch
from toolsearchd.disclosure.dialects import DIALECTS
from toolsearchd.disclosure.dialects.base import Interpreter
from toolsearchd.disclosure.view import View
from toolsearchd.index.analyzer import make_analyzer
from toolsearchd.limits import Limits

_ANALYZERS = {name: make_analyzer(name) for name in ("default", "openclaw")}


def tool_source(tools: list[dict[str, Any]]) -> list[Source]:
    """Sources of tools given as `{server, name, description}`; `source: openclaw` makes a plugin's."""
    by_server: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for tool in tools:
        kind = "plugin" if tool.get("source") == "openclaw" else "mcp"
        raw = {key: value for key, value in tool.items() if key not in ("server", "source")}
        by_server.setdefault((tool["server"], kind), []).append(raw)
    return [source(server, found, kind=kind) for (server, kind), found in by_server.items()]


def view_of(*sources: Source, dialect: str = "openclaw", options: dict[str, Any] | None = None) -> View:
    chosen = DIALECTS[dialect]
    assert chosen.settings_of is not None
    return View(
        compile_snapshot(Snapshot.empty(), sources, _ANALYZERS),
        Grant(),
        dialect=chosen,
        settings=chosen.settings_of(ToolSearch(), Profile(options=options or {}), False),
        limits=Limits(),
    )


def interpreter(view: View) -> Interpreter:
    return view.dialect.interpreter()
