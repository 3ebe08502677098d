"""What one session has searched for: which queries come again, and how often nothing was found.

Pure; owned by the session. A model that rewords a hopeless query, or sends the same one again and again, is
told so. All of it is forgotten when what the session sees changes; the count of failures ends at a call.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from hashlib import blake2b
from typing import Any

from toolsearchd.nfkc import nfkc


class SearchHistory:
    """`fruitless`: from this many failed searches without a call between, the thing counts as not present.
    `remembered`: so many queries are known again; of more, the ones asked longest ago are forgotten."""

    def __init__(self, *, fruitless: int, remembered: int) -> None:
        self._fruitless = fruitless
        self._remembered = remembered
        self._seen: Hashable = None
        self._times: dict[bytes, int] = {}  # digest of (query, answer) → how often; newest last
        self._failed = 0
        self.without_call = 0  # searches since the last call

    def enter(self, seen: Hashable) -> None:
        """Before each search. `seen`: all that an answer depends on, such as generation and grant."""
        if seen != self._seen:
            self._seen = seen
            self._times.clear()
            self._failed = 0

    @property
    def is_hopeless(self) -> bool:
        """Would one more failed search be one too many?"""
        return self._failed + 1 >= self._fruitless

    def note_search(self, groups: Sequence[dict[str, Any]]) -> list[int]:
        """Counts a search; `groups` as they are in its reply, `{query, matches, near}`.

        Returns, for each group, which time it is that this query gets this answer, 1 for the first. White
        space, case and the form of characters make no other query; a larger limit that shows more tools does.
        """
        self.without_call += 1
        self._failed += any(not group["matches"] for group in groups)
        return [self._count(_digest(group)) for group in groups]

    def note_call(self) -> None:
        """The session went on to call something, whatever comes of it."""
        self._failed = 0
        self.without_call = 0

    def _count(self, digest: bytes) -> int:
        times = self._times.pop(digest, 0) + 1
        self._times[digest] = times
        while len(self._times) > self._remembered:
            del self._times[next(iter(self._times))]
        return times


def _digest(group: dict[str, Any]) -> bytes:
    query = " ".join(nfkc(group["query"]).casefold().split())
    parts = (query, "", *group["matches"], "", *group.get("near", ()))
    return blake2b("\n".join(parts).encode("utf-8", "surrogatepass"), digest_size=16).digest()
