"""Scanners that go through a text once find what the plain ways find."""

import json
import re
import shlex
import tomllib
import unicodedata
from fnmatch import fnmatchcase

from hypothesis import assume, example, given
from hypothesis import strategies as st

from toolsearchd.catalog.definition import clip_depth, json_depth
from toolsearchd.config.document import Lines
from toolsearchd.config.environment import parse_environment
from toolsearchd.config.expand import RULES, ExpandContext, expand
from toolsearchd.config.json_text import parse_json, parse_json5
from toolsearchd.config.sources import FORMATS
from toolsearchd.config.words import split_words
from toolsearchd.disclosure.sanitise import clean, visible
from toolsearchd.dispatch.jsontext import JsonFault, read_json, read_json_leniently
from toolsearchd.dispatch.schema import too_deep
from toolsearchd.globs import matches_glob
from toolsearchd.nfkc import nfkc
from toolsearchd.values import representable

values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text("a\"\\/*,:{}[]' \n", max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text('ab"/*,}', max_size=4), inner, max_size=4)
    ),
    max_leaves=12,
)
EMPTY_RANGE = re.compile(r"(.)-(.)", re.DOTALL)


def pieces(*parts):
    return st.lists(st.sampled_from(parts), max_size=12).map("".join)


@given(st.text("ab*?[]!-^\\\n", max_size=12), st.text("ab!-]^\\\n", max_size=10))
@example("a[b-]*", "a-x")
@example("[]a]?", "]a")
def test_a_glob_matches_as_in_the_standard_library(glob, text):
    # There, an empty range can make a `!` behind it the first one.
    assume(not any(low > high for low, high in EMPTY_RANGE.findall(glob)))
    assert matches_glob(text, glob) == fnmatchcase(text, glob)


@given(pieces("a", "b", "?", "[ab]", "[!a]", "*"), pieces("a", "b", "ab"))
def test_a_long_piece_of_a_glob_matches_as_a_short_one(glob, text):
    glob, text = f"*{'?' * 70}{glob}*b", f"{'a' * 70}{text}b"
    assert matches_glob(text, glob) == fnmatchcase(text, glob)


@given(st.text("ab '\"\\\t\n#", max_size=14))
def test_words_are_a_shells(text):
    def outcome(split):
        try:
            return list(split(text))
        except ValueError as error:
            return str(error)

    assert outcome(split_words) == outcome(shlex.split)


MARKS = "e\u0301\u0316\u0344\u3099\uff9e\u0f73\u0345\u2026\uac00\u11a8"


@given(st.text(MARKS, min_size=25, max_size=90), st.text(max_size=5))
def test_long_rows_of_marks_have_their_one_form(marks, text):
    assert nfkc(marks + text) == unicodedata.normalize("NFKC", marks + text)


def test_every_character_that_is_sorted_is_looked_for():
    odd = [
        character
        for character in map(chr, range(0x110000))
        if not "\ud800" <= character <= "\udfff"
        and unicodedata.combining(unicodedata.normalize("NFKD", character)[0])
    ]
    assert [one for one in odd if nfkc(one * 40) != unicodedata.normalize("NFKC", one * 40)] == []
    mixed = "".join(odd)
    assert nfkc(mixed) == unicodedata.normalize("NFKC", mixed)


class Loose:
    """JSON with comments, trailing commas and line ends, laid out by chance."""

    def __init__(self, draw):
        self._blank = lambda: draw(st.sampled_from(["", " ", "\n", '/* " , ] */', "// } '\n", "/**/"]))
        self._comma = lambda: draw(st.sampled_from(["", ","]))

    def write(self, value):
        blank = self._blank
        if isinstance(value, dict):
            parts = [f"{blank()}{json.dumps(key)}{blank()}:{self.write(one)}" for key, one in value.items()]
        elif isinstance(value, list):
            parts = [self.write(one) for one in value]
        else:
            return f"{blank()}{json.dumps(value)}{blank()}"
        opening, closing = "{}" if isinstance(value, dict) else "[]"
        return (
            f"{blank()}{opening}{','.join(parts)}{self._comma() if parts else ''}{blank()}{closing}{blank()}"
        )


@given(values, st.data())
def test_comments_and_commas_say_nothing(value, data):
    text = Loose(data.draw).write(value)
    for parse in (parse_json, parse_json5):
        document = parse(text, "f")
        assert document.is_readable, text
        assert document.value == value


@given(values, st.data(), st.integers(0, 200))
def test_a_cut_text_is_refused_where_the_decoder_would(value, data, end):
    text = Loose(data.draw).write([value])
    cut = text[: min(end, text.rindex("]"))]
    document = parse_json(cut, "f")
    if document.is_readable:  # a comment behind the list holds a bracket, too: nothing of the list was cut
        assert document.value == [value]
        return
    problem = document.problems[0]
    assert 1 <= problem.line <= cut.count("\n") + 1


