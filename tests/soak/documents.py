"""Well-formed documents by length that make work: many problems, many servers, many members of each kind."""

from __future__ import annotations

import json

from tests.soak.hostile import Family, many_keys, pumped
from toolsearchd.config.document import NOWHERE as NOWHERE


def rows_of(head: str, line: str, end: str = "", between: str = "") -> Family:
    """`line` with a number in it, over and over."""

    def make(n: int) -> str:
        count = max(1, (n - len(head)) // (len(line) + len(between) + 4))
        return head + between.join(line.replace("%", f"{at:08}") for at in range(count)) + end

    return make


SERVER = '"k%": {"command": "x", "args": ["a"]}'
JSON: dict[str, Family] = {
    "many servers": rows_of('{"mcpServers": {', SERVER, "}}", ", "),
    "many lines of servers": rows_of('{\n  "mcpServers": {\n    ', SERVER, "\n  }\n}", ",\n    "),
    "servers with comments": rows_of('{"mcpServers": {', f"// c\n{SERVER}, // d\n", "}}"),
    "servers that are none": rows_of('{"mcpServers": {', '"k%": 1', "}}", ","),
    "lines of servers that are none": rows_of('{"mcpServers": {\n', '"k%": {"command": 1}', "}}", ",\n"),
    "a server twice": many_keys(same=True, value='{"command":"x"}'),
    "keys twice below one long key": lambda n: (
        json.dumps({"x" * (n // 2): 0})[:-2] + many_keys(True)(n // 2) + "}"
    ),
    "keys twice, deep": lambda n: '{"a":' * 8 + many_keys(same=True)(n) + "}" * 8,
    "one long list of words": rows_of('{"mcpServers": {"s": {"command": "x", "args": [', '"%"', "]}}}", ","),
    "odd words": rows_of('{"mcpServers": {"s": {"command": "x", "args": [', "null", "]}}}", ","),
    "unset variables": rows_of('{"mcpServers": {"s": {"command": "x", "args": [', '"${a%}"', "]}}}", ","),
    "variables of one server": rows_of(
        '{"mcpServers": {"s": {"command": "x", "env": {', '"A%": "${env:x}"', "}}}}", ",\n"
    ),
    "commas and comments": rows_of('{"mcpServers": {"s": {"command": "x"}},"a": [', "1, /* % */", "]}"),
    "commas that trail": rows_of('{"mcpServers": {}, "a": [', "[1,  ],", "]}"),
    "comments after a comma": lambda n: '{"mcpServers": {}, "a": [1,' + "/**/ " * (n // 5) + "]}",
    "spaces after commas": lambda n: '{"mcpServers": {}, "a": [1,' + " " * n + "2], // c\n}",
    "a comment before the end": lambda n: '{"mcpServers": {"s": {"command": "x"}} /*' + " /" * (n // 2),
    "strings and comments": rows_of('{"mcpServers": {}, ', '"k%": "//", // "\n', "}"),
    "a history": rows_of(
        '{"mcpServers": {"s": {"command": "x"}}, "history": [', '{"text": "say \\"%\\""}', "]}", ","
    ),
    "nested in a comment": lambda n: "{" + "/* { */" * (n // 7) + "}",
}
JSON5: dict[str, Family] = JSON | {
    "bare keys": rows_of("{mcp: {servers: {", "k%: {command: 'x'}", "}}}", ","),
    "one bare word": lambda n: "{mcp: " + "a" * n + "}",
    "a word and spaces": lambda n: "{a" + " " * n + "b: 1}",
    "words": pumped("{", "a ", "}"),
    "single quotes in text": pumped("{mcp: {servers: {s: {command: '", '"', "'}}}}"),
    "escaped single quotes": pumped("{mcp: '", "\\'", "'}"),
    "escapes in single quotes": pumped("{mcp: '", '\\\\"', "'}"),
}
YAML: dict[str, Family] = {
    "yaml servers": rows_of("mcp_servers:\n", "  k%:\n    command: x\n"),
    "yaml servers in braces": rows_of("mcp_servers: {", "k%: {command: x}", "}\n", ", "),
    "yaml servers with comments": rows_of("mcp_servers:\n", "  # c\n\n  k%: {command: x}\n"),
    "yaml odd servers": rows_of("servers:\n", "  k%: 1\n"),
    "yaml unknown keys": rows_of("", "k%: 1\n"),
    "yaml profiles": rows_of("profiles:\n", "  k%: {servers: 1}\n"),
    "yaml keys twice": rows_of("servers:\n", "  same: {command: x}\n"),
    "yaml sources": rows_of("sources:\n", "- {path: /a%, format: x}\n"),
    "yaml anchors": rows_of("a: &a {x: 1}\nmcp_servers:\n", "  k%: *a\n"),
    "yaml merges": rows_of("a: &a {x: 1}\nmcp_servers:\n", "  k%: {<<: *a}\n"),
    "yaml blank lines": lambda n: "mcp_servers:\n  s: {command: x}\n" + "\n" * n,
    "yaml comment lines": lambda n: "mcp_servers:\n  s: {command: x}\n" + "  # c\n" * (n // 6) + "b: 1\n",
    "yaml text of lines": lambda n: "mcp_servers:\n  s:\n    command: |\n" + "      a\n" * (n // 8),
    "yaml text in quotes": lambda n: 'a: "' + "a \n " * (n // 4) + '"\n',
    "yaml words of lines": lambda n: "a: " + "a\n " * (n // 3) + "\n",
    "yaml list": rows_of("a:\n", "- %\n"),
    "yaml flow": lambda n: "a: [" + "a, " * (n // 3) + "]\n",
    "yaml long key": lambda n: "a" * n + ": 1\n",
    "yaml rules": rows_of("approval:\n  rules:\n", "  - {tool: x%, then: ask}\n"),
    "yaml nested words": lambda n: "a: " + "- " * n,
    "yaml documents": lambda n: "---\n" * (n // 4),
}
TOML: dict[str, Family] = {
    "tables": rows_of("", '[mcp_servers.k%]\ncommand = "x"\n\n'),
    "tables with comments": rows_of("", '# c\n\n# d\n[mcp_servers.k%]\ncommand = "x"\n'),
    "tables of lists": rows_of("", "[[a]]\nb = %\n"),
    "keys": rows_of("", "k% = 1\n"),
    "dotted keys": rows_of("", "a.b.c.k% = 1\n"),
    "one dotted key": lambda n: "a." * (n // 2) + "b = 1\n",
    "one dotted table": lambda n: "[" + "a." * (n // 2) + "b]\nc = 1\n",
    "dotted keys of some length": lambda n: "".join(f"{'a.' * 100}k{at} = 1\n" for at in range(n // 210)),
    "dotted key in braces": lambda n: "a = {" + "a." * (n // 2) + "b = 1}\n",
    "quoted dotted key": lambda n: '"a".' * (n // 4) + "b = 1\n",
    "key of spaces": lambda n: "a" + " " * n + "= 1\n",
    "dots and spaces": lambda n: "a" + " . a" * (n // 4) + " = 1\n",
    "long list": rows_of("a = [", "'%'", "]\n", ",\n"),
    "long list with comments": rows_of("a = [", "1, # %\n", "]\n"),
    "text of lines": lambda n: "a = '''" + "x\n" * (n // 2) + "'''\n",
    "text of quotes": lambda n: 'a = """' + '\\"' * (n // 2) + '"""\n',
    "text of pairs of quotes": lambda n: 'a = """' + '"" x' * (n // 4) + '"""\n',
    "text of escapes": lambda n: 'a = "' + "\\u0041" * (n // 6) + '"\n',
    "braces": rows_of("a = {", "k% = 1", "}\n", ", "),
    "odd tables": rows_of("", "[mcp_servers.k%]\ncommand = 1\n"),
    "blank lines": lambda n: "a = 1\n" + " \n" * (n // 2) + "b = 2\n",
    "comments": lambda n: "# c\n" * (n // 4) + "[mcp_servers.s]\ncommand = 'x'\n",
    "excluded tools": lambda n: (
        "[mcp_servers.s]\ncommand = 'x'\nenabled_tools = ["
        + "".join(f"'{at}'," for at in range(n // 20))
        + "]\ndisabled_tools = ["
        + "'x'," * (n // 8)
        + "]\n"
    ),
}
ENVIRONMENT: dict[str, Family] = {
    "spaces in a value": lambda n: "A=x" + " " * n + "y",
    "many spaces in a value": lambda n: "A=" + "x   " * (n // 4),
    "spaces behind": lambda n: "A=x" + " " * n,
    "spaces before": lambda n: " " * n + "A=x",
    "spaces before nothing": lambda n: " " * n + "=",
    "spaces after export": lambda n: "export" + " " * n + "=",
    "lines": rows_of("", "A% = x\n"),
    "odd lines": rows_of("", "%\n"),
}
WORDS: dict[str, Family] = {
    "one word": pumped("", "a"),
    "words of a shell": pumped("", "a 'b' "),
    "quotes in a word": pumped("", "'a'"),
    "double quotes in a word": pumped("", '"a\\""'),
    "list of words": pumped("[", "'a',", "]"),
    "backslashes": pumped("", "\\a"),
    "query of an address": pumped("http://a/", "?a"),
}
GLOBS: dict[str, Family] = {
    "many stars": pumped("", "a*", "b"),
    "stars and signs": pumped("", "*?"),
    "sets": pumped("", "[a-c]*"),
    "open sets": pumped("", "*["),
    "ranges": pumped("[", "z-a", "]"),
    "signs": pumped("*", "?", "b"),
    "one star": pumped("*", "a", "b"),
    "signs and letters": pumped("*", "a?", "b"),
}
LINES: dict[str, Family] = {
    "answers": rows_of("", '{"jsonrpc":"2.0","id":%,"result":{}}\n'),
    "a listing of tools": rows_of(
        '{"jsonrpc":"2.0","id":1,"result":{"tools":[', '{"name":"k%","inputSchema":{}}', "]}}", ","
    ),
    "ids": pumped('{"jsonrpc":"2.0",', '"id":1,', '"result":{}}'),
    "long id": pumped('{"jsonrpc":"2.0","id":"', "a", '","result":{}}'),
    "odd keys": lambda n: json.dumps(
        {
            "id": 1,
            "result": {
                chr(0xD800 + at // 2000) + chr(0xD800 + at % 2000): 1 for at in range(max(1, n // 16))
            },
        }
    ),
    "half characters": pumped('{"jsonrpc":"2.0","id":1,"result":"', "\\ud83d", '"}'),
    "deep schema": lambda n: (
        '{"id":1,"result":{"tools":['
        + '{"name":"x","inputSchema":'
        + '{"a":' * (n // 6)
        + "1"
        + "}" * (n // 6)
        + "}]}}"
    ),
    "deep schemas": lambda n: (
        '{"id":1,"result":{"tools":['
        + ",".join(['{"name":"x","inputSchema":' + "[" * 200 + "]" * 200 + "}"] * max(1, n // 430))
        + "]}}"
    ),
    "broken off": lambda n: '{"id":1,"result":{"text":"' + json.dumps('{"a": "b"}, ' * (n // 16)),
    "broken off in a text": lambda n: (
        '{"id":1,"result":{"text":' + json.dumps('{"a": [{"b": "c"}]}, ' * (n // 24))
    )[:-4],
    "one short line": pumped("", "{}\n"),
    "a batch": pumped("[", '{"id":1},', "{}]"),
}
TOOLS: dict[str, Family] = {
    "many properties": rows_of(
        '{"name":"x","inputSchema":{"properties":{', '"k%":{"type":"string"}', "}}}", ","
    ),
    "long description": pumped('{"name":"x","description":"', "a. ", '"}'),
    "odd members": many_keys(same=True, value='{"name":"x"}'),
    "deep": lambda n: '{"name":"x","inputSchema":' + '{"a":' * (n // 6) + "1" + "}" * (n // 6) + "}",
}
VALUES: dict[str, Family] = {
    "texts": rows_of("[", '"%"', "]", ","),
    "numbers": rows_of("[", "1%", "]", ","),
    "odd keys": LINES["odd keys"],
    "odd numbers": pumped("[", "NaN,", "1]"),
    "long numbers": pumped("[", "9" * 400 + ",", "1]"),
    "deep": lambda n: "[" * min(n // 2, 180) + "1" + "]" * min(n // 2, 180),
    "deep and wide": lambda n: "[" + ",".join(["[" * 50 + "]" * 50] * (n // 101 + 1)) + "]",
    "characters by halves": pumped('"', "\\ud83d\\ude00", '"'),
}
SIGNS: dict[str, Family] = {
    "paragraphs": pumped("", "\n\n\n\na"),
    "sentences": pumped("", "e.g. a. "),
    "colours": pumped("", "\x1b[0;1m"),
    "parameters": pumped("\x1b[", "0"),
    "parameters without end": pumped("", "\x1b[0 "),
    "intermediates": pumped("\x1b", " "),
    "titles": pumped("", "\x1b]0;a\x07"),
    "joined": pumped("", "\u4e00\u200d"),
    "emoji": pumped("", "\U0001f469\u200d\U0001f467"),
    "vowels": pumped("\u0915", "\u093e"),
    "runs of marks": pumped("", "e" + "\u0316\u0301" * 40),
    "unsorted marks": lambda n: "e" + "\u0301" * (n // 2) + "\u0316" * (n // 2),
    "marks in pairs": pumped("e", "\u0344\u0316"),
    "camels": pumped("", "aB"),
    "many words": rows_of("", "word% "),
    "unspaced": pumped("", "\u4e00\u4e01"),
}
NAMES: dict[str, Family] = {
    "flat": rows_of("", "k%\n"),
    "in families": rows_of("", "zone_record_%\n"),
    "of a chain": lambda n: "\n".join(
        "_".join("a" * (1 + at % 30)) + str(at) for at in range(max(1, n // 40))
    ),
    "a staircase": lambda n: "\n".join("a_" * at for at in range(1, max(2, int((2 * n / 2) ** 0.5)))),
    "a wide tree": lambda n: "\n".join(
        f"a{at % 7}_b{at % 11}_c{at % 13}_{at}" for at in range(max(1, n // 20))
    ),
    "halves": lambda n: "\n".join("_".join(f"{at:b}") for at in range(max(1, n // 32))),
    "words in a row": pumped("", "a, "),
}
