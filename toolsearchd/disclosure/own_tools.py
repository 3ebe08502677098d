"""An agent's own tools: which stay direct as they came, and which hide behind the bridge.

Core ones stay, and what has no callable name; the others become definitions like a server's, called back over
the agent's connection. Nothing is dropped silently: what can't hide stays direct, and a warning says why.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from toolsearchd.catalog.definition import decode_definition
from toolsearchd.catalog.model import Definition
from toolsearchd.disclosure.sanitise import clipped, plain_line
from toolsearchd.errors import ToolsearchdError
from toolsearchd.limits import Limits

TOOLSET = "plugin"  # of tools that name none
_SHOWN_CHARS = 80
_TOOLSET_CHARS = 64
_NAME_CHARS = 256  # providers take 64 or 128


class OwnTools(NamedTuple):
    """`direct`: entries as a model is given them; `deferred`: those to index, by toolset, in their order."""

    direct: tuple[dict[str, Any], ...] = ()
    deferred: Mapping[str, tuple[Definition, ...]] = {}
    warnings: tuple[str, ...] = ()

    @property
    def direct_names(self) -> frozenset[str]:
        return frozenset(name for tool in self.direct if (name := name_in(tool)))


def name_in(tool: Mapping[str, Any]) -> str:
    """The callable name of a definition, flat or in a function's shape; empty where it has none."""
    name = _function_in(tool).get("name")
    return name if isinstance(name, str) else ""


def sort_own_tools(
    tools: Sequence[dict[str, Any]],
    *,
    core_names: Collection[str] = (),
    unique: bool = False,
    direct_toolsets: Collection[str] = (),
    bridge_names: Collection[str],
    defer: Collection[str],
    taken: Collection[str],
    limits: Limits,
) -> OwnTools:
    """`defer`: core tools that hide all the same; `taken`: public names;
    `core_names`, `direct_toolsets`: what never hides; `unique`: names that meet are refused.

    The bridge's names are stripped, so that an agent may hand back the whole list it was given. Raises
    BAD_ARGUMENTS where such names meet, or for more tools than a server may have.
    """
    if len(tools) > limits.tools_per_server:
        raise ToolsearchdError(
            "BAD_ARGUMENTS", f"tools: {len(tools)} were given, at most {limits.tools_per_server} are taken"
        )
    direct: list[dict[str, Any]] = []
    deferred: dict[str, list[Definition]] = {}
    warnings: list[str] = []
    seen: set[str] = set()
    for tool in tools:
        name = name_in(tool)
        if name in bridge_names:
            continue
        shown = repr(clipped(plain_line(name), _SHOWN_CHARS))
        if name and name in seen:
            if unique:
                raise ToolsearchdError("BAD_ARGUMENTS", f"tools: {shown} is there twice; names must differ")
            warnings.append(f"the tool {shown} is there twice: the first counts")
            continue
        if unique and name in taken:
            raise ToolsearchdError("BAD_ARGUMENTS", f"tools: {shown} is the name of a server's tool")
        seen.add(name)
        core = tool.get("core", True) is not False
        if not core and name in core_names and unique:
            raise ToolsearchdError("BAD_ARGUMENTS", f"tools: {shown} is the name of a core tool")
        stays = core or tool.get("toolset") in direct_toolsets
        if not name or name in core_names or (stays and name not in defer):
            direct.append(_as_function(tool))
            continue
        try:
            if name in taken:
                raise ValueError("a server's tool has this name")
            if len(name) > _NAME_CHARS or plain_line(name) != name:
                raise ValueError(
                    f"a listing shows names as they are, of at most {_NAME_CHARS} characters that can be seen"
                )
            deferred.setdefault(_toolset(tool), []).append(_definition(tool, limits))
        except ValueError as error:
            warnings.append(f"the tool {shown} stays direct: {error}")
            direct.append(_as_function(tool))
    by_toolset = {toolset: tuple(definitions) for toolset, definitions in deferred.items()}
    return OwnTools(tuple(direct), by_toolset, tuple(warnings))


def _function_in(tool: Mapping[str, Any]) -> Mapping[str, Any]:
    function = tool.get("function")
    return function if isinstance(function, Mapping) and "name" not in tool else tool


def _as_function(tool: dict[str, Any]) -> dict[str, Any]:
    """As a model is given it: what has its provider's own shape passes through untouched."""
    shape = {key: value for key, value in tool.items() if key not in ("core", "toolset")}
    return shape if "type" in tool or not name_in(tool) else {"type": "function", "function": shape}


def _toolset(tool: Mapping[str, Any]) -> str:
    """What it belongs to, as a search names it and a listing groups it."""
    toolset = tool.get("toolset")
    return clipped(plain_line(toolset), _TOOLSET_CHARS) or TOOLSET if isinstance(toolset, str) else TOOLSET


def _definition(tool: Mapping[str, Any], limits: Limits) -> Definition:
    """Raises ValueError with why it can't be one."""
    function = _function_in(tool)
    raw = {
        "name": function["name"],
        "description": function.get("description") or "",
        "inputSchema": function.get("parameters") or {"type": "object"},
        "annotations": function.get("annotations"),
    }
    try:
        data = msgspec.json.encode(raw)
    except (msgspec.MsgspecError, RecursionError, UnicodeError, TypeError) as error:
        raise ValueError(f"it has no JSON form: {error}") from None
    return decode_definition(data, limits)
