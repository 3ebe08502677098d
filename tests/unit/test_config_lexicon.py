"""Languages and word lists of the person's own: what the config says, and what a file may hold."""

from fnmatch import fnmatchcase

import msgspec
import pytest

from toolsearchd.config.settings import load_settings
from toolsearchd.config.settings_text import dump_settings
from toolsearchd.config.tool_search import (
    LANGUAGES,
    SCRIPTS,
    LexiconFiles,
    ToolSearch,
    overridden,
    resolve_tool_search,
)
from toolsearchd.config.word_list import MAX_LINES, parse_word_list
from toolsearchd.dialects.registry import OPTIONS, make_analyzer
from toolsearchd.index.analyzer import LATIN_LANGUAGES
from toolsearchd.index.lexicon import default_lexicon, own_lexicon


def test_every_language_that_may_be_named_has_a_stemmer():
    assert set(LANGUAGES) <= LATIN_LANGUAGES
    assert not set(SCRIPTS) & LATIN_LANGUAGES
    make_analyzer("default", {"languages": list(LANGUAGES)})


@pytest.mark.parametrize(
    ("given", "effective", "said"),
    [
        (None, ("english",), ["expected a list"]),
        ([], ("english",), ["none is left"]),
        ("german", ("german",), []),
        ([" German", "english", "german"], ("german", "english"), []),
        (["english", "russian"], ("english",), ["russian needs no entry"]),
        (["klingon", 5, ["german"]], ("english",), ["no word endings of 'klingon'", "5", "german", "none"]),
        ({"german": 1}, ("english",), ["expected a list"]),
    ],
)
def test_languages_have_an_effective_value_and_warnings(given, effective, said):
    settings, warnings = resolve_tool_search({"languages": given})
    assert settings.languages == effective
    assert [key for key, _ in warnings] == ["languages"] * len(said)
    for (_, message), part in zip(warnings, said, strict=True):
        assert part in message


@pytest.mark.parametrize(
    ("given", "effective", "said"),
    [
        (None, LexiconFiles(), []),
        ({}, LexiconFiles(), []),
        ("words", LexiconFiles(), ["expected a mapping"]),
        ({"thesaurus": "a.txt"}, LexiconFiles(thesaurus="a.txt"), []),
        ({"thesaurus": None, "products": ["x"]}, LexiconFiles(), ["products: expected a file's path"]),
        ({"thesauri": "a", 5: "b"}, LexiconFiles(), ["'thesauri' is no list", "5 is no list"]),
        (
            {"products": "p", "replace": ["products", "stop_words", [1], "products"]},
            LexiconFiles(products="p", replace=("products",)),
            ["'stop_words' has no file", "'[1]' has no file"],
        ),
        ({"products": "p", "replace": 5}, LexiconFiles(products="p"), ["replace: expected a list"]),
    ],
)
def test_the_lexicon_has_an_effective_value_and_warnings(given, effective, said):
    settings, warnings = resolve_tool_search({"lexicon": given})
    assert settings.lexicon == effective
    for (key, message), part in zip(warnings, said, strict=True):
        assert key == "lexicon"
        assert part in message


def test_warnings_have_a_place_and_the_effective_config_reads_back():
    lexicon = "    lexicon: {thesaurus: t, replace: thesaurus}"
    text = f"tools:\n  tool_search:\n    languages: [english, klingon]\n{lexicon}"
    settings, problems = load_settings(text, "config.yaml", OPTIONS)
    (problem,) = problems
    assert (problem.level, problem.line, problem.path) == ("warning", 3, "tools.tool_search.languages")
    assert load_settings(dump_settings(settings), "printed", OPTIONS) == (settings, [])


# --- files ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "line", "said"),
    [
        ("thesaurus", "lonely", "two words or more"),
        ("thesaurus", "one ---", "without a letter or digit"),
        ("products", "three words long", "one or two words"),
        ("stop_words", "x" * 1_001, "longer than"),
    ],
)
def test_an_odd_line_is_told_with_its_number_and_ignored(name, line, said):
    text, problems = parse_word_list(name, f"# comment\n\nlist show\n{line}\n", "words.txt")
    (problem,) = problems
    assert text == "list show"
    assert (problem.level, problem.file, problem.line) == ("warning", "words.txt", 4)
    assert said in problem.message


def test_a_file_of_another_kind_is_told_briefly():
    text, problems = parse_word_list("thesaurus", "lonely\n" * (MAX_LINES + 5), "x.bin")
    assert text == ""
    assert len(problems) == 22
    assert f"{MAX_LINES - 21} further lines" in problems[20].message
    assert problems[21].line == MAX_LINES + 1


def test_own_lists_add_to_the_packaged_ones_or_replace_them():
    packaged = default_lexicon()
    assert own_lexicon({}) is packaged
    texts = {"thesaurus": "Time_Zone  clock", "products": "Acme  Board\nlinear", "ordinary_words": "Telegram"}
    own = own_lexicon(texts)
    assert own.thesaurus == (*packaged.thesaurus, (("time", "zone"), ("clock",)))
    assert "linear" not in packaged.products
    assert own.products == (packaged.products - {"telegram"}) | {"acme board", "linear"}
    assert own.stop_words == packaged.stop_words
    alone = own_lexicon(
        texts | {"stop_words": "Der die das"}, replaced=["thesaurus", "stop_words", "products"]
    )
    assert alone.thesaurus == ((("time", "zone"), ("clock",)),)
    assert alone.products == {"acme board", "linear"}
    assert alone.stop_words == {"der", "die", "das"}


def test_stop_words_are_part_of_what_an_index_is_made_with():
    plain, own = make_analyzer("default"), make_analyzer("default", {"stop_words": ["der"]})
    assert (
        plain.fingerprint
        != own.fingerprint
        != make_analyzer("default", {"languages": ["german"]}).fingerprint
    )


# --- aliases --------------------------------------------------------------------------------------


def test_an_alias_glob_means_tools_or_servers_or_both():
    aliases = {
        "git*": ["vcs"],
        "github/create_*": ["new"],
        "send_mail": ["mail"],
        "ns/do": ["x"],
        "*/a/b": ["y"],
    }
    settings, warnings = resolve_tool_search({"aliases": aliases})
    assert warnings == []

    def of(server, tool):
        return {w for glob, words in settings.aliases_of(server) if fnmatchcase(tool, glob) for w in words}

    assert of("github", "create_issue") == {"vcs", "new"}
    assert of("github", "list_issues") == {"vcs"}
    assert of("gitlab", "create_issue") == {"vcs"}
    assert of("mail", "create_issue") == set()
    assert of("mail", "send_mail") == {"mail"}
    assert of("any", "ns/do") == {"x"}
    assert of("ns", "do") == {"x"}
    assert of("@org/server", "a/b") == {"y"}


def test_a_profile_cannot_have_words_of_its_own():
    base = ToolSearch(languages=("german",), lexicon=LexiconFiles(thesaurus="t"))
    section = {"languages": ["french"], "lexicon": {}, "aliases": {"a": ["b"]}, "search_default_limit": 7}
    settings, warnings = overridden(base, section)
    assert settings == msgspec.structs.replace(base, search_default_limit=7)
    assert [key for key, _ in warnings] == ["languages", "lexicon", "aliases"]
