"""The daemon's own config: defaults, errors with their place, and warnings that show what is in force."""

from pathlib import Path

import msgspec
import pytest

from toolsearchd.config.settings import Settings, dump_settings, load_settings
from toolsearchd.config.tool_search import resolve_connectors, resolve_tool_search

EXAMPLE = Path(__file__).parents[2] / "etc" / "config.yaml"


def test_the_documented_file_is_the_defaults():
    settings, problems = load_settings(EXAMPLE.read_text(), "config.yaml")
    assert problems == []
    assert settings == Settings()


def test_every_key_is_documented():
    text = EXAMPLE.read_text()
    plain = msgspec.to_builtins(Settings())
    for section, value in plain.items():
        assert f"{section}:" in text
        for key in value if isinstance(value, dict) and section != "limits" else ():
            assert f"{key}:" in text, f"{section}.{key}"


def test_what_is_printed_reads_back_the_same():
    text = """
tools: {tool_search: {enabled: on, listing: off, aliases: {"a/*": [b, c]}}}
sources: [{path: ~/x.json, format: cursor}]
profiles: {p: {match: {client: "x*"}, servers: [a]}}
approval: {rules: [{tool: "rm*", then: deny}]}
limits: {line_bytes: 4MiB}
"""
    settings, problems = load_settings(text, "f")
    assert problems == []
    assert settings.limits.line_bytes == 4 << 20
    again, problems = load_settings(dump_settings(settings), "f")
    assert problems == []
    assert again == settings


@pytest.mark.parametrize(
    ("text", "line", "path", "words"),
    [
        ("aproval: {}", 1, "aproval", "did you mean approval"),
        ("approval:\n  wait: 3", 2, "approval.wait", "did you mean wait_s"),
        ("approval:\n  rules:\n    - {then: maybe}", 3, "approval.rules[0].then", "maybe"),
        ("profiles:\n  a:\n    servers: 5", 3, "profiles.a.servers", "expected"),
        ("limits:\n  line_bytes: many", 2, "limits.line_bytes", "expected int"),
        ("limits: {nonsense: 1}", 1, "limits.nonsense", "unknown key"),
        ("sources: cursor", 1, "sources", "auto"),
        ("sources:\n  - {format: cursor}", 2, "sources[0]", "path"),
        ("servers:\n  a: 5", 2, "servers.a", "mapping"),
        ("journal: {}\njournal: {}", 2, "journal", "twice"),
        ("approval: [", 1, "", "expected"),
        ("- a", 1, "", "mapping"),
    ],
)
def test_errors_say_where_and_what(text, line, path, words):
    settings, problems = load_settings(text, "config.yaml")
    assert settings is None
    (problem,) = problems
    assert (problem.level, problem.file, problem.path) == ("error", "config.yaml", path)
    assert abs(problem.line - line) <= (0 if path else 1)
    assert words in problem.message


def test_odd_values_of_tool_search_are_warnings():
    settings, problems = load_settings("tools:\n  tool_search:\n    threshold_pct: 250\n    colour: red", "f")
    assert settings is not None
    assert settings.tool_search.threshold_pct == 100.0
    assert [(p.level, p.line) for p in problems] == [("warning", 3), ("warning", 4)]
    assert "100 in force" in problems[0].message


def test_yaml_that_multiplies_is_refused():
    bomb = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
        f"{chr(98 + n)}: &{chr(98 + n)} [{','.join(['*' + chr(97 + n)] * 9)}]\n" for n in range(8)
    )
    settings, problems = load_settings(bomb, "f")
    assert settings is None
    assert problems[-1].level == "error"


def test_connectors_in_all_their_shapes():
    assert resolve_connectors(None)[0].enabled
    assert not resolve_connectors(False)[0].enabled
    assert not resolve_connectors({"enabled": "no"})[0].enabled
    assert resolve_connectors({"enabled": {}})[0].enabled
    assert resolve_connectors("odd")[1]


def test_fit_is_ours():
    assert resolve_tool_search({"enabled": "FIT"})[0].enabled == "fit"
