"""What comes off a server's stdout, line by line."""

import msgspec
import pytest

from toolsearchd.limits import Limits
from toolsearchd.upstream.lines import LineReader, Lost, Message

SMALL = msgspec.structs.replace(Limits(), line_bytes=20_000, junk_bytes=50_000)


def read(*chunks, limits=SMALL):
    reader = LineReader(limits)
    return reader, [item for chunk in chunks for item in reader.feed(chunk) if item is not None]


def fields(items):
    return [item.fields if isinstance(item, Message) else item for item in items]


def test_messages_and_what_stands_between_them():
    reader, items = read(b'\xef\xbb\xbf{"a": 1}\r\n', b"Server listening\n\n  \n", b'  {"b"', b": 2}\n")
    assert fields(items) == [{"a": 1}, {"b": 2}]
    assert reader.junk == 1


def test_a_byte_order_mark_is_taken_once():
    reader, items = read(b'{"a": 1}\n', b'\xef\xbb\xbf{"b": 2}\n')
    assert fields(items) == [{"a": 1}]
    assert reader.junk == 1


@pytest.mark.parametrize(
    "line",
    [b"\xff\n", b"\x00\x00\n", "grüße".encode("latin-1") + b"\n", '{"a": 1}\n'.encode("utf-16"), b"[1]\n"],
)
def test_bytes_that_are_no_message_are_counted(line):
    reader, items = read(line, b"\n", b'{"a": 1}\n')
    assert fields(items)[-1] == {"a": 1}
    assert reader.junk >= 1


@pytest.mark.parametrize("result", [b'"\xff"', b"{", b"'text'", b'"unfinished', b"{1: 2}"])
@pytest.mark.parametrize(
    "form", [b'{"jsonrpc":"2.0","id":5,"result":%s}', b'{"result":%s,"jsonrpc":"2.0","id":5}']
)
def test_an_answer_that_is_no_json_fails_its_request(form, result):
    reader, items = read(form % result + b"\n")
    assert items == [Lost(5, "bad")]
    assert reader.junk == 1


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (rb'"a\ud83d"', "a\ud83d"),
        (rb'{"\ud800": 1}', {"\ud800": 1}),
        (b"1e999", float("inf")),
        (b"-Infinity", float("-inf")),
        (b"7" * 5000, "7" * 5000),
        (b"18446744073709551616", 2**64),
    ],
)
def test_what_no_text_and_no_number_is_costs_no_message(text, value):
    reader, (message,) = read(b'{"jsonrpc":"2.0","id":5,"result":{"x":%s}}\n' % text)
    assert message.fields["result"] == {"x": value}
    assert reader.junk == 0


def test_a_batch_of_one_is_its_message():
    assert fields(read(b'[{"id": 5, "result": {}}]\n')[1]) == [{"id": 5, "result": {}}]


def test_the_first_line_that_is_no_message_is_kept():
    reader, _ = read(b"\n", b"Traceback (most recent call last):\n", b"more\n", b'{"a": 1}\n')
    assert reader.first_junk == "Traceback (most recent call last):"
    assert len(read(b"x" * 30_000 + b"\n")[0].first_junk) == 500


def test_a_request_of_the_server_that_is_no_json_fails_nothing():
    assert read(b'{"jsonrpc":"2.0","id":5,"method":"x","params":{\n')[1] == []


def test_only_an_outermost_id_counts():
    inner = b'{"result":{"text":"\\"id\\":7","id":8,"more":[{"id":9}],"x":nan},"id":%s}\n'
    assert read(inner % b"5")[1] == [Lost(5, "bad")]
    assert read(inner % b'"five"')[1] == [Lost("five", "bad")]
    assert read(inner % b"1.5")[1] == []


def test_a_line_that_grows_too_long_is_told_of_before_it_ends():
    head = b'{"jsonrpc":"2.0","id":5,"result":{"text":"'
    reader, items = read(head, b"x" * 30_000)
    assert items == [Lost(5, "too large")]
    assert [item for item in reader.feed(b"x" * 100 + b'"}}\n{"a": 1}\n') if item] == [
        Message({"a": 1}, b'{"a": 1}')
    ]
    assert (reader.too_long, reader.junk) == (1, 0)


def test_a_too_long_line_whose_id_stands_at_its_end():
    start, end = b'{"result":{"text":"' + b"x" * 30_000, b'"},"jsonrpc":"2.0","id":5}\n'
    assert read(start + end)[1] == [Lost(5, "too large")]
    assert read(start, *(end[at : at + 1] for at in range(len(end))))[1] == [Lost(5, "too large")]


def test_a_too_long_answer_without_an_id_in_reach():
    assert read(b'{"result":{"text":"' + b"x" * 30_000 + b'"},"id":5,"more":1}\n')[1] == [
        Lost(None, "too large")
    ]


@pytest.mark.parametrize("head", [b'{"method":"notifications/x","params":{"id":5,"text":"', b"", b"banner "])
def test_a_too_long_line_that_answers_nothing(head):
    reader, items = read(head + b"x" * 30_000, b'"}}\n', b'{"a": 1}\n')
    assert fields(items) == [{"a": 1}]
    assert reader.too_long == 1


def test_no_more_is_held_than_the_limit():
    reader = LineReader(SMALL)
    for _ in range(1000):
        assert not [item for item in reader.feed(b"x" * 10_000) if item]
    held = len(reader._lines.take_rest()) + len(reader._tail)
    assert held < SMALL.line_bytes


def deep(levels):
    return b'{"x":' * levels + b"1" + b"}" * levels


def test_a_schema_that_nests_too_deeply_costs_itself():
    line = b'{"id":5,"result":{"tools":[{"name":"a","inputSchema":%s},{"name":"b"}]}}\n' % deep(10_000)
    _, (message,) = read(line, limits=Limits())
    first, second = message.fields["result"]["tools"]
    assert second == {"name": "b"}
    assert first["name"] == "a"
    assert b"x-toolsearchd-cut" in msgspec.json.encode(first)


def test_a_schema_as_deep_as_is_accepted_stays_whole():
    schema = deep(Limits().schema_depth - 1)
    _, (message,) = read(
        b'{"id":5,"result":{"tools":[{"name":"a","inputSchema":%s}]}}\n' % schema, limits=Limits()
    )
    assert msgspec.json.encode(message.fields["result"]["tools"][0]["inputSchema"]) == schema


def test_any_other_answer_that_nests_too_deeply_is_lost():
    line = b'{"id":5,"result":{"content":[],"structuredContent":%s}}\n' % deep(10_000)
    assert read(line, limits=Limits())[1] == [Lost(5, "too deep")]


def test_a_message_that_says_a_thing_twice_is_none():
    reader, items = read(b'{"id":5,"result":{},"id":6}\n', b'{"id":7,"result":{"id":1}}\n')
    assert fields(items) == [{"id": 7, "result": {"id": 1}}]
    assert reader.junk == 1


def test_a_stranger_is_given_up_at_the_line_limit_a_server_later():
    reader, _ = read(b"y\n" * 200)
    assert not reader.complaint
    reader, _ = read(b"y\n" * 400)
    assert "no MCP" in reader.complaint
    reader, _ = read(b'{"a": 1}\n', b"y\n" * 400)
    assert not reader.complaint
    list(reader.feed(b"y\n" * 400))
    assert reader.complaint


def test_messages_between_noise_keep_a_server():
    reader = LineReader(SMALL)
    for _ in range(100):
        list(reader.feed(b"log line\n" * 100 + b'{"a": 1}\n'))
    assert not reader.complaint
    assert reader.junk == 10_000
