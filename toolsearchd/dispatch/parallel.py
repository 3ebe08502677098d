"""Which calls may run beside each other? Pure; in the order in which they were asked for.

A call runs beside others where its server says that it takes several at once, or where the tool only reads
and its server is trusted to say so. Of two calls whose paths overlap, one of which may write, the later waits
for the earlier. Everything else is a barrier: it runs alone, after all before it and before all after it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

_PATH_KEYS = frozenset(
    "path paths file files filename filepath dir directory folder uri "
    "source destination src dst root cwd".split()
)
_PATH_ENDS = ("_path", "_paths", "_file", "_files", "_dir", "_directory", "_uri")
_LISTED = 64  # paths of one call that are compared; of more, it counts as touching everything

Path = tuple[str, ...]


class Footprint(NamedTuple):
    """What a call touches, as far as can be told before it runs."""

    shared: bool  # it may run beside others at all
    writes: bool = True
    paths: tuple[Path, ...] = ()  # folded; the empty one contains every other

    def clashes_with(self, other: Footprint) -> bool:
        if not (self.shared and other.shared):
            return True
        if not (self.writes or other.writes):
            return False
        return any(_overlap(one, two) for one in self.paths for two in other.paths)


BARRIER = Footprint(shared=False)
READ = Footprint(shared=True, writes=False)


def footprint(
    arguments: Mapping[str, Any], *, read_only: bool | None, trusted: bool, server_is_parallel: bool
) -> Footprint:
    """`read_only`: what the tool says of itself, which counts where its server is `trusted`."""
    only_reads = read_only is True and trusted
    if not (only_reads or server_is_parallel):
        return BARRIER
    return Footprint(shared=True, writes=not only_reads, paths=_paths_in(arguments))


def may_join(call: Footprint, running: Iterable[Footprint]) -> bool:
    """May it start while `running` run?"""
    return not any(call.clashes_with(other) for other in running)


def _paths_in(arguments: Mapping[str, Any]) -> tuple[Path, ...]:
    found: set[Path] = set()
    for key, value in arguments.items():
        if key.lower() in _PATH_KEYS or key.lower().endswith(_PATH_ENDS):
            values = value if isinstance(value, list) else [value]
            found |= {_folded(text) for text in values if isinstance(text, str)}
    return tuple(found) if len(found) <= _LISTED else ((),)


def _folded(text: str) -> Path:
    """Where it is rooted, `/` or nowhere, and its parts, without `.` and with `..` taken back."""
    text = text.strip().replace("\\", "/").removeprefix("file://")
    if not text.startswith("/"):
        return ("", *_parts(text)) if text else ()
    return ("/", *_parts(text))


def _parts(text: str) -> list[str]:
    parts: list[str] = []
    for part in text.split("/"):
        if part == "..":
            del parts[-1:]
        elif part not in ("", "."):
            parts.append(part)
    return parts


def _overlap(one: Path, two: Path) -> bool:
    """Is one of them the other, or a folder above it? Of a relative and an absolute one nobody knows: yes."""
    if one and two and one[0] != two[0]:
        return True
    shorter = min(len(one), len(two))
    return one[:shorter] == two[:shorter]
