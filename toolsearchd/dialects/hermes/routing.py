"""The reference's check of a called name: deferrable, direct, not of this session, or unknown."""

from __future__ import annotations

from collections.abc import Collection

from toolsearchd.dispatch.routing import check_door
from toolsearchd.dispatch.shapes import shown
from toolsearchd.errors import ToolsearchdError


def check_name(
    name: str,
    *,
    deferrable: Collection[str],
    session: Collection[str] | None = None,
    direct: Collection[str] = (),
) -> None:
    """Raises TOOL_NOT_FOUND unless `name` is exactly a deferrable tool that this session may call.

    `deferrable`: all registered tools behind the bridge. `session`: those of this session; None: all.
    `direct`: tools the model sees directly.
    Names are folded (case, `-` and space) only to recognise direct tools; a deferrable one must be exact.
    """
    if name in deferrable:
        if session is None or name in session:
            return
        raise _refusal(
            "not_in_session",
            f"{shown(name)} is not available in this session; use tool_search to find what is",
        )
    check_door(name, direct)
    visible = deferrable if session is None else session
    suggestions = sorted(tool for tool in visible if tool.endswith(f"__{name}"))
    advice = (
        f"did you mean {' or '.join(suggestions)}?" if suggestions else "use tool_search to find the tool"
    )
    raise _refusal("unknown_name", f"there is no tool {shown(name)}; {advice}", suggestions)


def _refusal(reason: str, message: str, suggestions: list[str] | None = None) -> ToolsearchdError:
    fields = {"suggestions": suggestions} if suggestions else {}
    return ToolsearchdError("TOOL_NOT_FOUND", message, reason=reason, **fields)
