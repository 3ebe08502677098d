"""Which tools are hard to find: asked for by its own name and server, a tool is not on the first page."""

from __future__ import annotations

import msgspec

from toolsearchd.index.analyzer import DESCRIPTION, FIELDS, NAME, SERVER
from toolsearchd.index.document import Document
from toolsearchd.index.ranker import DefaultSearcher

PAGE = 5
_WORDS = 3


class HardToFind(msgspec.Struct, frozen=True):
    """One tool, what comes before it, and what would help."""

    key: str
    query: str  # its server and its own name
    before: tuple[int, ...]  # doc ids offered instead
    rare_words: tuple[
        str, ...
    ]  # stems it alone nearly carries, hidden in parameters: better in its description
    plain: bool  # its name and description hold no word that is rarer than a page of tools


def hard_to_find(searcher: DefaultSearcher, document: Document, doc: int) -> HardToFind | None:
    """None where the tool is found. One search and one analysis: call it in slices over a large catalog."""
    query = f"{document.server} {document.name}"
    group = searcher.search(query, PAGE)
    shown = tuple(hit.doc for hit in (*group.matches, *group.near))
    if doc in shown:
        return None
    own: dict[str, int] = {}
    hidden: dict[str, int] = {}
    for term, row in searcher.analyzer.analyse(document).rows(searcher.analyzer.frequencies_type):
        df = searcher.scope.document_frequency(term)
        in_sight = any(row[field] for field in (NAME, SERVER, DESCRIPTION, FIELDS.index("aliases")))
        (own if in_sight else hidden)[term] = df
    rare = sorted((df, term) for term, df in hidden.items() if df <= PAGE)
    return HardToFind(
        key=document.key,
        query=query,
        before=shown,
        rare_words=tuple(term for _, term in rare[:_WORDS]),
        plain=all(df > PAGE for df in own.values()),
    )
