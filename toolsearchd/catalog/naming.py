"""Names: what a model sees for a server's tool, and what a model may write to mean it.

The public name is a function of server and tool alone, so no server takes another's name by arriving, and the
function is injective: a name that was altered or cut, or that could be read as another pair's or as such a
name, carries a digest of the pair.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Literal, NamedTuple

from toolsearchd.globs import matches_glob

PUBLIC_CHARS = 64  # what providers accept as a function's name
DOOR_CHARS = 40  # clients put a prefix of their own before it, and some cap the whole at 64
DIGEST_CHARS = 10  # 40 bits
PREFIX = "mcp__"

_UNSAFE = re.compile(r"[^A-Za-z0-9_-]")
_UNSAFE_HERMES = re.compile(r"[^A-Za-z0-9_]")
_LOOKS_DIGESTED = re.compile(rf"_[0-9a-f]{{{DIGEST_CHARS}}}\Z")


def public_name(server: str, tool: str) -> str:
    """`mcp__<server>__<tool>` within `[A-Za-z0-9_-]` and 64 characters."""
    return _name(PREFIX, server, tool, PUBLIC_CHARS)


def door_name(server: str, tool: str) -> str:
    """`<server>__<tool>` within `[A-Za-z0-9_-]` and 40 characters: for a tool shown directly by the door."""
    return _name("", server, tool, DOOR_CHARS)


def _name(prefix: str, server: str, tool: str, longest: int) -> str:
    plain = f"{prefix}{server}__{tool}"
    safe = _UNSAFE.sub("_", plain)
    # The first `__` after the prefix ends the server, unless the server's own name could hold it.
    ambiguous = "__" in f"{server}_" or not server
    if safe == plain and len(plain) <= longest and not ambiguous and not _LOOKS_DIGESTED.search(plain):
        return sys.intern(plain)  # several tables hold it: one string object serves all
    digest = blake2b(f"{len(server)}:{server}{tool}".encode("utf-8", "surrogatepass"), digest_size=16)
    room = longest - DIGEST_CHARS - 1
    if len(safe) > room:
        head = room // 2
        safe = f"{safe[:head]}-{safe[len(safe) - (room - head - 1) :]}"
    return sys.intern(f"{safe}_{digest.hexdigest()[:DIGEST_CHARS]}")


def hermes_name(server: str, tool: str) -> str:
    """The reference's name: `mcp__<server>__<tool>`, every other character `_`, no length limit."""
    return f"{PREFIX}{_UNSAFE_HERMES.sub('_', server)}__{_UNSAFE_HERMES.sub('_', tool)}"


def hermes_v1_name(server: str, tool: str) -> str:
    """The reference's name until mid-2026: single underscores, so that two pairs may meet in one."""
    return f"mcp_{_UNSAFE_HERMES.sub('_', server)}_{_UNSAFE_HERMES.sub('_', tool)}"


CandidateKind = Literal["native", "utility", "plugin"]


class Candidate(NamedTuple):
    """A tool that wants a name in the reference's map."""

    server: str
    tool: str
    kind: CandidateKind = "native"
    wanted: str = ""  # where another name than `hermes_name` is wanted


class Registered(NamedTuple):
    name: str
    server: str
    tool: str
    kind: CandidateKind


class Registration(NamedTuple):
    registered: tuple[Registered, ...]
    skipped: dict[str, str]  # "kind:tool" → shadowed_by_native | name_collision | owned_elsewhere


def register_names(candidates: Iterable[Candidate], owned: Mapping[str, str] | None = None) -> Registration:
    """The reference's name map for candidates in their order. `owned`: a name taken already → its server.

    A generated utility yields to a native tool; raw names that meet after normalisation are all dropped; a
    name that another source holds stays there.
    """
    owned = owned or {}
    wanted: dict[str, list[Candidate]] = {}
    for candidate in candidates:
        name = candidate.wanted
        if not name:
            own = candidate.kind == "plugin"
            name = candidate.tool if own else hermes_name(candidate.server, candidate.tool)
        wanted.setdefault(name, []).append(candidate)
    registered: list[Registered] = []
    skipped: dict[str, str] = {}
    owners: dict[str, str] = dict(owned)
    for name, rivals in wanted.items():
        first = owners.get(name, rivals[0].server)
        for rival in rivals:
            if rival.server != first:
                skipped[f"{rival.kind}:{rival.tool}"] = "owned_elsewhere"
        rivals = [rival for rival in rivals if rival.server == first]
        natives = [rival for rival in rivals if rival.kind != "utility"]
        if natives:
            skipped.update((f"utility:{r.tool}", "shadowed_by_native") for r in rivals if r.kind == "utility")
            rivals = natives
        if len({rival.tool for rival in rivals}) > 1:
            skipped.update((f"{rival.kind}:{rival.tool}", "name_collision") for rival in rivals)
        elif rivals:
            registered.append(Registered(name, rivals[0].server, rivals[0].tool, rivals[0].kind))
    return Registration(tuple(registered), skipped)


def keeps(tool: str, include: Sequence[str] | None, exclude: Sequence[str] = ()) -> bool:
    """Does a server's tool filter keep this tool? Exact names or case-sensitive globs on the tool's own name.

    `include`, even an empty one, beats `exclude`.
    """
    if include is not None:
        return any(matches_glob(tool, pattern) for pattern in include)
    return not any(matches_glob(tool, pattern) for pattern in exclude)


def filter_tools(
    tools: Iterable[str], include: Sequence[str] | str | None, exclude: Sequence[str] | str = ()
) -> list[str]:
    """The tools that the filter keeps, in their order. One pattern may stand for a list of one."""
    include = (include,) if isinstance(include, str) else include
    exclude = (exclude,) if isinstance(exclude, str) else exclude
    return [tool for tool in tools if keeps(tool, include, exclude)]


def near_names(name: str, candidates: Iterable[str], n: int = 3) -> list[str]:
    """Up to `n` of the candidates that `name` may have meant, nearest first, equal ones by name.

    Judged by shared words and by spelling; the bare tool part of a candidate counts like the whole.
    """
    import difflib  # nothing else needs it: not at every start

    wanted = name.strip().lower()[: PUBLIC_CHARS * 2]
    wanted_words = _words(wanted)
    # Words first, since they cost little: spelling is judged for the 200 best of 100,000 names only.
    by_words = sorted(candidates, key=lambda candidate: (-_word_overlap(wanted_words, candidate), candidate))
    scored = []
    for candidate in by_words[:200]:
        low = candidate.lower()[-2 * PUBLIC_CHARS :]
        spelling = max(
            difflib.SequenceMatcher(None, wanted, form).ratio() for form in (low, low.rsplit("__", 1)[-1])
        )
        likeness = max(spelling, _word_overlap(wanted_words, candidate))
        if likeness >= 0.6:
            scored.append((-likeness, candidate))
    return [candidate for _, candidate in sorted(scored)[:n]]


def _words(name: str) -> frozenset[str]:
    return frozenset(re.split(r"[^a-z0-9]+", name.removeprefix(PREFIX))) - {""}


def _word_overlap(wanted: frozenset[str], candidate: str) -> float:
    words = _words(candidate.lower())
    return len(wanted & words) / len(wanted | words) if wanted and words else 0.0
