"""The session's tools as an MCP client lists and names them.

The bridge tools come from `assemble` as they are; a granted tool that stands there directly is given under
its door name with all that its server says of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

import msgspec

from toolsearchd.catalog.model import Definition, Tool
from toolsearchd.catalog.naming import door_name
from toolsearchd.disclosure.provider_form import for_providers
from toolsearchd.disclosure.sanitise import clean, clean_json, clean_line, clean_result

# Claude Code defers the tools of MCP servers behind a search of its own; the three that search here must
# not hide there too. The key stands in its MCP documentation; other clients ignore it.
ALWAYS_LOAD = {"anthropic/alwaysLoad": True}

_READS = {"readOnlyHint": True, "idempotentHint": True, "openWorldHint": False}
_BRIDGE: Mapping[str, dict[str, Any]] = {  # by verb
    "search": {"title": "Search tools", "annotations": _READS},
    "describe": {"title": "Describe tools", "annotations": _READS},
    # It does whatever the called tool does; the daemon's own approval looks at that one.
    "call": {
        "title": "Call tools",
        "annotations": {"readOnlyHint": False, "destructiveHint": True, "openWorldHint": True},
    },
}


class DoorView(Protocol):
    """What the door needs of a session's view."""

    def tool_named(self, name: str) -> Tool | None:
        """The granted tool that `assemble` lists under `name`, or whose public name it is."""

    def instructions_of(self, names: Iterable[str]) -> dict[str, str]:
        """Server → its own words on how to use it, of the servers of these tools."""

    def granted_tools(self) -> Iterable[Tool]:
        """All of them, in catalog order."""

    @property
    def granted_servers(self) -> Iterable[str]:
        """Those whose prompts and resources go with the grant, in catalog order."""

    def listing_of_bytes(self, most: int) -> str:
        """The listing in as much detail as so many bytes of UTF-8 hold; nothing, if they hold none."""


class DoorNames:
    """The names that tools have at the door, for one view. Made when first needed: most calls never do."""

    def __init__(self, view: DoorView) -> None:
        self.view = view
        self._by_door_name: dict[str, Tool] | None = None

    def resolve(self, name: str) -> str:
        """The public name of the granted tool that `name` means here; any other name as it came."""
        found = self.view.tool_named(name)
        if found is None:
            if self._by_door_name is None:
                self._by_door_name = {
                    door_name(tool.server, tool.name): tool for tool in self.view.granted_tools()
                }
            found = self._by_door_name.get(name)
        return name if found is None else found.public_name


def listed_tool(function: Mapping[str, Any], view: DoorView, verb: str | None) -> dict[str, Any]:
    """MCP's `Tool` map for a function definition that `assemble` gave; `verb`: what a bridge tool does."""
    name = function["name"]
    if verb is None and (tool := view.tool_named(name)) is not None:
        return _direct(tool)
    listed = {
        "name": name,
        "description": function.get("description", ""),
        "inputSchema": function.get("parameters") or {"type": "object"},
    }
    return listed if verb is None else listed | _BRIDGE[verb] | {"_meta": ALWAYS_LOAD}


def open_tool(tool: Mapping[str, Any]) -> dict[str, Any]:
    """What of the tool every protocol revision carries: it is visible and callable."""
    return {"name": tool["name"], "inputSchema": {"type": "object"}}


def _direct(tool: Tool) -> dict[str, Any]:
    definition: Definition = tool.definition
    listed: dict[str, Any] = {
        "name": door_name(tool.server, tool.name),
        "description": clean(definition.description),
        "inputSchema": clean_json(
            for_providers(msgspec.json.decode(definition.input_schema), to_client=True)
        ),
    }
    if definition.title:
        listed["title"] = clean_line(definition.title)
    if definition.output_schema:
        listed["outputSchema"] = clean_json(msgspec.json.decode(definition.output_schema))
    if definition.annotations:
        listed["annotations"] = clean_json(msgspec.json.decode(definition.annotations), clean_line)
    if definition.extras:
        listed |= clean_json(msgspec.json.decode(definition.extras), clean_result)
    return listed
