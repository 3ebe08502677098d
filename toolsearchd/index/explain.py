"""Every number behind an answer of the default ranker, and the one reason why a tool was not offered.

A reason is a cause that can be taken away: add the word, drop the blocker, and the tool appears.
"""

from __future__ import annotations

import math
from typing import Any, Literal

import msgspec
import numpy as np

from toolsearchd.index.concepts import Alternative, Concept
from toolsearchd.index.fields import NAMES
from toolsearchd.index.query import QueryPlan
from toolsearchd.index.ranker import DefaultSearcher
from toolsearchd.index.scope import Scores
from toolsearchd.index.semantics import ADMISSION, Judgement

Cause = Literal[
    "offered",  # it is among the first five, or in the list that was asked for
    "no_words",  # the query holds no word
    "absent_product",  # the query names a product that no granted tool carries
    "no_shared_word",  # the tool carries no word of the query, nor one that stands for it
    "outranked",  # it carries words of the query, others carry more
    "unlikely",  # the best candidate is too unlikely a right one: nothing is offered
]


class Verdict(msgspec.Struct, frozen=True):
    """Why one tool is where it is."""

    cause: Cause
    text: str
    rank: int | None = None  # 1-based, in matches then near, however long; None: it has no score
    words: tuple[str, ...] = ()  # query words that it lacks; the product that blocks
    key: str = ""


def explain(
    searcher: DefaultSearcher, query: str, limit: int, doc: int | None = None, key: str = ""
) -> dict[str, Any]:
    """The answer's anatomy. `doc`, with its public name in `key`: a tool to give a verdict on."""
    group = searcher.search(query, limit)
    plan = searcher.reader.read(query)
    scores = searcher.scores(plan)
    gate = plan.gate
    judged = None if searcher.second is None else searcher.second.judge(plan, scores, query)
    shown = [*group.matches, *group.near]
    positions = [int(searcher.scope.position_of[hit.doc]) for hit in shown]
    if doc is not None:
        asked = int(searcher.scope.position_of[doc])
        if asked >= 0 and asked not in positions:
            positions.append(asked)
    if judged is not None and not shown:
        positions += [at for at in judged.positions[:limit].tolist() if at not in positions]
    best = searcher.matches(plan, scores, 1, [])
    leader = None if gate is None else _leader(scores, gate[1])
    return {
        "query": query,
        "terms": [
            _term(word, concept, plan) for word, concept in zip(plan.words, plan.concepts, strict=True)
        ],
        "gate": None if gate is None else {"word": gate[0], "df": gate[1].df, "idf": gate[1].idf},
        "coverage": {
            "needed": searcher.tuning.coverage,
            "best": 0.0 if leader is None else searcher.coverage(plan, leader),
            "enough": bool(best),
        },
        "relative": searcher.tuning.relative,
        "absent_product": group.absent_product,
        "unknown": list(plan.unknown),
        "values": sorted(plan.values),
        "second_stage": None if judged is None else msgspec.to_builtins(judged.model),
        "candidates": [
            _candidate(searcher, plan, scores, position) | _judged(judged, position) for position in positions
        ],
        "matches": [hit.doc for hit in group.matches],
        "near": [hit.doc for hit in group.near],
        "verdict": None if doc is None else msgspec.to_builtins(verdict(searcher, query, doc, limit, key)),
    }


