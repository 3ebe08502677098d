"""A picture of what `tokens` tells. matplotlib is an extra: nobody else needs it."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

from toolsearchd.disclosure.sanitise import plain_line
from toolsearchd.errors import ToolsearchdError
from toolsearchd.protocol.control_replies import TokensReply

_ROW_INCHES = 0.28
_MOST_SERVERS = 60  # more would be no picture
_SHOWN, _SAVED = "#c44e52", "#4c72b0"


def require() -> None:
    """Raises MISSING_EXTRA where matplotlib is not installed."""
    if importlib.util.find_spec("matplotlib") is None:
        raise ToolsearchdError(
            "MISSING_EXTRA", "--plot needs matplotlib: `pip install 'toolsearchd[plot]'`", extra="plot"
        )


def draw(report: TokensReply, path: Path) -> None:
    """Writes a picture in the format that the file's ending names. Raises BAD_ARGUMENTS."""
    from matplotlib.figure import Figure

    encoding = report["encodings"][0]
    totals = report["totals"][encoding]
    servers = [server for server in report["servers"] if server["tokens"] is not None]
    servers.sort(key=lambda server: (-server["tokens"][encoding], server["name"]))
    left_out = len(servers) - _MOST_SERVERS
    servers = servers[:_MOST_SERVERS]

    figure = Figure(figsize=(10, 2.5 + _ROW_INCHES * (len(servers) + 2)), layout="constrained")
    top, bottom = figure.subplots(2, 1, height_ratios=(2, max(len(servers), 2)))
    figure.suptitle(f"{plain_line(report['profile'])}: {encoding} tokens in every turn")

    bars = top.barh(["this view", "all schemas"], [totals["view"], totals["eager"]], color=[_SHOWN, _SAVED])
    top.bar_label(bars, fmt="{:,.0f}", padding=3)
    names = [_plain(server["name"]) for server in servers]
    bars = bottom.barh(range(len(servers)), [server["tokens"][encoding] for server in servers], color=_SAVED)
    bottom.bar_label(bars, labels=[_label(server, encoding) for server in servers], padding=3)
    bottom.set_yticks(range(len(servers)), names)
    bottom.invert_yaxis()
    notes = [f"unknown: {_plain(', '.join(report['unknown']))}"] if report["unknown"] else []
    notes += [f"{left_out} smaller servers left out"] if left_out > 0 else []
    bottom.set_xlabel("; ".join(["schemas of each server, and how many tools", *notes]))
    for axes in (top, bottom):
        axes.margins(x=0.15, y=0.01)
        axes.spines[["top", "right"]].set_visible(False)
    try:
        figure.savefig(path)
    except ValueError as error:  # no such format
        raise ToolsearchdError("BAD_ARGUMENTS", f"--plot {path}: {error}") from error
    except OSError as error:
        raise ToolsearchdError("BAD_ARGUMENTS", f"--plot {path}: {error.strerror or error}") from error


def _label(server: dict[str, Any], encoding: str) -> str:
    least = "≥ " if server.get("at_least") else ""
    return f"{least}{server['tokens'][encoding]:,} ({server['tool_count']:,})"


def _plain(text: str) -> str:
    """A server's name as it is: `$` would begin a formula."""
    return plain_line(text).replace("$", r"\$")
