"""Whatever a server gives: all texts come out clean, nothing else changes, and no value is lost."""

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolsearchd.disclosure.gate import clean_error, clean_message, clean_told
from toolsearchd.disclosure.sanitise import clean, clean_json, clean_line, clean_result, clean_uri, visible
from toolsearchd.errors import ToolsearchdError
from toolsearchd.upstream.cleaning import clean_at_once, wait_clean
from toolsearchd.upstream.own_names import OwnNames

HIDDEN = ["\x1b[31m", "\u202e", "\U000e0041", "\u200b", "\x00", "\x9b", "\u2028", "\ud83d", "\u200d", "\r"]
texts = st.lists(st.sampled_from([*HIDDEN, "a", "b", " ", "\n", "é", "\t", "👩"]), max_size=6).map("".join)
keys = texts | st.sampled_from(
    ["name", "title", "uri", "text", "data", "_meta", "structuredContent", "content"]
)
values = st.recursive(
    texts | st.integers() | st.booleans() | st.none() | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=20,
)


def texts_in(value):
    if isinstance(value, str):
        yield value
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from texts_in(item)


def keys_in(value):
    yield from value if isinstance(value, dict) else ()
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from keys_in(item)


def shape(value):
    """All but the words: order, kinds, lengths and what is no text."""
    if isinstance(value, dict):
        return [shape(item) for item in value.values()]
    if isinstance(value, list):
        return tuple(map(shape, value))
    return str if isinstance(value, str) else value


@pytest.mark.parametrize("cleaner", [clean_json, clean_message, clean_told])
@given(value=values)
def test_all_is_clean_and_nothing_lost(cleaner, value):
    found = cleaner(value)
    assert all(clean_result(text) == text for text in texts_in(found))
    assert all(clean_line(key) == key for key in keys_in(found))
    assert shape(found) == shape(value)
    assert cleaner(found) == found


@given(texts)
def test_a_uri_is_only_written_otherwise(uri):
    found = clean_uri(uri)
    assert clean_line(found) == found == clean_uri(found)
    if clean_line(uri) == uri and "\u200d" not in uri:
        assert found == uri


@given(texts)
def test_what_is_visible_means_the_same(text):
    assert clean(visible(text)) == visible(text)
    shown = visible(json.dumps(text, ensure_ascii=False))
    assert json.loads(shown) == text


def test_names_that_were_clean_keep_their_place_and_others_get_a_number():
    assert clean_json({"a\u200b": 1, "a": 2, "a\u202e": 3, "a (2)": 4}) == {
        "a (3)": 1,
        "a": 2,
        "a (4)": 3,
        "a (2)": 4,
    }


def test_very_many_names_that_become_alike_take_linear_time():
    def cpu_of(count):
        value = {"a" + "\u200b" * (at % 7) + "\u202e" * (at // 7): at for at in range(count)}
        value |= {f"a ({at})": at for at in range(count)}
        begun = time.thread_time()
        assert len(clean_json(value)) == len(value)
        return time.thread_time() - begun

    assert cpu_of(2000) < 20 * max(cpu_of(500), 0.005)


def test_what_nests_very_deeply_is_cleaned():
    value = "\u200b"
    for _ in range(5000):
        value = [{"k\u200b": value}]
    found = clean_json(value)
    for _ in range(5000):
        (found,) = found[0].values()
    assert found == ""


def test_what_is_plain_is_not_copied():
    value = {"content": [{"type": "text", "text": 'said "so"'}], "n": [1, None]}
    assert clean_message(value) is value


def test_encoded_data_and_what_a_server_fills_at_will_keep_their_lines():
    value = {
        "content": [{"type": "image", "data": "aGk=\naGk=\r\n", "mimeType": "image/\npng"}],
        "structuredContent": {"name": "a\nb\u200b"},
        "_meta": {"title": "a\nb"},
    }
    assert clean_message(value) == {
        "content": [{"type": "image", "data": "aGk=\naGk=\r\n", "mimeType": "image/ png"}],
        "structuredContent": {"name": "a\nb"},
        "_meta": {"title": "a\nb"},
    }


@given(st.text(), values)
def test_an_error_is_clean_in_every_field(message, data):
    told = clean_error(ToolsearchdError("SERVER_ERROR", message, server_code=-5, server_data=data))
    assert (told.code, told.fields["server_code"]) == ("SERVER_ERROR", -5)
    assert all(clean_result(text) == text for text in texts_in(told.as_fields()))


@given(texts, texts)
def test_a_server_is_asked_by_its_own_names(name, uri):
    names = OwnNames()
    listed = names.note({"prompts": [{"name": name, "arguments": [{"name": uri}]}]})
    read = names.note({"content": [{"type": "resource_link", "uri": uri}]})["content"][0]["uri"]
    shown = listed["prompts"][0]
    assert clean_line(shown["name"]) == shown["name"]
    assert clean_line(read) == read
    asked = {"name": shown["name"], "arguments": {shown["arguments"][0]["name"]: "x"}}
    assert names.restored(asked)["name"] == name
    assert names.restored(asked)["arguments"] == {uri: "x"}
    assert names.restored({"uri": read})["uri"] == uri
    argument = {
        "ref": {"type": "ref/resource", "uri": read},
        "argument": {"name": shown["arguments"][0]["name"]},
    }
    assert names.restored(argument) == {
        "ref": {"type": "ref/resource", "uri": uri},
        "argument": {"name": uri},
    }


def test_two_names_that_become_alike_stay_two():
    names = OwnNames()
    listed = names.note({"prompts": [{"name": "a"}, {"name": "a\u200b"}, {"name": "a\u202e"}]})["prompts"]
    assert len({prompt["name"] for prompt in listed}) == 3
    assert [names.restored(prompt)["name"] for prompt in listed] == ["a", "a\u200b", "a\u202e"]


def test_no_more_names_are_kept_than_a_number():
    names = OwnNames()
    for at in range(5000):
        names.note({"resources": [{"uri": f"x:{at}\u200b"}]})
    assert len(names._own) == 1024
    assert names.restored({"uri": "x:4999%E2%80%8B"}) == {"uri": "x:4999\u200b"}


def test_what_is_told_at_once_is_bounded_and_says_so():
    long = {"level": "error", "logger": "a\u200b", "data": "\u200bé" * 100_000}
    assert clean_at_once(long) == {
        "level": "error",
        "logger": "a",
        "data": "[toolsearchd: 500002 bytes are left out]",
    }
    assert clean_at_once({"data": "half \ud83d"}) == {"data": "half "}
    assert clean_at_once(["x" * 100_000]) == "[toolsearchd: 100004 bytes are left out]"


async def test_a_long_answer_comes_out_as_a_short_one_does():
    long = {"contents": [{"uri": f"x:\u200b{at}", "text": "\u200bé\n" * 100} for at in range(1000)]}
    found = await wait_clean(long)
    assert found == clean_message(long)
    assert found["contents"][7] == {"uri": "x:%E2%80%8B7", "text": "é\n" * 100}
