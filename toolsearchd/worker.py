"""The worker process: what would stall the daemon's loop, or fatten it, is computed here.

It reads requests on stdin and answers on stdout, one at a time, as frames of `protocol.framing`; it ends
when stdin does. It counts tokens (so that the daemon never loads a vocabulary) and analyses documents.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

import msgspec

from toolsearchd.protocol.framing import FrameDecoder, encode_frame

MAX_FRAME_BYTES = 512 * 1024 * 1024  # 100,000 documents in one request; both ends are the daemon's own


class CountTokens(msgspec.Struct, tag="count", tag_field="op", frozen=True):
    encoding: str
    texts: list[str]


class AnalyseDocuments(msgspec.Struct, tag="analyse", tag_field="op", frozen=True):
    analyzer: str
    options: dict[str, Any]  # keyword arguments of the analyzer
    documents: list[msgspec.Raw]  # index.document.Document


WorkerRequest = CountTokens | AnalyseDocuments
_request_decoder: msgspec.msgpack.Decoder[WorkerRequest] = msgspec.msgpack.Decoder(WorkerRequest)


def serve(request: WorkerRequest) -> Any:
    """One answer. Imports lie here: a worker that only counts never loads the index, and the reverse."""
    if isinstance(request, CountTokens):
        from toolsearchd.disclosure.tokens import count_tokens

        return count_tokens(request.encoding, request.texts)
    from toolsearchd.dialects.registry import make_analyzer
    from toolsearchd.index.builder import analyse_encoded

    return analyse_encoded(make_analyzer(request.analyzer, request.options), request.documents)


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
