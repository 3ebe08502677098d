"""Texts that make a careless reader slow, by length: a beginning, a unit over and over, an end.

Nothing here knows a reader. The units are what readers look for: openers without ends, ends without openers,
escapes, blanks, long words, marks that join. Any beginning goes with any unit.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from random import Random

Family = Callable[[int], str]
"""A text of about so many characters."""

BEGINNINGS = (
    *(
        "",
        '"',
        "'",
        "{",
        "[",
        "/*",
        "//",
        "/",
        "#",
        "- ",
        "a",
        "a: ",
        'a: "',
        "a: '",
        "a = ",
        'a = "',
        "a = [",
    ),
    *(
        'a = """',
        "a = '''",
        "[a",
        "```",
        "```json\n",
        "${",
        "${a:-",
        "$",
        "\x1b[",
        "\x1b]",
        "mcp__",
        "<!--",
        "a!",
    ),
    *(
        '{"a": ',
        '{"a": "',
        '{"a": [',
        '[{"a": "',
        '{"a": {"b": ',
        '{"id": 1, "result": {"text": "',
        '{"calls": "',
    ),
    *(
        '{"mcpServers": {',
        '{"mcpServers": {"a": {"command": "',
        '{"tools": [{"name": "',
        "\u0301",
        "e\u0301",
        "\u4e00",
    ),
)
UNITS = (
    *(
        '"',
        "\\",
        '\\"',
        '\\\\"',
        "'",
        "\\'",
        '"""',
        "'''",
        '""',
        "''",
        '" "',
        "`",
        "```",
        "```\n",
        "\\u0041",
        "\\ud83d",
    ),
    *(
        "{",
        "[",
        "}",
        "]",
        "{}",
        "[]",
        "][",
        "}{",
        "[[]",
        "{[",
        '{"a":',
        '[{"a":',
        '{"a":"',
        '"a":',
        '"a":1,',
        '["a",',
    ),
    *(
        ",",
        ":",
        ";",
        "=",
        ", ",
        ",\n",
        ",,]",
        " ,",
        ": ",
        "//",
        "/*",
        "*/",
        "/**/",
        "//\n",
        "/",
        "/*\n",
        "#",
        "#\n",
        " #",
    ),
    *(
        " ",
        "\t",
        "\n",
        "\r\n",
        "\r",
        " \n",
        "\n ",
        "  \n",
        "\x0b",
        "\u2028",
        "\xa0",
        "\ufeff",
        "a ",
        "a\n",
        " a",
        "\na",
    ),
    *(
        "a",
        "A",
        "aB",
        "Ab",
        "AAb",
        "_",
        "a_",
        "__",
        "-",
        "a-",
        "1",
        "0",
        "1.",
        ".1",
        "1e",
        "-1,",
        "9" * 20,
        "0x",
        "1_",
    ),
    *(
        "$",
        "${",
        "${a",
        "${a:-",
        "${env:",
        "${env:a",
        "$a",
        "{env:",
        "export ",
        "a=1\n",
        "a = 1\n",
        "a.",
        "[a]\n",
        "[[a]]\n",
    ),
    *(
        "- ",
        "-\n",
        "? ",
        "| ",
        ">",
        "!",
        "!!a ",
        "&a ",
        "*a ",
        "<<: ",
        "%",
        "@",
        "a: ",
        "a: 1\n",
        "- a\n",
        "a:\n",
        "---\n",
    ),
    *(
        "\x1b[",
        "\x1b[0;",
        "\x1b]",
        "\x1b",
        "\x9b",
        "\x9b0",
        "\x9d",
        "\x07",
        "\x1b \x1b",
        "\x1b[m",
        "\x1b]8;;",
        "\x00",
    ),
    *(
        "\u0301",
        "\u0316\u0301",
        "\u0301\u0316",
        "e\u0301",
        "\u0344",
        "\u200d",
        "\ufe0f",
        "\ufe0f\u200d",
        "\u200b",
        "\u202e",
    ),
    *(
        "\u4e00",
        "\u0e31",
        "\u093d",
        "\u093d\u0941",
        "\u1100\u1161",
        "\uac00",
        "\xdf",
        "\ufdfa",
        "\U0001f600",
        "\ud83d",
    ),
    *(
        "*",
        "?",
        "a*",
        "*a",
        "?*",
        "[!",
        "[a-",
        "[]",
        "[a]",
        "<!--",
        "-->",
        "<a>",
        "&lt;",
        "..",
        "../",
        "~1",
        "|",
        "(",
        "(a+)+",
    ),
    *(
        "mcp__",
        "mcp__a__",
        "e.g. ",
        "a. ",
        "a.b ",
        '"id":1,',
        '"id": ',
        '{"id":1}\n',
        "null,",
        "true,",
        "NaN,",
        "1e999,",
    ),
)
ENDS = ("", "x", '"', "'", "}", "]", "\n", "!", " ", "*/", "```", '"}', "b", ":", ",")


