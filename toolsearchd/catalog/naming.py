"""Names: what a model sees for a server's tool, and what a model may write to mean it.

The public name is a function of server and tool alone, so no server takes another's name by arriving, and the
function is injective: a name that was altered or cut, or that could be read as another pair's or as such a
name, carries a digest of the pair.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from hashlib import blake2b

from toolsearchd.globs import matches_glob

PUBLIC_CHARS = 64  # what providers accept as a function's name
DOOR_CHARS = 40  # clients put a prefix of their own before it, and some cap the whole at 64
DIGEST_CHARS = 10  # 40 bits
PREFIX = "mcp__"

_UNSAFE = re.compile(r"[^A-Za-z0-9_-]")
_UNSAFE_IN_MCP = re.compile(r"[^A-Za-z0-9_]")
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


def mcp_name(server: str, tool: str) -> str:
    """`mcp__<server>__<tool>`, every other character `_`, no length limit: two pairs may meet in one."""
    return f"{PREFIX}{_UNSAFE_IN_MCP.sub('_', server)}__{_UNSAFE_IN_MCP.sub('_', tool)}"


def keeps(tool: str, include: Sequence[str] | None, exclude: Sequence[str] = ()) -> bool:
    """Does a server's tool filter keep this tool? Exact names or case-sensitive globs on the tool's own name.

    `include`, even an empty one, beats `exclude`.
    """
    if include is not None:
        return any(matches_glob(tool, pattern) for pattern in include)
    return not any(matches_glob(tool, pattern) for pattern in exclude)


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
