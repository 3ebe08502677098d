"""Listings of any catalog: within the budget, the same in any order, the reference's rule step by step."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from toolsearchd.disclosure.listing import HEADER, ListedServer, listed, render, unavailable
from toolsearchd.disclosure.sanitise import clean, clean_json, plain_line, short_description
from toolsearchd.disclosure.tokens import PIECE_CHARS, chars4_of, count_tokens, pieces

LABELS = st.text("abcdefg-_", min_size=1, max_size=12)
TEXTS = st.text(st.sampled_from("abc déя图🙂 .,-_"), max_size=40)
TOOLS = st.lists(st.tuples(st.text("abc_", min_size=1, max_size=20), TEXTS), min_size=1, max_size=12)
SERVERS = st.lists(
    st.one_of(
        st.builds(listed, LABELS, TOOLS),
        st.builds(unavailable, LABELS, st.integers(0, 50), st.text("abc ", min_size=1, max_size=30)),
    ),
    max_size=8,
    unique_by=lambda server: server.label,
)


def by_chars(blocks):
    return chars4_of(len("\n".join(blocks)))


def naive(servers: list[ListedServer], budget: int) -> tuple[str, str]:
    """The reference's rule as its description tells it."""
    up = sorted((s for s in servers if not s.reason), key=lambda s: s.label)
    down = [s.unavailable for s in sorted(servers, key=lambda s: s.label) if s.reason]

    def text(blocks):
        return "\n".join([HEADER, *blocks, *down])

    steps = []
    if up:
        steps += [("full", text(s.full for s in up)), ("names", text(s.names for s in up))]
    order = sorted(up, key=lambda s: (-len(s.names), s.label))
    for collapsed in range(1, len(order) + 1):
        gone = {s.label for s in order[:collapsed]}
        form = "groups" if collapsed == len(order) else "mixed"
        steps.append((form, text(s.summary if s.label in gone else s.names for s in up)))
    if not up and down:
        steps.append(("groups", text([])))
    return next(((form, t) for form, t in steps if chars4_of(len(t)) <= budget), ("none", ""))


@given(SERVERS, st.integers(0, 400), st.randoms(use_true_random=False))
def test_the_rule_step_by_step_in_any_order(servers, budget, chance):
    shown = render(servers, budget, by_chars, HEADER)
    assert (shown.form, shown.text) == naive(servers, budget)
    assert shown.tokens == chars4_of(len(shown.text)) <= budget
    shuffled = list(servers)
    chance.shuffle(shuffled)
    assert render(shuffled, budget, by_chars, HEADER) == shown


@settings(deadline=None, max_examples=60)
@given(SERVERS, st.integers(0, 600))
def test_never_over_the_budget_by_the_real_tokenizer(servers, budget):
    def measure(blocks):
        return sum(count_tokens("o200k_base", [f"{block}\n" for block in blocks]))

    shown = render(servers, budget, measure, HEADER)
    assert count_tokens("o200k_base", [shown.text])[0] <= shown.tokens <= budget


@given(SERVERS)
def test_with_room_for_all_everything_is_shown(servers):
    shown = render(servers, 10**6, by_chars, HEADER)
    for server in servers:
        assert (server.unavailable if server.reason else server.full) in shown.text


# --- the sanitiser --------------------------------------------------------------------------------

ODD = st.text(
    st.one_of(
        st.sampled_from(
            "\x1b\x9b[]0;mP\\\x07\x00\r\n\t \u200b\u200c\u200d\ufe0f\u202e\u2066\u2028\x85é图🙂a#1."
        ),
        st.characters(exclude_categories=()),
    ),
    max_size=60,
)
HIDING = {*map(chr, range(0x20)), *map(chr, range(0x7F, 0xA0)), *map(chr, range(0xE0000, 0xE0080))}
HIDING |= {
    *"\u200b\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\u2066\u2067\u2068\u2069\ufeff\u2028\u2029"
}
HIDING -= {"\n", "\t"}


@settings(max_examples=500)
@given(ODD)
def test_cleaned_once_is_cleaned(text):
    cleaned = clean(text)
    assert clean(cleaned) == cleaned
    assert not HIDING & set(cleaned)
    assert 9 * "\n" not in cleaned
    cleaned.encode()
    line = plain_line(text)
    assert "\n" not in line
    assert line == line.strip()


@given(ODD)
def test_short_descriptions_are_short_lines(text):
    short = short_description(text)
    assert len(short) <= 61
    assert "\n" not in short


@given(st.recursive(st.one_of(ODD, st.integers(), st.none()), lambda inner: st.lists(inner, max_size=3)))
def test_cleaned_json_keeps_its_shape(value):
    def shape(item):
        return [shape(one) for one in item] if isinstance(item, list) else type(item)

    assert shape(clean_json(value)) == shape(value)


@given(
    st.integers(), st.lists(st.sampled_from(["word ", "line\n", "x" * 9000, " " * 9000, "é"]), max_size=12)
)
def test_pieces_lose_nothing(seed, parts):
    random.Random(seed).shuffle(parts)
    text = "".join(parts)
    cut = list(pieces(text))
    assert "".join(cut) == text
    assert max(map(len, cut)) <= PIECE_CHARS
