"""The worker process: what would stall the daemon's loop, or fatten it, is computed here.

It reads requests on stdin and answers on stdout, one at a time, as frames of `protocol.framing`; it ends
when stdin does. It counts tokens (so that the daemon never loads a vocabulary) and analyses documents; a
second one runs the sentence model.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
from typing import TYPE_CHECKING, Any

import msgspec

from toolsearchd.protocol.framing import FrameDecoder, encode_frame

if TYPE_CHECKING:
    from toolsearchd.index.sentence_model import SentenceModel

_MODEL_BYTES = (
    2 << 30
)  # of addresses: ten times what the model takes; past it an error, not the machine's end
_ERROR_CHARS = 400

MAX_FRAME_BYTES = 512 * 1024 * 1024  # 100,000 documents in one request; both ends are the daemon's own


class CountTokens(msgspec.Struct, tag="count", tag_field="op", frozen=True):
    encoding: str
    texts: list[str]


class AnalyseDocuments(msgspec.Struct, tag="analyse", tag_field="op", frozen=True):
    analyzer: str
    options: dict[str, Any]  # keyword arguments of the analyzer
    documents: list[msgspec.Raw]  # index.document.Document


class EmbedTexts(msgspec.Struct, tag="embed", tag_field="op", frozen=True):
    texts: list[str]
    tokens: int  # read of each


class Embedded(msgspec.Struct, frozen=True):
    vectors: bytes = b""  # 384 int8 for each text
    error: str = ""  # why there are none: the model can't be used


WorkerRequest = CountTokens | AnalyseDocuments | EmbedTexts
_request_decoder: msgspec.msgpack.Decoder[WorkerRequest] = msgspec.msgpack.Decoder(WorkerRequest)


def serve(request: WorkerRequest) -> Any:
    """One answer. Imports lie here: a worker that only counts never loads the index, and the reverse."""
    if isinstance(request, CountTokens):
        from toolsearchd.disclosure.tokens import count_tokens

        return count_tokens(request.encoding, request.texts)
    if isinstance(request, EmbedTexts):
        return _embedded(request)
    from toolsearchd.dialects.registry import make_analyzer
    from toolsearchd.index.builder import analyse_encoded

    return analyse_encoded(make_analyzer(request.analyzer, request.options), request.documents)


_model: SentenceModel | None = None


def _embedded(request: EmbedTexts) -> Embedded:
    """Whatever is wrong with an installed model is told: it is others' code and files."""
    global _model  # of the process, which answers one request at a time
    try:
        if _model is None:
            from toolsearchd.index.sentence_model import SentenceModel

            resource.setrlimit(resource.RLIMIT_AS, (_MODEL_BYTES, _MODEL_BYTES))
            _model = SentenceModel()
        return Embedded(vectors=_model.vectors(request.texts, request.tokens).tobytes())
    except Exception as error:  # noqa: BLE001
        return Embedded(error=f"{type(error).__name__}: {error}"[:_ERROR_CHARS])


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal's Ctrl-C is the daemon's to act on
    frames = FrameDecoder(MAX_FRAME_BYTES)
    stdin, stdout = sys.stdin.buffer, sys.stdout.buffer
    os.nice(5)  # a search in the daemon comes first
    while chunk := os.read(stdin.fileno(), 1 << 20):
        frames.feed(chunk)
        while (payload := frames.next_payload()) is not None:
            stdout.write(encode_frame(serve(_request_decoder.decode(payload))))
            stdout.flush()


if __name__ == "__main__":
    main()
