"""The one gate: what a server, a tool, an agent or a file of another gave, before anyone else may see it.

A server's messages are cleaned where they leave `upstream`, tools' results where they are made to fit, and
errors where they are told. Pure; the rules for a single text are `sanitise`'s.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolsearchd.disclosure.sanitise import (
    Clean,
    clean_json,
    clean_line,
    clean_result,
    clean_shown,
    clean_uri,
)
from toolsearchd.errors import ToolsearchdError

# MCP's fields that hold one line, or a URI; and those below which a server writes what it likes.
_LINES = ("name", "title", "mimeType", "type", "role", "logger", "level", "model", "version", "values")
_FIELDS: Mapping[str, Clean] = {
    **dict.fromkeys(_LINES, clean_line),
    **dict.fromkeys(("uri", "uriTemplate", "url"), clean_uri),
}
_FREE = frozenset(("structuredContent", "_meta", "data", "metadata", "input"))
# Of what the daemon tells people and agents itself.
_TOLD: Mapping[str, Clean] = dict.fromkeys(
    ("name", "server", "tool", "client", "profile", "about", "cwd", "reason", "file", "entry"), clean_line
)


def clean_message(value: Any) -> Any:
    """A result, a notification or a question of a server: texts keep their lines and blanks, names are one
    line, URIs stay URIs, encoded images and audio as they are."""
    return clean_json(value, clean_result, _FIELDS, _FREE)


def clean_told(value: Any) -> Any:
    """A reply, an event or a record of the daemon's own: names in it are others'."""
    return clean_json(value, clean_shown, _TOLD)


def clean_error(error: ToolsearchdError) -> ToolsearchdError:
    """As it may be told: what somebody else wrote may stand in any of its words."""
    told = error.as_fields()
    fields: dict[str, Any] = clean_json(told, clean_shown)
    if fields is told:
        return error
    return ToolsearchdError(fields.pop("code"), fields.pop("message"), **fields)