@given(st.text("ab\n", max_size=30).map(lambda text: text * 700), st.data())
def test_places_are_counted_from_blocks(text, data):
    at = data.draw(st.integers(0, len(text)))
    place = Lines(text).place(at)
    assert place == (text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at))


@given(st.dictionaries(st.text('ab."', max_size=3), st.lists(values, max_size=3), max_size=4))
def test_a_place_is_where_the_value_stands(value):
    text = json.dumps(value, indent=1)
    document = parse_json(text, "f")
    for key, items in value.items():
        line, column = document.place((key,))
        assert text.split("\n")[line - 1][column - 1 :].startswith(json.dumps(key))
        for at, item in enumerate(items):
            line, column = document.place((key, at))
            rest = "\n".join(text.split("\n")[line - 1 :])[column - 1 :]
            assert json.JSONDecoder().raw_decode(rest)[0] == item


LINE = re.compile(r"\s*(?:export\s+)?(?P<name>[A-Za-z_][A-Za-z0-9_]*)\s*=\s*(?P<value>.*?)\s*")


@given(pieces("A", "=", " ", "export ", "x", "'", "\t", "1"))
def test_a_line_of_an_environment_file(line):
    match = LINE.fullmatch(line)
    found, problems = parse_environment(line, "f")
    assert (match is None) == (not found)
    if match is not None:
        value = match["value"]
        quoted = len(value) >= 2 and value[0] == value[-1] == "'"
        assert found == {match["name"]: value[1:-1] if quoted else value}
        assert not problems


CONTEXT = ExpandContext(environ={"a": "X"}, home="/home/me")


@given(pieces("$", "{", "}", "a", "b", "${", "${a", ":-", "env:", "{env:", "/", "userHome"))
def test_variables_behind_the_last_brace(text):
    for name, rule in RULES.items():
        if rule is not None:

            def replaced(match, rule=rule):
                value = rule.replace(match, CONTEXT)
                return match[0] if value is None else value

            assert expand(text, rule, CONTEXT)[0] == rule.pattern.sub(replaced, text), name


@given(values)
def test_depth_of_whole_json(value):
    def depth(one):
        below = one.values() if isinstance(one, dict) else one if isinstance(one, list) else None
        return 0 if below is None else 1 + max(map(depth, below), default=0)

    data = json.dumps(value).encode()
    assert json_depth(data) == depth(value)
    assert too_deep(data, 2) == (depth(value) > 2)
    assert json_depth(clip_depth(data, 2)) <= 3


FENCE = re.compile(r"\A\s*```[A-Za-z0-9]*[ \t]*\n(.*?)\n?\s*```\s*\Z", re.DOTALL)


@given(pieces("```", "```json\n", "\n", " ", "1", "[", "]", "`"))
def test_a_fence_around_json(text):
    def outcome(read, given):
        try:
            return read(given)
        except JsonFault:
            return None

    fenced = FENCE.match(text)
    inner = fenced[1] if fenced else text
    if (expected := outcome(read_json, inner)) is not None:
        assert outcome(read_json_leniently, text) == expected


@given(pieces("[a.b]\n", "k = 1\n", "'a' . \"b\" = '''x\n'''\n", 'c = """a.b\\""" """\n', "# a.b\n", "\n"))
def test_toml_is_read_as_by_the_standard_library(text):
    try:
        expected = tomllib.loads(text)
    except ValueError:
        expected = None
    assert FORMATS["codex"].load(text, "f").value == expected


def test_a_key_of_very_many_parts_is_refused_where_it_stands():
    document = FORMATS["codex"].load("a = 1\n[" + "b." * 64 + "c]\n", "f")
    assert document.value is None
    assert (document.problems[0].line, document.problems[0].column) == (2, 2)
    for text in ("x = '''" + "a." * 90 + "'''\n", "# " + "a." * 90 + "\n", 'x = "' + "a." * 90 + '"\n'):
        assert FORMATS["codex"].load(text, "f").value is not None


@given(st.text())
def test_what_is_hidden_is_visible_by_its_escape(text):
    assert visible(text) == "".join(
        one if one.isprintable() and clean(one) == one else visible(one) for one in text
    )
    assert clean(visible(text)).isprintable() or not visible(text)


@given(st.lists(st.text("\ud800\ud801a", max_size=2), unique=True, max_size=12))
def test_no_key_is_lost_for_its_likeness(keys):
    made = representable({key: at for at, key in enumerate(keys)})
    assert sorted(made.values()) == list(range(len(keys)))
