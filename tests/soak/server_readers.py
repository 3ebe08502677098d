"""What reads a server's bytes, shows its texts, and what travels on the wires."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import cache
from typing import Any

import msgspec

from tests.soak import documents
from tests.soak.reader_rows import CHUNK, LIMITS, clean_utf8, loaded, row, utf8


@row(
    "lines of a server",
    LIMITS.line_bytes,
    "system/lines.py",
    "upstream/lines.py",
    "upstream/envelope.py",
    "values.py",
    "catalog/definition.py",
    families=documents.LINES,
)
def server_lines(text: str) -> object:
    from toolsearchd.upstream.lines import LineReader

    reader = LineReader(LIMITS)
    data = utf8(text) + b"\n"
    return [list(reader.feed(data[at : at + CHUNK])) for at in range(0, len(data), CHUNK)]


@row(
    "a line that answers",
    LIMITS.line_bytes,
    "upstream/lines.py",
    "upstream/envelope.py",
    "upstream/answers.py",
)
def answer(text: str) -> object:
    from toolsearchd.upstream.answers import put_in_shape
    from toolsearchd.upstream.lines import Message, read_message

    found = []
    for head in (b'{"id":1,"result":', b'{"id":1,"result":{"text":"', b'{"id":1,"error":'):
        message = read_message(head + utf8(text).replace(b"\n", b" ") + b"}", 136)
        found.append(
            put_in_shape(message.fields, {1: "tools/call"}) if isinstance(message, Message) else message
        )
    return found


@row("depth of JSON", LIMITS.line_bytes, "catalog/definition.py", "dispatch/schema.py")
def depth(text: str) -> object:
    from toolsearchd.catalog.definition import clip_depth, json_depth
    from toolsearchd.dispatch.schema import too_deep

    data = utf8(text)
    return json_depth(data, 10), clip_depth(data, 10), too_deep(data, 100)


@row("a tool's definition", LIMITS.line_bytes, "catalog/definition.py", families=documents.TOOLS)
def definition(text: str) -> object:
    from toolsearchd.catalog.definition import decode_definition

    data = clean_utf8(text)
    for raw in (data, b'{"name":"x","inputSchema":' + data + b"}"):
        try:
            decode_definition(raw, LIMITS)
        except ValueError:
            continue
    return None


@row(
    "results",
    LIMITS.line_bytes,
    "dispatch/results.py",
    "values.py",
    "disclosure/gate.py",
    families=documents.VALUES,
)
def results(text: str) -> object:
    from toolsearchd.disclosure.gate import clean_message
    from toolsearchd.dispatch.results import clipped
    from toolsearchd.values import find_fault, representable

    value = loaded(text)
    blocks = value if isinstance(value, list) else [value]
    content = [{"type": "text", "text": one if isinstance(one, str) else text} for one in blocks[:100]]
    result = clean_message({"content": content[:1], "structuredContent": value})
    return find_fault(value), representable(value), clipped(result, 100_000, str)


@row("the sanitiser", LIMITS.line_bytes, "disclosure/sanitise.py", families=documents.SIGNS)
def sanitised(text: str) -> object:
    from toolsearchd.disclosure.sanitise import clean, clean_result, excerpt, plain_line, short_description

    return clean(text), clean_result(text), plain_line(text), excerpt(text, 500), short_description(text)


@row("text for a person to judge", LIMITS.line_bytes, "disclosure/sanitise.py", families=documents.SIGNS)
def judged(text: str) -> object:
    from toolsearchd.disclosure.sanitise import visible

    return visible(text)


@row(
    "a listing",
    LIMITS.line_bytes,
    "disclosure/listing_steps.py",
    "disclosure/listing_families.py",
    "disclosure/listing.py",
    families=documents.NAMES,
)
def listing(text: str) -> object:
    from toolsearchd.disclosure.listing import ListedServer
    from toolsearchd.disclosure.listing_steps import ListingPlan
    from toolsearchd.disclosure.tokens import estimate_tokens

    tools = tuple((f"mcp__s__{name[:64]}", "") for name in sorted(set(text.split("\n"))))
    plan = ListingPlan([ListedServer(label="s", tools=tools, tool_count=len(tools))], estimate_tokens)
    return [plan.listing(budget) for budget in (100, 4000)]


@row("families of names", LIMITS.line_bytes, "disclosure/listing_families.py", families=documents.NAMES)
def families_of(text: str) -> object:
    from toolsearchd.disclosure.listing_families import families

    return families(text.split("\n"))


@row("the door's listing", LIMITS.line_bytes, "doors/texts.py", families=documents.NAMES)
def placed(text: str) -> object:
    from toolsearchd.doors.texts import place_listing

    text = clean_utf8(text).decode()
    return place_listing(text, description="d", cut=2048, shorter=lambda room: text[:room], instructions="i")


@row("estimates of tokens", LIMITS.analysed_bytes, "disclosure/tokens.py")
def estimated(text: str) -> object:
    from toolsearchd.disclosure.tokens import estimate_tokens, pieces

    return estimate_tokens(text), list(pieces(text))


@row("counts of tokens", LIMITS.analysed_bytes, "disclosure/tokens.py")
def counted(text: str) -> object:
    from toolsearchd.disclosure.tokens import count_tokens

    return count_tokens("o200k_base", [text])


@row(
    "lines of a client",
    LIMITS.line_bytes,
    "system/lines.py",
    "doors/lines.py",
    "doors/wire.py",
    families=documents.LINES,
)
def client_lines(text: str) -> object:
    from toolsearchd.doors.lines import id_in, mend
    from toolsearchd.system.lines import LineSplitter

    lines = LineSplitter(LIMITS.line_bytes)
    source = door()
    found = []
    data = utf8(text) + b"\n"
    for at in range(0, len(data), CHUNK):
        for line in lines.feed(data[at : at + CHUNK]):
            if isinstance(line, bytes):
                found.append((mend(line), id_in(line), source._decode(line)))
    return found


class Silent:
    """What is to be told to a client that nobody is."""

    def send_error(self, request_id: object, code: int, text: str) -> None:
        pass


@cache
def door() -> Any:
    from toolsearchd.doors.wire import Charges, MessageSource

    nobody: Any = None
    sink: Any = Silent()
    return MessageSource(nobody, b"", sink, Charges(1 << 30), LIMITS, lambda _id: None)


@row("an event stream", LIMITS.line_bytes, "upstream/remote.py", families=documents.LINES)
def events(text: str) -> object:
    import trio

    from toolsearchd.upstream.remote import _Events

    async def chunks() -> AsyncIterator[bytes]:
        data = b"data: " + utf8(text).replace(b"\n", b"\ndata: ")
        for at in range(0, len(data), CHUNK):
            yield data[at : at + CHUNK]

    async def read() -> list[bytes]:
        stream: Any = chunks()
        return [line async for line in _Events(stream, LIMITS)]

    return trio.run(read)


@row(
    "lines through the relay", LIMITS.line_bytes, "system/lines.py", "ctl/relay.py", families=documents.LINES
)
def relayed(text: str) -> object:
    from toolsearchd.ctl.relay import _answered
    from toolsearchd.system.lines import LineSplitter

    lines = LineSplitter(LIMITS.line_bytes)
    data = utf8(text) + b"\n"
    return [
        [_answered(line) for line in lines.feed(data[at : at + CHUNK]) if isinstance(line, bytes)]
        for at in range(0, len(data), CHUNK)
    ]


@row("frames", LIMITS.frame_bytes, "protocol/framing.py", "protocol/odd_texts.py", "protocol/connection.py")
def frames(text: str) -> object:
    from toolsearchd.protocol.framing import HEADER, FrameDecoder
    from toolsearchd.protocol.odd_texts import odd_texts_as_bytes

    data = utf8(text)
    decoder = FrameDecoder(LIMITS.frame_bytes)
    decoder.feed(b"".join(HEADER.pack(4) + data[at : at + 4] for at in range(0, len(data) - 4, 4)))
    found = 0
    while decoder.next_payload():
        found += 1
    return found, odd_texts_as_bytes(data), odd_texts_as_bytes(b"\xa1\xff" * (len(data) // 2))


@row("the journal", LIMITS.line_bytes, "ctl/verbs/journal.py", families=documents.LINES)
def journal(text: str) -> object:
    from toolsearchd.ctl.verbs.journal import _line

    found = []
    text = clean_utf8(text).decode()
    for line in text.encode().split(b"\n"):
        try:
            record = msgspec.json.decode(line)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            continue
        if isinstance(record, dict):
            found.append(_line(record))
    return found, _line({"at": text, "arguments": text, "outcome": text})
