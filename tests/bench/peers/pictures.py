"""Two pictures of the figures: how good against how often wrong, and the time of a search by size."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.bench.peers.registry import OURS


def draw(rows: dict[str, dict[str, Any]], times: Sequence[dict[str, Any]], folder: Path) -> list[Path]:
    """The files written. Raises ImportError without matplotlib."""
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    drawn = []
    if rows:
        figure, axes = plt.subplots(figsize=(8, 4.5))
        for place, key in enumerate(("hit@1", "hit@5", "false_any")):
            heights = [row[key] or 0.0 for row in rows.values()]
            places = [at + place * 0.27 for at in range(len(rows))]
            axes.bar(places, heights, 0.25, label=key.replace("_", " "))
        axes.set_xticks([at + 0.27 for at in range(len(rows))], list(rows), rotation=25, ha="right")
        axes.set_ylim(0, 1)
        axes.set_ylabel("share of queries (mean over set and kind)")
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
        drawn.append(_saved(figure, folder / "quality.svg"))
    if times:
        figure, axes = plt.subplots(figsize=(8, 4.5))
        for name in dict.fromkeys(row["peer"] for row in times):
            points = [(row["tools"], row["p50_us"]) for row in times if row["peer"] == name and row["p50_us"]]
            if points:
                axes.loglog(*zip(*points, strict=True), "o-", label=name, linewidth=3 if name == OURS else 1)
        axes.set_xlabel("tools")
        axes.set_ylabel("p50 of a search, microseconds")
        axes.grid(visible=True, which="both", alpha=0.3)
        axes.legend(fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5))
        drawn.append(_saved(figure, folder / "speed.svg"))
    return drawn


def _saved(figure: Any, path: Path) -> Path:
    figure.tight_layout()
    figure.savefig(path)
    return path
