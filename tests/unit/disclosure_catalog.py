"""Small catalogs and views of them for the disclosure tests."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from toolsearchd.catalog.compile import compile_snapshot
from toolsearchd.catalog.definition import decode_definition
from toolsearchd.catalog.grant import Grant
from toolsearchd.catalog.model import Source
from toolsearchd.catalog.snapshot import Snapshot
from toolsearchd.config.tool_search import ToolSearch
from toolsearchd.dialects.registry import DIALECTS, make_analyzer
from toolsearchd.dialects.views import make_view
from toolsearchd.disclosure.tokens import count_tokens, estimate_tokens
from toolsearchd.disclosure.view import View
from toolsearchd.limits import Limits

_ANALYZERS = {name: make_analyzer(name) for name in ("default", "hermes")}


def source(name: str, tools: dict[str, str] | Iterable[dict[str, Any]] = (), **fields: Any) -> Source:
    """`tools`: names and descriptions, or definitions as a server gives them."""
    if isinstance(tools, dict):
        tools = [{"name": tool, "description": text} for tool, text in tools.items()]
    definitions = [decode_definition(msgspec.json.encode(tool), Limits()) for tool in tools]
    return Source(name=name, definitions=tuple(definitions), **fields)


def snapshot(*sources: Source) -> Snapshot:
    return compile_snapshot(Snapshot.empty(), sources, _ANALYZERS)


def view(*sources: Source, dialect: str = "default", grant: Grant | None = None, **settings: Any) -> View:
    return make_view(
        snapshot(*sources),
        grant or Grant(),
        dialect=DIALECTS[dialect],
        settings=ToolSearch(**settings),
        limits=Limits(),
    )


def exact(text: str) -> int:
    return count_tokens("o200k_base", [text])[0]


def assembled(seen: View, context_length: int | None = 200_000, **options: Any) -> dict[str, Any]:
    """The fields of an assemble whose counts are estimates: quick, and the same each time."""
    options = {"count": estimate_tokens, "separate_listing": False} | options
    return seen.assemble(context_length=context_length, **options).fields


GITHUB = source(
    "github",
    [
        {
            "name": "create_issue",
            "description": "Open a new issue in a repository. Needs write access.",
            "inputSchema": {
                "type": "object",
                "properties": {"title": {"type": "string"}, "body": {"type": "string"}},
                "required": ["title"],
            },
        },
        {"name": "list_issues", "description": "List issues in a repository"},
        {"name": "merge_pull_request", "description": "Merge an open pull request"},
    ],
)
SLACK = source(
    "slack", {"post_message": "Post a message into a channel", "list_channels": "List the channels"}
)
DOWN = source("mail", state="parked", reason="connection\x1b[31m refused\nat start", declared_tools=7)
STARTING = source("calendar", state="starting", reason="starting")