def pumped(beginning: str, unit: str, end: str = "") -> Family:
    """The beginning, then the unit for the rest of the length."""
    return lambda n: beginning + unit * max(1, (n - len(beginning) - len(end)) // len(unit)) + end


def cut_json(seed: int, *texts: str) -> Family:
    """A config that is cut inside a text that holds JSON, which holds JSON and these texts."""

    def make(n: int) -> str:
        random = Random(seed)
        inner = json.dumps({"a": ['"', "\\", {"b": texts}]})
        entry = json.dumps({"command": "x", "env": {"CONFIG": json.dumps({"inner": inner, "n": 1})}})
        held = json.dumps((entry + random.choice((",", "\n", ""))) * (n // len(entry) + 1))
        return '{"mcpServers": {"s": {"command": "x", "env": {"CONFIG": ' + held[: max(n - 60, 2)]

    return make


def random_units(seed: int) -> Family:
    """Units in any order."""

    def make(n: int) -> str:
        random = Random(seed)
        block = "".join(random.choices(UNITS, k=min(n, 4096)))
        return (block * (n // len(block) + 1))[:n]

    return make


def many_keys(same: bool, value: str = "1") -> Family:
    """One object of very many members."""

    def make(n: int) -> str:
        count = max(1, n // (12 + len(value)))
        return "{" + ",".join(f'"k{0 if same else at:08}":{value}' for at in range(count)) + "}"

    return make


NAMED: dict[str, Family] = {
    "nested lists": pumped("", "["),
    "nested objects": pumped("", '{"a":'),
    "alternating brackets": pumped("", '[{"a":'),
    "closers": pumped("", "]"),
    "lists side by side": pumped("[", "[],"),
    "unclosed text": pumped('{"a": "', "a "),
    "escapes": pumped('{"a": "', "\\"),
    "escaped quotes": pumped('{"a": "', '\\"'),
    "quotes": pumped("", '"'),
    "single quotes": pumped("", "'"),
    "newlines": pumped("", "\n"),
    "spaces": pumped("a", " ", "b"),
    "comma and spaces": pumped("[1,", " ", "x"),
    "block comments": pumped("", "/* "),
    "line comments": pumped("", "// \n"),
    "one word": pumped("", "a"),
    "capitals": pumped("", "A"),
    "digits": pumped("", "1"),
    "a long number": pumped('{"a": ', "9", "}"),
    "variables": pumped('{"mcpServers": {"s": {"command": "', "${a:-", '"}}}'),
    "marks": pumped("e", "\u0301\u0316"),
    "joiners": pumped("\u4e00", "\u200d"),
    "escape sequences": pumped("", "\x1b["),
    "strings to a terminal": pumped("", "\x1b]"),
    "html comments": pumped("", "<!--"),
    "stars": pumped("a", "*a"),
    "the same key": many_keys(same=True),
    "many keys": many_keys(same=False),
    "odd servers": lambda n: '{"mcpServers": ' + many_keys(same=False)(n) + "}",
    "cut in JSON": cut_json(1),
    "cut in JSON with comments": cut_json(2, "// c", "/* d"),
    "anything": random_units(1),
    "anything else": random_units(2),
}


def any_pump(random: Random) -> tuple[str, Family]:
    """A beginning, one or two units and an end that chance chose, and what they are."""
    beginning, end = random.choice(BEGINNINGS), random.choice(ENDS)
    unit = "".join(random.choices(UNITS, k=random.choice((1, 1, 2))))
    return f"{beginning!r} {unit!r}* {end!r}", pumped(beginning, unit, end)


def all_pumps() -> Iterator[tuple[str, Family]]:
    """Each beginning with each unit."""
    for beginning in BEGINNINGS:
        for unit in UNITS:
            yield f"{beginning!r} {unit!r}*", pumped(beginning, unit)
