"""Learns the word table: rows of stems whose sums point where the model's vectors of whole texts point.

Adam on the cosine between a text's summed rows and the model's vector (reduced to the table's dimensions),
some words left out at random; a tool's name is to find its own first sentence among those of a batch. One
thread, fixed seeds: the same inputs give the same bytes on one machine.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tests.bench.tables.sources import Text

Floats = npt.NDArray[np.float32]

DIMENSIONS = 128
MOST_STEMS = 24_000
LEAST_TEXTS = 2  # that a stem occurs in
BATCH = 512
EPOCHS = 14
RATE = 0.02
LEFT_OUT = 0.2
PAIRED = 0.25  # what the contrastive term counts
TEMPERATURE = 0.08


class Learnt(NamedTuple):
    stems: list[str]
    rows: Floats


def learn(
    texts: Sequence[Text],
    targets: Floats,
    stems_of: Any,
    *,
    dimensions: int = DIMENSIONS,
    epochs: int = EPOCHS,
) -> Learnt:
    """`targets`: the model's vectors, a row a text. `stems_of(text)`: its stems, stop words left out."""
    stemmed = [stems_of(text.text) for text in texts]
    counts = Counter(stem for stems in stemmed for stem in set(stems))
    words = {stems[0] for text, stems in zip(texts, stemmed, strict=True) if text.kind == "word" and stems}
    vocabulary = sorted(
        (stem for stem, count in counts.items() if count >= LEAST_TEXTS or stem in words),
        key=lambda stem: (-counts[stem], stem),
    )[:MOST_STEMS]
    places = {stem: at for at, stem in enumerate(vocabulary)}
    projection = _projection(targets, dimensions)
    wanted = _unit(targets @ projection)
    bags = [np.array([places[stem] for stem in stems if stem in places], np.int64) for stems in stemmed]
    kept = [at for at, bag in enumerate(bags) if len(bag)]
    names = _names(texts, stems_of, places)
    rows = _start(bags, wanted, counts, vocabulary)
    return Learnt(vocabulary, _descend(rows, bags, kept, wanted, names, epochs))


def _projection(targets: Floats, dimensions: int) -> Floats:
    """The directions in which the model's vectors lie most, the strongest first."""
    moment = targets.T.astype(np.float64) @ targets.astype(np.float64)
    _, vectors = np.linalg.eigh(moment)
    return vectors[:, ::-1][:, :dimensions].astype(np.float32)


def _names(texts: Sequence[Text], stems_of: Any, places: dict[str, int]) -> dict[int, npt.NDArray[np.int64]]:
    """Sentence's place among the texts → the bag of its tool's name."""
    found = {}
    for at, text in enumerate(texts):
        if text.kind == "sentence":
            name = texts[at - 1].text.partition(". ")[0]
            bag = [places[stem] for stem in stems_of(name) if stem in places]
            if bag:
                found[at] = np.array(bag, np.int64)
    return found


def _start(
    bags: Sequence[npt.NDArray[np.int64]], wanted: Floats, counts: Counter[str], vocabulary: Sequence[str]
) -> Floats:
    """Each stem begins as the mean of its texts' vectors, weighed down the commoner it is."""
    rows = np.zeros((len(vocabulary), wanted.shape[1]), np.float32)
    for at, bag in enumerate(bags):
        if len(bag):
            np.add.at(rows, bag, wanted[at] / len(bag))
    frequency = np.array([counts[stem] for stem in vocabulary], np.float32)
    rarity = np.log(1 + len(bags) / frequency) / np.log(1 + len(bags))
    return _unit(rows) * rarity[:, None]


