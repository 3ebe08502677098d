"""A name that is no tool behind the bridge: is it one that the model sees directly?"""

from __future__ import annotations

from collections.abc import Collection

from toolsearchd.errors import ToolsearchdError


def check_door(name: str, direct: Collection[str]) -> None:
    """Raises TOOL_NOT_FOUND where `name`, as a model may misspell it, is a tool that it sees directly."""
    folded = _fold(name)
    if hit := next((tool for tool in direct if _fold(tool) == folded), None):
        raise ToolsearchdError(
            "TOOL_NOT_FOUND",
            f"{hit} is one of your own tools: call it directly, not through tool_call",
            reason="direct_tool_wrong_door",
        )


def _fold(name: str) -> str:
    return name.strip().lower().replace("-", "_").replace(" ", "_")