def verdict(searcher: DefaultSearcher, query: str, doc: int, limit: int, key: str = "") -> Verdict:
    """Why the tool is or is not among the first `limit` of matches, then near."""
    scope = searcher.scope
    position = int(scope.position_of[doc])
    assert position >= 0, "not a tool of this scope"
    everything = searcher.search(query, scope.size)
    listed = [hit.doc for hit in (*everything.matches, *everything.near)]
    rank = listed.index(doc) + 1 if doc in listed else None
    shown = searcher.search(query, limit)
    if doc in [hit.doc for hit in (*shown.matches, *shown.near)]:
        return Verdict("offered", f"It is offered, at place {rank}.", rank, (), key)
    if everything.absent_product is not None and not listed:
        product = everything.absent_product
        text = f"The query names {product}, and no granted tool carries that name: nothing is offered."
        return Verdict("absent_product", text, None, (product,), key)
    plan = searcher.reader.read(query)
    if not plan.concepts:
        return Verdict("no_words", "The query holds no word to search for.", None, (), key)
    if searcher.second is not None and not listed:
        text = "Even the best candidate is unlikely to be right: nothing is offered."
        return Verdict("unlikely", text, None, tuple(plan.words), key)
    lacking = tuple(
        word for word, concept in zip(plan.words, plan.concepts, strict=True) if not concept.carries(position)
    )
    if rank is None:
        text = f"It carries none of the query's words: {', '.join(lacking)}."
        return Verdict("no_shared_word", text, None, lacking, key)
    text = f"It is at place {rank}: tools above it fit the query better"
    text += f"; it lacks {', '.join(lacking)}." if lacking else ", or say it in their names."
    return Verdict("outranked", text, rank, lacking, key)


def _judged(judged: Judgement | None, position: int) -> dict[str, Any]:
    """What the second stage says of a tool; nothing where it was no candidate."""
    if judged is None or position not in judged.positions:
        return {}
    at = int(np.flatnonzero(judged.positions == position)[0])
    ways = {
        "words": judged.found.by_score,
        "vector": judged.found.by_vector,
        "sentence model": judged.found.by_meaning,
    }
    return {
        "came_by": [way for way, positions in ways.items() if position in positions],
        "features": dict(zip(ADMISSION, judged.features[:, at].tolist(), strict=True)),
        "total": float(judged.totals[at]),
        "p": float(judged.p[at]),
    }


def _leader(scores: Scores, gate: Concept) -> int:
    carriers = np.sort(gate.carriers())
    return int(carriers[np.argmax(scores[carriers])])


def _term(word: str, concept: Concept, plan: QueryPlan) -> dict[str, Any]:
    return {
        "word": word,
        "known": word not in plan.unknown,
        "read_as": plan.typos.get(word),
        "df": concept.df,
        "idf": concept.idf,
        "stems": [
            {
                "stem": " ".join(alternative.stems),
                "df": alternative.df,
                "idf": alternative.idf,
                "weight": alternative.weight,
            }
            for alternative in concept.alternatives
        ],
    }


def _candidate(searcher: DefaultSearcher, plan: QueryPlan, scores: Scores, position: int) -> dict[str, Any]:
    """One tool's score, taken apart: per word its best alternative, and that one's share by field."""
    words = []
    for word, concept in zip(plan.words, plan.concepts, strict=True):
        if not concept.carries(position):
            continue
        score = concept.score_at(position)
        via = next(
            alternative
            for alternative in concept.alternatives
            if math.isclose(_score_of(searcher, alternative, position), score, rel_tol=1e-5)
        )
        fields: dict[str, float] = {}
        for stem in via.stems:
            for field, value in zip(NAMES, searcher.concepts.field_scores(stem, position), strict=True):
                if value:
                    fields[field] = fields.get(field, 0.0) + value
        words.append({"word": word, "via": " ".join(via.stems), "score": score, "fields": fields})
    return {
        "doc": int(searcher.scope.docs[position]),
        "score": float(scores[position]),
        "coverage": searcher.coverage(plan, position),
        "words": words,
    }


def _score_of(searcher: DefaultSearcher, alternative: Alternative, position: int) -> float:
    """What one alternative gives a document; -1.0 where the document does not hold it."""
    impact = searcher.concepts.term(alternative.stems)
    at = np.flatnonzero(impact.positions == position)
    return float(alternative.weight * alternative.idf * impact.saturated[at[0]]) if len(at) else -1.0
