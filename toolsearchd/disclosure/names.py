"""The names of one view: what its tools are called, what a name that came means, which are near it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property

from toolsearchd.catalog.grant import Grant
from toolsearchd.catalog.model import Tool
from toolsearchd.catalog.naming import near_names
from toolsearchd.catalog.snapshot import Snapshot
from toolsearchd.index.ranking import DEFAULT
from toolsearchd.index.searcher import Searcher

NameOf = Callable[[Tool], str]
Keepers = Callable[[Iterable[tuple[str, Tool]]], Mapping[str, Tool]]

LONGEST_NAME = 256  # of a name that came, as far as near ones are looked for
_NEAR_CANDIDATES = 12  # spelling is compared for so many: half a millisecond
_SCANNED = 100  # of a catalog up to this size all names are compared, if search finds none
_WORDS = re.compile(r"[^\W_]+")


class Names:
    """`mask`: doc ids of the granted tools that have a name.

    Under a dialect with names of its own two tools can meet in one; the reference's rule says who keeps it,
    and a tool without a name does not exist there.
    """

    def __init__(self, snapshot: Snapshot, grant: Grant, name_of: NameOf, keepers: Keepers | None) -> None:
        """`keepers`: names are exact, and this says whose one is that two tools meet in."""
        self._snapshot = snapshot
        self.name_of = name_of
        self._keepers = keepers
        self.mask = grant.mask(snapshot)
        self._docs = {} if keepers is None else self._registered(keepers)

    def exact(self, name: str) -> int | None:
        """The doc id of the tool that is shown under this name, or whose public name it is."""
        doc = self._docs.get(name)
        return self._snapshot.exact(name, self.mask) if doc is None else doc

    def resolve(self, name: str) -> int | None:
        """The doc id that a person or a model means; in an exact dialect, the exact name only."""
        if self._keepers is not None:
            return self._docs.get(name)
        return self._snapshot.resolve(name, self.mask)

    def fitting(self, name: str) -> list[int]:
        """The doc ids that a name may mean where it is not exactly one tool's."""
        return self._snapshot.meant(name, self.mask)

    def near(self, name: str, n: int = 3) -> list[str]:
        """Up to `n` names shown here that `name` may have meant.

        Its words are searched for, and spelling decides among what that finds: comparing the spelling of all
        names of a large catalog would take tens of milliseconds.
        """
        name = name[:LONGEST_NAME]
        docs, tools = self._found_by_words(name, _NEAR_CANDIDATES), self._snapshot.tools
        candidates = [self.name_of(tool) for doc in docs if (tool := tools[doc]) is not None]
        if not candidates and len(self.mask) <= _SCANNED:
            candidates = [self.name_of(tool) for tool in self._snapshot.iter_tools(self.mask)]
        return near_names(name, candidates, n)

    def _found_by_words(self, name: str, most: int) -> list[int]:
        words = " ".join(_WORDS.findall(name.removeprefix("mcp_")))
        found = self._searcher.search(words, most)
        return [hit.doc for hit in (*found.matches, *found.near)]

    @cached_property
    def _searcher(self) -> Searcher:
        # Only the default ranker forgives spelling; its index is always there.
        return self._snapshot.searcher(DEFAULT, self.mask)

    def _registered(self, keepers: Keepers) -> dict[str, int]:
        """name → doc id, and the mask without those that have none."""
        by_public, tools = self._snapshot.by_public, list(self._snapshot.iter_tools(self.mask))
        docs = {self.name_of(tool): by_public[tool.public_name] for tool in tools}
        if len(docs) == len(tools):
            return docs
        kept = keepers((self.name_of(tool), tool) for tool in tools)
        docs = {name: by_public[tool.public_name] for name, tool in kept.items()}
        for doc in {by_public[tool.public_name] for tool in tools} - set(docs.values()):
            self.mask.discard(doc)
        return docs
