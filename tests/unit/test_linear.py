"""What took seconds takes time that grows with the text: named inputs, and who is measured by `make soak`."""

import gc
import re
import time
from pathlib import Path

import pytest

from tests.soak import hostile
from tests.soak.readers import ROWS

ROOT = Path(__file__).parents[2] / "toolsearchd"
READERS = {row.name: row for row in ROWS}
TIMES = 4
MOST_GROWTH = 9  # of four times the text: 4 is linear, 16 the square
TRIES = 5

# Reader, family, characters. Each took its seconds at four times this length, or would at its limit.
INPUTS = [
    ("config of JSON", "cut in JSON", 40_000),
    ("config of JSON", "escaped quotes", 40_000),
    ("config of JSON", "block comments", 40_000),
    ("config of JSON", "servers that are none", 20_000),
    ("config of JSON", "the same key", 60_000),
    ("config of JSON", "keys twice below one long key", 60_000),
    ("config of JSON", "variables of one server", 20_000),
    ("config of JSON5", "cut in JSON", 40_000),
    ("config of JSON5", "one bare word", 40_000),
    ("config of TOML", "one dotted key", 40_000),
    ("config of TOML", "one dotted table", 40_000),
    ("Claude Code's file", "unset variables", 20_000),
    ("environment file", "spaces in a value", 40_000),
    ("variables", "variables without an end", 40_000),
    ("an entry's words", "one word", 200_000),
    ("edit of JSON", "many servers", 60_000),
    ("edit of TOML", "tables", 60_000),
    ("install into JSON", "variables of one server", 20_000),
    ("install into YAML", "yaml servers", 12_000),
    ("lines of a server", "broken off in a text", 40_000),
    ("lines of a server", "cut in JSON", 40_000),
    ("results", "odd keys", 40_000),
    ("a line that answers", "cut in JSON", 40_000),
    ("depth of JSON", "escaped quotes", 40_000),
    ("a tool's definition", "cut in JSON", 40_000),
    ("families of names", "unclosed text", 100_000),
    ("JSON that is mended", "a fence of spaces", 40_000),
    ("the analyzers", "unsorted marks", 16_000),
    ("rules on arguments", "unsorted marks", 16_000),
    ("a glob against itself", "signs", 16_000),
]
MORE = {
    "variables without an end": hostile.pumped("", "${a:-"),
    "unsorted marks": lambda n: "e" + "\u0301" * (n // 2) + "\u0316" * (n // 2),
}

# Modules that take texts apart and are in no row, and why.
UNMEASURED = {
    "catalog/moments.py": "texts of 64 characters at most, matched once from their beginning",
    "watching/files.py": "whether there is a sign that is no blank: the first one ends the search",
    "calls/journal.py": "names of its own files, of 255 bytes at most",
    "config/choices.py": "a message of the decoder, of one line",
    "live/findability.py": "globs that a person wrote, shown again",
    "disclosure/local_model.py": "one address, matched once from its beginning",
    "ctl/demo.py": "what the daemon wrote",
    "ctl/installation.py": "a difference of two files, for a person who waits for it",
    "ctl/verbs/call.py": "a person's own words",
    "ctl/verbs/eval.py": "a person's own file, decoded line by line",
    "dialects/openclaw/catalog.py": "queries, which are cut before, and words by one class",
    "dialects/openclaw/directory.py": "a name of 128 characters at most",
    "dialects/openclaw/parts.py": "queries, which are cut before",
    "index/sentence_model.py": "the shipped vocabulary, a word a line",
    "index/sketch.py": "the first 1,000 characters of a description",
    "index/lexicon/__init__.py": "lists of ours, and lists that passed `parse_word_list`",
    "samples/stdio_server.py": "a server, whose client is the daemon",
    "upstream/process.py": "a ring of 64 KiB",
    "upstream/evidence.py": "lines of which 300 characters are searched",
    "upstream/refusals.py": "bodies of 64 KiB at most, of which 300 characters are searched",
}


def cpu_s(row, text):
    begin = time.thread_time()
    row.read(text)
    return time.thread_time() - begin


@pytest.mark.parametrize(("reader", "family", "chars"), INPUTS, ids=lambda value: str(value))
def test_four_times_the_text_takes_about_four_times_as_long(reader, family, chars):
    row = READERS[reader]
    make = (hostile.NAMED | row.families | MORE)[family]
    short, long = make(chars), make(TIMES * chars)
    row.read(short[:100])  # imports
    gc.disable()
    try:
        growth = []
        for _ in range(TRIES):
            growth.append(cpu_s(row, long) / cpu_s(row, short))
            if growth[-1] <= MOST_GROWTH:
                break
    finally:
        gc.enable()
    assert min(growth) <= MOST_GROWTH, growth


TAKES_APART = re.compile(
    r"re\.(?:compile|sub|search|match|split|findall)\(|json\.loads\(|splitlines\(|raw_decode|literal_eval"
)


def test_each_module_that_takes_texts_apart_is_measured():
    measured = {module for row in ROWS for module in row.home}
    modules = {str(path.relative_to(ROOT)): path.read_text() for path in ROOT.rglob("*.py")}
    assert measured <= modules.keys()
    reads = {name for name, text in modules.items() if TAKES_APART.search(text)}
    assert reads - measured - UNMEASURED.keys() == set()
    assert UNMEASURED.keys() <= reads - measured, "it is measured now, or reads no more"


def test_globs_are_matched_in_one_place():
    users = [
        path.name for path in ROOT.rglob("*.py") if re.search(r"\b(?:import|from) fnmatch", path.read_text())
    ]
    assert users == []
