"""What a terminal shows: aligned tables, colour only where it is wanted, no escape sequence of a server's."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import msgspec

from toolsearchd.disclosure.sanitise import clean_shown, plain_line, visible
from toolsearchd.records import WireRecord

_COLOURS = {
    "ready": "32",
    "ok": "32",
    "starting": "33",
    "failed": "31",
    "parked": "31",
    "error": "31",
    "warning": "33",
}


def print_json(document: Any) -> None:
    """One document, laid out where a person sees it. On a terminal only ASCII, and elsewhere nothing that
    hides either: what reads it may show it on one."""
    if sys.stdout.isatty():
        print(json.dumps(_plain(document), indent=2))
    else:
        print(visible(json.dumps(_plain(document), ensure_ascii=False)))


def print_json_line(document: Any) -> None:
    """One of a stream of documents: always one line, and out at once."""
    print(visible(json.dumps(_plain(document), ensure_ascii=sys.stdout.isatty())), flush=True)


def _plain(document: Any) -> Any:
    """Without a struct in it."""
    return document.as_map() if isinstance(document, WireRecord) else msgspec.to_builtins(document)


def complain(text: str) -> None:
    """To stderr, made safe, with the program's name before it."""
    print(f"toolsearchctl: {clean_shown(text)}", file=sys.stderr)


def coloured(text: str, kind: str | None = None) -> str:
    """In the colour of a state's name, on a terminal that wants colours."""
    code = _COLOURS.get(kind or text)
    if code is None or not sys.stdout.isatty() or "NO_COLOR" in os.environ:
        return text
    return f"\x1b[{code}m{text}\x1b[0m"


def say(text: str = "") -> None:
    """Text of our own, or of a server's, made safe."""
    print(clean_shown(text))


def table(head: Sequence[str], rows: Iterable[Sequence[object]], *, right: Collection[int] = ()) -> None:
    """Columns as wide as their longest cell, those in `right` with their cells at the right; the last one
    is not padded, unless it is one of these."""
    cells = [[plain_line(str(cell)) if cell is not None else "" for cell in row] for row in rows]
    widths = [max(len(row[at]) for row in [list(head), *cells]) for at in range(len(head))]
    for number, row in enumerate([list(head), *cells]):
        padded = [
            cell.rjust(width) if at in right else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        if number:
            padded = [cell.replace(raw, coloured(raw), 1) for cell, raw in zip(padded, row, strict=True)]
        print("  ".join(padded).rstrip())


def duration(seconds: float) -> str:
    minutes, seconds = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    return (
        next(
            f"{a}{x} {b}{y}"
            for a, x, b, y in (
                (days, "d", hours, "h"),
                (hours, "h", minutes, "m"),
                (minutes, "m", seconds, "s"),
            )
            if a
        )
        if minutes or hours or days
        else f"{seconds}s"
    )


def megabytes(count: int) -> str:
    return f"{count / 1e6:.0f} MB"
