"""What a look at the whole catalog tells: tools that no search finds, and those that hardly any does.

Done in slices, beside other work.
"""

from __future__ import annotations

import re

import msgspec

from toolsearchd.catalog.compile import document_of
from toolsearchd.catalog.model import Source, Tool
from toolsearchd.catalog.snapshot import Snapshot
from toolsearchd.index.findability import Finder, HardToFind
from toolsearchd.index.lexicon import Lexicon
from toolsearchd.index.ranker import DefaultSearcher
from toolsearchd.index.ranking import DEFAULT
from toolsearchd.limits import Limits
from toolsearchd.records import Finding
from toolsearchd.system.pacing import Slices

_SHOWN_BEFORE = 3
_GLOB_CHARS = re.compile(r"([*?[])")


async def findability(snapshot: Snapshot, lexicon: Lexicon, limits: Limits) -> list[Finding]:
    """A finding per tool that is not indexed or hard to find, and one for what was not looked at.

    Nothing is kept.
    """
    searcher = snapshot.searcher(DEFAULT, snapshot.live, lexicon)
    assert isinstance(searcher, DefaultSearcher)
    finder, slices = Finder(searcher, lexicon), Slices(limits.compile_slice_s)
    sources = {source.name: source for source in snapshot.sources}
    crowded: list[tuple[int, Tool]] = []
    for doc, tool in enumerate(snapshot.tools):
        if tool is not None and finder.is_crowded(tool.server, tool.name):
            crowded.append((doc, tool))
        await slices.breathe()
    found = _not_indexed(snapshot)
    for doc, tool in crowded[: limits.doctor_searches]:
        source = sources[tool.server]
        hard = finder.hard_to_find(document_of(source, tool.definition, limits.analysed_bytes), doc)
        if hard is not None:
            found.append(_finding(snapshot, source, tool, hard))
        await slices.breathe()
    if len(crowded) > limits.doctor_searches:
        found.append(_rest(len(crowded) - limits.doctor_searches))
    return found


def _not_indexed(snapshot: Snapshot) -> list[Finding]:
    index = snapshot.indexes.get("default")
    missing = snapshot.live - index.live if index is not None else ()
    return [
        Finding(
            level="error",
            about=f"{tool.server}/{tool.name}",
            message="no search finds it: its definition could not be read into the index",
            mend="it can be called by its name; the daemon's log says what failed: please report it",
            kind="not-indexed",
        )
        for doc in missing
        if (tool := snapshot.tools[doc]) is not None
    ]


def _finding(snapshot: Snapshot, source: Source, tool: Tool, hard: HardToFind) -> Finding:
    before = [other.public_name for doc in hard.before if (other := snapshot.tools[doc]) is not None]
    place = f"{source.name}/{tool.name}"
    aliases = {_GLOB_CHARS.sub(r"[\1]", place): hard.words or ["a word of yours"]}
    return Finding(
        kind="hard-to-find",
        level="info",
        about=place,
        message="hard to find: its name and description hold no word of its own, and a search for its "
        f"name shows {', '.join(before[:_SHOWN_BEFORE])} and others first",
        mend="its author may describe what sets it apart; until then give it words to be found by: "
        f"tools.tool_search.aliases: {msgspec.json.encode(aliases).decode()}",
        query=hard.query,
        before=before,
        words=list(hard.words),
    )


def _rest(count: int) -> Finding:
    return Finding(
        kind="hard-to-find",
        level="info",
        about="catalog",
        message=f"{count} more tools share all words of their names with others and were not looked at",
        mend="raise limits.doctor_searches",
    )
