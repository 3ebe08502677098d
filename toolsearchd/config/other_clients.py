"""What belongs to another client's config: it is not read here, and the warning names what is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

_OTHER_KEYS = {
    "url": ("serverUrl", "httpUrl", "server_url", "endpoint", "uri"),
    "env": ("environment", "envs"),
    "args": ("arguments", "argv"),
    "headers": ("http_headers", "httpHeaders"),
    "cwd": ("workingDirectory", "working_directory"),
}
"""Common key → what other clients call it; each format has turned its own into the common ones."""

SECTIONS = ("mcpServers", "servers", "mcp_servers", "context_servers", "mcp.servers", "mcp", "mcp-servers")
"""Where clients keep their servers."""

_OF_A_SERVER = {"command", "url", "serverUrl", "httpUrl"}


def keys_of_others(entry: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """(the key that stands there, what it is called here), of those that say what nothing else says."""
    for key, others in _OTHER_KEYS.items():
        for other in others:
            if entry.get(other) and not entry.get(key):
                yield other, key


def holds_servers(section: object) -> bool:
    """Does it look like a section of servers?"""
    entries = section.values() if isinstance(section, Mapping) else ()
    return any(isinstance(entry, Mapping) and entry.keys() & _OF_A_SERVER for entry in entries)
