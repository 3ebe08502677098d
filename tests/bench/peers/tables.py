"""The figures as Markdown tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tests.bench.peers.registry import OURS

QUALITY = {
    "hit@1": "hit@1",
    "hit@5": "hit@5",
    "hit@10": "hit@10",
    "real": "Real",
    "keyword": "keyword",
    "paraphrase": "paraphrase",
    "agent": "agent",
    "hit@5_matches": "in matches",
    "recall@5": "recall@5",
    "mrr@10": "mrr@10",
    "ndcg@10": "ndcg@10",
    "empty": "empty",
    "false_any": "false any",
    "false_match": "false match",
}


def quality_table(rows: dict[str, dict[str, Any]], absent: dict[str, str]) -> str:
    lines = [(name, *(_share(row[figure]) for figure in QUALITY)) for name, row in rows.items()]
    return _table(("peer", *QUALITY.values()), lines, absent)


def sets_table(rows: dict[str, dict[str, Any]], absent: dict[str, str]) -> str:
    sets = list(dict.fromkeys(name for row in rows.values() for name in row["sets"]))
    lines = [(name, *(_share(row["sets"].get(one)) for one in sets)) for name, row in rows.items()]
    return _table(("hit@5", *sets), lines, absent)


def speed_table(rows: Sequence[dict[str, Any]], absent: dict[str, str]) -> str:
    """Rows of one size. The ratio is that of the p50 to ours."""
    ours = next((row["p50_us"] for row in rows if row["peer"] == OURS), None)
    lines = []
    failed = {}
    for row in rows:
        if "failed" in row:
            failed[row["peer"]] = row["failed"]
            continue
        ratio = f"{row['p50_us'] / ours:.2f}" if ours and row["p50_us"] else "-"
        lines.append(
            (
                row["peer"],
                f"{row['build_s']:.2f}",
                _number(row["first_us"]),
                _number(row["p50_us"]),
                _number(row["p99_us"]),
                ratio,
                str(row["queries"]),
            )
        )
    head = ("peer", "build s", "first us", "p50 us", "p99 us", "p50 to ours", "queries")
    return _table(head, lines, failed | absent)


def _table(head: Sequence[str], lines: Iterable[Sequence[str]], absent: dict[str, str]) -> str:
    rows = [head, ["---"] * len(head), *lines]
    rows += [[name, why, *[""] * (len(head) - 2)] for name, why in absent.items()]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}"
