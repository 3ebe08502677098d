"""Results within bounds: what gives way, what never does, and what the reader is told."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolsearchd.disclosure.gate import clean_message
from toolsearchd.disclosure.sanitise import clean_result
from toolsearchd.dispatch.results import clipped, ends, text_bytes, whole_text


def marker(n):
    return f"<{n}>"


def text(value):
    return {"type": "text", "text": value}


def test_a_text_keeps_its_head_and_its_tail():
    result = {"content": [text("a" * 8000 + "b" * 8000)], "isError": True, "_meta": {"x": 1}}
    short = clipped(result, 1000, marker)
    assert short["content"] == [text("a" * 750 + "\n<15000>\n" + "b" * 250)]
    assert (short["isError"], short["_meta"]) == (True, {"x": 1})
    assert result["content"][0]["text"] == "a" * 8000 + "b" * 8000


def test_the_largest_blocks_give_way_and_nothing_but_text():
    image = {"type": "image", "data": "A" * 50_000}
    resource = {"type": "resource", "resource": {"uri": "u", "text": "r" * 9000}}
    result = {
        "content": [text("small"), image, resource, text("t" * 3000)],
        "structuredContent": {"all": "s" * 50_000},
    }
    short = clipped(result, 6005, marker)
    assert short["content"][0] == text("small")
    assert short["content"][1] == image
    assert short["content"][2]["resource"]["text"] == "r" * 2250 + "\n<6000>\n" + "r" * 750
    assert short["content"][3] == text("t" * 3000)
    assert short["structuredContent"] == result["structuredContent"]


def test_of_very_many_blocks_the_middle_is_left_out():
    image = {"type": "image", "data": "A"}
    blocks = [text(f"{at:05}") for at in range(10_000)]
    result = {"content": [*blocks[:5000], image, *blocks[5000:]]}
    short = clipped(result, 1000, marker)["content"]
    assert short[:150] == blocks[:150]
    assert short[150] == text("<49000>")
    assert short[151] == image
    assert short[152:] == blocks[-50:]


@given(st.lists(st.text(max_size=3000), max_size=8), st.integers(600, 6000))
def test_it_fits_and_nothing_is_made_up(texts, most):
    result = {"content": [text(value) for value in texts]}
    short = clipped(result, most, lambda n: "")
    assert text_bytes(short) <= max(most, 0) + 2 * len(texts)
    if text_bytes(result) <= most:
        assert short == result
    assert whole_text(result) == "\n".join(texts)


@given(st.text(), st.integers(0, 50))
def test_ends_cut_no_character(value, most):
    head, tail = ends(value, most) if most < len(value.encode()) else (value, "")
    assert value.startswith(head)
    assert value.endswith(tail)


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("pass\u200bword\U000e0041", "password"),
        ("a\r\n\n\n\n\tb", "a\r\n\n\n\n\tb"),
        ("👩\u200d💻 می\u200cخواهم", "👩\u200d💻 می\u200cخواهم"),
    ],
)
def test_what_hides_text_is_gone_and_blanks_stay(given, shown):
    resource = {"type": "resource", "resource": {"uri": "u", "text": given}}
    result = {"content": [text(given), resource], "structuredContent": {"a": [given, 1, None]}}
    assert clean_message(result) == {
        "content": [text(shown), {"type": "resource", "resource": {"uri": "u", "text": shown}}],
        "structuredContent": {"a": [shown, 1, None]},
    }
    assert clean_result(clean_result(given)) == clean_result(given)
