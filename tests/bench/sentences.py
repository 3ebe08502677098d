"""The sentence model's vectors of the development sets, made once and kept in the folder of the benches."""

from __future__ import annotations

from pathlib import Path

from toolsearchd.catalog.snapshot import Snapshot
from toolsearchd.index.sentence_model import SentenceModel
from toolsearchd.index.sentences import QUERY_TOKENS, SentenceStore, sentence_of

KEPT = Path(__file__).parent / ".venvs" / "sentences.bin"
BATCH = 500


class Sentences:
    """Raises ImportError without the extra `semantic`."""

    def __init__(self) -> None:
        self._model = SentenceModel()
        self.store = SentenceStore()
        self.store.state = "on"
        if KEPT.exists():
            self.store.load(KEPT.read_bytes())

    def learn(self, snapshot: Snapshot) -> None:
        sentence = {
            snapshot.digests[snapshot.doc_of(tool)]: sentence_of(
                tool.name, tool.definition.title, tool.definition.description
            )
            for tool in snapshot.iter_tools()
        }
        missing = [digest for digest in sentence if digest not in self.store]
        for at in range(0, len(missing), BATCH):
            batch = missing[at : at + BATCH]
            vectors = self._model.vectors([sentence[digest] for digest in batch])
            self.store.learn(batch, vectors.tobytes())
        if missing:
            KEPT.parent.mkdir(exist_ok=True)
            KEPT.write_bytes(self.store.packed())

    def ask(self, query: str) -> None:
        if self.store.query(query) is None:
            self.store.learn_query(query, self._model.vectors([query], QUERY_TOKENS).tobytes())
