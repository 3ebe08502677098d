"""A way to read tools and rank them: an analyzer that makes the index, a searcher that answers from it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt
from pyroaring import BitMap

from toolsearchd.index.analyzer import DefaultAnalyzer
from toolsearchd.index.lexicon import Lexicon
from toolsearchd.index.postings import Index
from toolsearchd.index.scope import Scope
from toolsearchd.index.searcher import Searcher
from toolsearchd.index.sentences import SentenceStore, SentenceVectors


class Means(NamedTuple):
    """What a searcher may be made of, beside its scope."""

    analyzer: Any = None  # the one that made the index, where it is not the plain one
    lexicon: Lexicon | None = None  # the user's own word lists
    tool_of: Callable[[int], Any] = str  # a doc id's tool, where its names decide between equal scores
    sentences: SentenceStore | None = None  # vectors of the sentence model
    digests: Sequence[str] = ()  # by doc id: whose vectors those are


class Ranking(msgspec.Struct, frozen=True, kw_only=True):
    name: str  # of its analyzer, and of the index that it makes
    analyzer: type[Any]
    searcher: Callable[[Scope, Means], Searcher]
    by_name: bool = False  # equal scores stand by public name; else in catalog order

    def over(
        self,
        index: Index | None,
        mask: BitMap,
        *,
        order: npt.NDArray[np.integer] | Sequence[int],
        analyzer: Any = None,
        lexicon: Lexicon | None = None,
        tool_of: Callable[[int], Any] = str,
        sentences: SentenceStore | None = None,
        digests: Sequence[str] = (),
    ) -> Searcher:
        """The searcher of an index that its analyzer made; None: nothing was compiled, nothing is found.

        `order`: live doc ids in the order of equal scores.
        """
        if index is None:
            index, mask = Index.empty(self.analyzer.fields, "", self.analyzer.frequencies_type), BitMap()
        scope = Scope(index, mask, order if len(index) else ())
        return self.searcher(scope, Means(analyzer, lexicon, tool_of, sentences, digests))


def _default_searcher(scope: Scope, means: Means) -> Searcher:
    from toolsearchd.index.ranker import DefaultSearcher  # large: not at every start

    store = means.sentences
    sentences = None if store is None else SentenceVectors(scope, store, means.digests)
    return DefaultSearcher(scope, analyzer=means.analyzer, lexicon=means.lexicon, sentences=sentences)


DEFAULT = Ranking(name="default", analyzer=DefaultAnalyzer, searcher=_default_searcher, by_name=True)
