"""A query's answer: what a ranker returns, and which ranker answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import msgspec
import numpy as np
import numpy.typing as npt
from pyroaring import BitMap

from toolsearchd.index.lexicon import Lexicon
from toolsearchd.index.postings import Index
from toolsearchd.index.scope import Scope


class Hit(NamedTuple):
    doc: int
    score: float  # `math.inf`: named exactly


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """One query's answer. `matches` may be acted on; who sees only `near` knows that it is guessing."""

    matches: list[Hit] = []
    near: list[Hit] = []  # matches and near together are at most `limit`
    unknown: list[str] = []  # query words that no tool of the scope carries, as they were typed
    absent_product: str | None = None  # a product the query names and no tool carries: nothing is offered
    diagnostics: dict[str, Any] = {}  # the gate and its numbers, for explain and tests


class Searcher(Protocol):
    """Answers queries within one scope. Synchronous; safe to share between sessions of the same grant."""

    scope: Scope

    def search(self, query: str, limit: int) -> Group: ...

    def prepare(self) -> Iterator[None]:
        """Makes ahead, in steps of about 2 ms, what the first searches would have to make."""
        ...


def make_searcher(
    ranker: str,
    index: Index,
    mask: BitMap,
    *,
    order: npt.NDArray[np.integer] | Sequence[int],
    analyzer: Any = None,
    lexicon: Lexicon | None = None,
    id_of: Callable[[int], str] = str,
) -> Searcher:
    """The searcher of a ranker over an index made by its analyzer.

    `order`: live doc ids in the order of equal scores, by public name for `default`, catalog order for the
    reference's; `openclaw` orders by `id_of` a doc id. `analyzer`: the one that made a `default` index, where
    it is not the plain English one. `lexicon`: the user's own word lists.
    """
    from toolsearchd.dialects.hermes.ranker import HermesSearcher, HermesV1Searcher
    from toolsearchd.dialects.openclaw.ranker import OpenclawSearcher
    from toolsearchd.index.ranker import DefaultSearcher

    scope = Scope(index, mask, order)
    if ranker == "default":
        return DefaultSearcher(scope, analyzer=analyzer, lexicon=lexicon)
    if ranker == "openclaw":
        return OpenclawSearcher(scope, id_of)
    reference: dict[str, type[HermesSearcher]] = {"hermes": HermesSearcher, "hermes-v1": HermesV1Searcher}
    return reference[ranker](scope)
