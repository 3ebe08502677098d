"""The peers' columns of `tests.bench.retrieval`: who they are, and what can be said of them.

Each answers from an environment of its own, as in `tests.bench.peers`. None has a gate: of false answers
there is nothing to tell.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.bench.peers.catalogs import data_sets
from tests.bench.peers.measure import Ready, quality
from tests.bench.peers.registry import PEERS
from tests.bench.peers.venvs import NotInstalledError, python_for
from toolsearchd.index.semantics import LinearModel

NAMES = ("bm25s", "tantivy")
FIGURES = {
    "hit@1": "hit@1",
    "hit@5 all": "hit@5",
    "Real": "real",
    "agent": "agent",
    "paraphrase": "paraphrase",
}

# By the cosine of the sentence model and nothing else: its nearest tools are always among the candidates.
SENTENCES_ALONE = LinearModel(rank={"meaning": 1.0}, admit={}, bias=0.0, match=2.0, near=0.0)


def peers(folder: Path) -> dict[str, dict[str, float] | str]:
    """By peer its figures, as the bench names them, or why it has none."""
    ready: Ready = {}
    told: dict[str, dict[str, float] | str] = {}
    for peer in PEERS:
        if peer.name in NAMES:
            try:
                ready[peer.name] = (peer, python_for(peer))
            except NotInstalledError as error:
                told[peer.name] = f"not installed: {error}"
    with tempfile.TemporaryDirectory() as work:
        rows, failed = quality(ready, data_sets(folder), Path(work))
    for name, row in rows.items():
        told[name] = {ours: row[theirs] for ours, theirs in FIGURES.items() if row[theirs] is not None}
    return told | failed
