"""Views under OpenClaw's dialects."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.disclosure_catalog import source
from toolsearchd.catalog.compile import compile_snapshot
from toolsearchd.catalog.grant import Grant
from toolsearchd.catalog.model import Source
from toolsearchd.catalog.snapshot import Snapshot
from toolsearchd.config.profile import Profile
from toolsearchd.config.tool_search import ToolSearch
from toolsearchd.dialects.base import Interpreter
from toolsearchd.dialects.registry import DIALECTS, make_analyzer
from toolsearchd.dialects.views import make_view
from toolsearchd.disclosure.view import View
from toolsearchd.errors import ToolsearchdError
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
    return make_view(
        compile_snapshot(Snapshot.empty(), sources, _ANALYZERS),
        Grant(),
        dialect=chosen,
        settings=chosen.settings_of(ToolSearch(), Profile(options=options or {}), False),
        limits=Limits(),
    )


def interpreter(view: View) -> Interpreter:
    return view.dialect.interpreter()


ISSUES = [
    {"server": "github", "name": "create_issue", "description": "Create a new issue in a repository"},
    {"server": "gitlab", "name": "create_issue", "description": "Create an issue"},
    {"server": "calendar", "name": "create_event", "description": "Schedule a calendar event"},
]
TRUSTED = [
    {
        "server": "core",
        "source": "openclaw",
        "name": "read_file",
        "description": "Read a file of the workspace",
        "inputSchema": {
            "type": "object",
            "properties": {"path": {"type": "string"}, "limit": {"type": "integer"}},
            "required": ["path"],
        },
        "outputSchema": {"type": "object", "properties": {"text": {"type": "string"}}},
    },
    {"server": "browser", "source": "openclaw", "name": "open_page", "description": "Open a page " * 30},
]


def seen(*tools: dict[str, Any], dialect: str = "openclaw", **options: Any) -> View:
    return view_of(*tool_source(list(tools)), dialect=dialect, options=options)


def search(view: View, **args: Any) -> Any:
    return interpreter(view).search(view, args).value


def ids(view: View, query: str, **args: Any) -> list[str]:
    return [candidate["id"] for candidate in search(view, query=query, **args)]


def refused(run: Any) -> ToolsearchdError:
    with pytest.raises(ToolsearchdError) as caught:
        run()
    return caught.value