def _descend(
    rows: Floats,
    bags: Sequence[npt.NDArray[np.int64]],
    kept: Sequence[int],
    wanted: Floats,
    names: dict[int, npt.NDArray[np.int64]],
    epochs: int,
) -> Floats:
    random = np.random.default_rng(1)
    first, second = np.zeros_like(rows), np.zeros_like(rows)
    order = np.array(kept)
    steps = epochs * (len(order) // BATCH)
    step = 0
    for _ in range(epochs):
        random.shuffle(order)
        for begin in range(0, len(order) - BATCH + 1, BATCH):
            batch = order[begin : begin + BATCH]
            gradient = np.zeros_like(rows)
            bag, sums = _summed(rows, [bags[at] for at in batch], random)
            _spread(gradient, bag, _direction(sums, wanted[batch]))
            paired = [at for at in batch.tolist() if at in names]
            if len(paired) > 1:
                one, other = (
                    _summed(rows, [names[at] for at in paired], random),
                    _summed(rows, [bags[at] for at in paired], random),
                )
                left, right = _contrast(one[1], other[1])
                weight = PAIRED * len(paired) / BATCH
                _spread(gradient, one[0], weight * left)
                _spread(gradient, other[0], weight * right)
            step += 1
            rate = RATE * (1 - step / (steps + 1))
            touched = np.flatnonzero(gradient.any(axis=1))
            g = gradient[touched]
            first[touched] = 0.9 * first[touched] + 0.1 * g
            second[touched] = 0.98 * second[touched] + 0.02 * g * g
            rows[touched] -= rate * first[touched] / (np.sqrt(second[touched]) + 1e-8)
    return rows


def _summed(rows: Floats, bags: Sequence[npt.NDArray[np.int64]], random: Any) -> tuple[Any, Floats]:
    """(stems, text of each), and the sums; about a fifth of the stems is left out, never all of a text."""
    lengths = np.array([len(bag) for bag in bags])
    stems, owner = np.concatenate(bags), np.repeat(np.arange(len(bags)), lengths)
    kept = random.random(len(stems)) >= LEFT_OUT
    ends = np.cumsum(lengths)
    none = np.add.reduceat(kept, ends - lengths) == 0
    kept[(ends - 1)[none]] = True
    stems, owner = stems[kept], owner[kept]
    starts = np.flatnonzero(np.diff(owner, prepend=-1))
    return (stems, owner), np.add.reduceat(rows[stems], starts, axis=0)


def _direction(sums: Floats, wanted: Floats) -> Floats:
    """The gradient of 1 - cosine."""
    norms = np.linalg.norm(sums, axis=1, keepdims=True) + 1e-6
    unit = sums / norms
    return (unit * (unit * wanted).sum(axis=1, keepdims=True) - wanted) / (norms * len(sums))


def _contrast(one: Floats, other: Floats) -> tuple[Floats, Floats]:
    """The gradients of finding each one's other among all others."""
    a, b = (
        np.linalg.norm(one, axis=1, keepdims=True) + 1e-6,
        np.linalg.norm(other, axis=1, keepdims=True) + 1e-6,
    )
    x, y = one / a, other / b
    scores = x @ y.T / TEMPERATURE
    share = np.exp(scores - scores.max(axis=1, keepdims=True))
    share /= share.sum(axis=1, keepdims=True)
    share[np.diag_indices(len(share))] -= 1
    share /= TEMPERATURE * len(share)
    gx, gy = share @ y, share.T @ x
    return (gx - x * (x * gx).sum(axis=1, keepdims=True)) / a, (
        gy - y * (y * gy).sum(axis=1, keepdims=True)
    ) / b


def _spread(gradient: Floats, bag: Any, of_texts: Floats) -> None:
    """What each text's gradient says to the rows of its stems."""
    stems, owner = bag
    order = np.argsort(stems, kind="stable")
    stems, owner = stems[order], owner[order]
    starts = np.flatnonzero(np.diff(stems, prepend=-1))
    gradient[stems[starts]] += np.add.reduceat(of_texts[owner], starts, axis=0)


def _unit(rows: Floats) -> Floats:
    norms: Floats = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / (norms + 1e-9)
