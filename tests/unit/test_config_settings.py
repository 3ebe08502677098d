"""The daemon's own config: defaults, errors with their place, and warnings that show what is in force."""

from pathlib import Path

import msgspec
import pytest

from toolsearchd.config.settings import Settings, load_settings
from toolsearchd.config.settings_text import dump_settings
from toolsearchd.config.tool_search import resolve_connectors, resolve_tool_search
from toolsearchd.dialects.registry import OPTIONS

EXAMPLE = Path(__file__).parents[2] / "etc" / "config.yaml"


def test_the_documented_file_is_the_defaults():
    settings, problems = load_settings(EXAMPLE.read_text(), "config.yaml", OPTIONS)
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
    settings, problems = load_settings(text, "f", OPTIONS)
    assert problems == []
    assert settings.limits.line_bytes == 4 << 20
    again, problems = load_settings(dump_settings(settings), "f", OPTIONS)
    assert problems == []
    assert again == settings


@pytest.mark.parametrize(
    ("text", "line", "path", "words"),
    [
        ("aproval: {}", 1, "aproval", "did you mean approval"),
        ("approval:\n  wait: 3", 2, "approval.wait", "did you mean wait_s"),
        ("approval:\n  rules:\n    - {then: maybe}", 3, "approval.rules[0].then", "maybe"),
        ("profiles:\n  a:\n    servers: 5", 3, "profiles.a.servers", "expected"),
        ("limits:\n  line_bytes: many", 2, "limits.line_bytes", "expected a whole number"),
        ("limits: {nonsense: 1}", 1, "limits.nonsense", "unknown key"),
        ("limits: {user_file_bytes: 1e30}", 1, "limits.user_file_bytes", "expected"),
        (f"limits: {{open_requests: 1{'0' * 400}}}", 1, "limits.open_requests", "at most 4294967296"),
        ("sources: cursor", 1, "sources", "auto"),
        ("sources:\n  - {format: cursor}", 2, "sources[0]", "path"),
        ("servers:\n  a: 5", 2, "servers.a", "mapping"),
        (
            "servers: {a: {command: x, trust: half}}",
            1,
            "servers.a.trust",
            "'half' is none of full, untrusted",
        ),
        ("approval: {default: dney}", 1, "approval.default", "none of allow, ask, deny, ask-destructive"),
        ("approval: {rules: [{then: dney}]}", 1, "approval.rules[0].then", "none of allow, ask, deny"),
        (
            "hooks: {pre_call: [{command: x, on_error: shut}]}",
            1,
            "hooks.pre_call[0].on_error",
            "open, closed",
        ),
        ("profiles: {a: {approval: dney}}", 1, "profiles.a.approval", "none of allow, ask, deny"),
        ("sources: [x.json]", 1, "sources[0]", "{path, format}"),
        ("journal: {}\njournal: {}", 2, "journal", "twice"),
        ("approval: [", 1, "", "expected"),
        ("- a", 1, "", "mapping"),
    ],
)
def test_errors_say_where_and_what(text, line, path, words):
    settings, problems = load_settings(text, "config.yaml", OPTIONS)
    assert settings is None
    (problem,) = problems
    assert (problem.level, problem.file, problem.path) == ("error", "config.yaml", path)
    assert abs(problem.line - line) <= (0 if path else 1)
    assert words in problem.message


def test_odd_values_of_tool_search_are_warnings():
    settings, problems = load_settings(
        "tools:\n  tool_search:\n    threshold_pct: 250\n    colour: red", "f", OPTIONS
    )
    assert settings is not None
    assert settings.tool_search.threshold_pct == 100.0
    assert [(p.level, p.line) for p in problems] == [("warning", 3), ("warning", 4)]
    assert "100 in force" in problems[0].message


def test_yaml_that_multiplies_is_refused():
    bomb = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
        f"{chr(98 + n)}: &{chr(98 + n)} [{','.join(['*' + chr(97 + n)] * 9)}]\n" for n in range(8)
    )
    settings, problems = load_settings(bomb, "f", OPTIONS)
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


@pytest.mark.parametrize(
    ("text", "place", "path", "words"),
    [
        ("servers:\n  a: {command: x, tiemout: 5}", (2, 19), "servers.a.tiemout", "did you mean timeout"),
        ("servers:\n  a: {}", (2, 3), "servers.a.command", "neither a command nor a url"),
        ("servers: {a: {command: x, trust: some}}", (1, 27), "servers.a.trust", "some"),
        ("servers: {a: {command: x, enabled: 'no'}}", (1, 27), "servers.a.enabled", "true or false"),
        ("servers: {a: {command: x, tools: {inclued: []}}}", (1, 35), "servers.a.tools.inclued", "include"),
        ("sources: [{path: x, format: cursr}]", (1, 21), "sources[0].format", "did you mean cursor"),
        ("sources: [{path: x.json}]", (1, 11), "sources[0].format", "give one"),
        ("sources: [{path: ''}]", (1, 12), "sources[0].path", "characters"),
        ("limits: {sweep_s: 0}", (1, 10), "limits.sweep_s", "more than 0"),
        ("limits: {frame_bytes: -1}", (1, 10), "limits.frame_bytes", "more than 0"),
        ("limits: {settle_s: -1}", (1, 10), "limits.settle_s", "0 or more"),
        ("limits: {call_timeout_s: .inf}", (1, 1), "limits", "finite"),
        ("approval: {wait_s: .nan}", (1, 1), "approval", "finite"),
        ("hooks: {pre_call: [{command: ''}]}", (1, 21), "hooks.pre_call[0].command", "characters"),
        ("profiles: {a: {context_length: 0}}", (1, 16), "profiles.a.context_length", "at least 1"),
        ("a: b: c", (1, 5), "", "not YAML"),
        ("servers: {a: !!python/name:os.system x}", (1, 14), "", "could not determine a constructor"),
    ],
)
def test_errors_have_line_and_column(text, place, path, words):
    settings, problems = load_settings(text, "config.yaml", OPTIONS)
    assert settings is None
    (problem,) = problems
    assert (problem.line, problem.column, problem.path) == (*place, path)
    assert words in problem.message


def test_every_key_of_the_contract_decodes():
    text = """
tools: {tool_search: {defer: [a], ranker: hermes, enabled: fit, fit_pct: "7.5"}, connectors: false}
sources:
  - {path: ~/.claude.json}
  - {path: /x/y.json, format: gemini}
servers:
  a: {command: x, args: [1, b], env: {A: "${B}"}, timeout: 5, connect_timeout: 6, idle_timeout: 7, pins: [p],
      tools: {include: [], exclude: ["x*"]}, supports_parallel_tool_calls: true, max_concurrency: 2,
      sharing: per-session, start: lazy, trust: untrusted, approval: ask, pass_env: [Z],
      validate: false, unvalidatable: refuse, protocol: auto, enabled: false}
  b: {url: "https://h/mcp", headers: {X: "${Y}"}, type: sse}
environment: {file: ~/e, pass: [A]}
profiles:
  second: {match: {client: [a, "b*"]}, tools: [t], dialect: hermes, context_length: 1000, encoding: x,
           approval: ask, pins: [p], enabled: off, options: {listing: off}}
  default: {servers: []}
approval: {default: deny, wait_s: 1.5, rules: [{profile: p, server: s, tool: t,
           annotation: readOnlyHint=false, arguments: {x: 1}, then: allow}]}
hooks: {pre_call: [{command: [a, b], match: {tool: x}, timeout_s: 1, on_error: open}], post_call: []}
journal: {arguments: true, max_bytes: 1.5GiB, keep: 2}
limits: {reconnect_delays_s: [1, 2], user_file_bytes: 5 MB}
"""
    settings, problems = load_settings(text, "f", OPTIONS)
    assert [problem.path for problem in problems] == ["servers.a.sharing"]
    assert list(settings.profiles) == ["second", "default"]
    assert settings.profiles["second"].enabled == "off" or settings.profiles["second"].enabled is False
    assert settings.journal.max_bytes == 3 << 29
    assert settings.limits.user_file_bytes == 5_000_000
    assert settings.limits.reconnect_delays_s == (1.0, 2.0)
    again, problems = load_settings(dump_settings(settings), "f", OPTIONS)
    assert again == settings
    assert [problem.path for problem in problems] == ["servers.a.sharing"]


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("servers:\n  a: {command: x, sharing: per-call}", "f:2:19: servers.a.sharing", "shared is in force"),
        ("tools:\n  connectors:\n    gateways: {g: {}}", "f:3:5: tools.connectors.gateways", "no effect"),
        ("tools:\n  connectors: {gateways: [g]}", "f:2:16: tools.connectors.gateways", "none in force"),
    ],
)
def test_what_has_no_effect_yet_is_said_with_its_place(text, place, words):
    settings, (problem,) = load_settings(text, "f", OPTIONS)
    assert settings is not None
    assert (problem.level, problem.place) == ("warning", place)
    assert words in problem.message


@pytest.mark.parametrize(
    "text", ["servers: {a: {command: x, sharing: shared}}", "tools: {connectors: {gateways: {}}}"]
)
def test_what_holds_anyway_is_not_said(text):
    assert load_settings(text, "f", OPTIONS)[1] == []


def test_yaml_reads_what_was_written():
    text = """
base: &base {command: x}
servers:
  on: {<<: *base, env: {WHEN: 2024-01-01, PORTS: 22:22, FLAG: yes, OFF: off}}
""".replace("base: &base {command: x}\n", "")
    text = text.replace("servers:\n", "servers:\n  first: &base {command: x}\n")
    settings, problems = load_settings(text, "f", OPTIONS)
    assert problems == []
    assert settings.servers["on"]["command"] == "x"
    assert settings.servers["on"]["env"] == {
        "WHEN": "2024-01-01",
        "PORTS": "22:22",
        "FLAG": True,
        "OFF": False,
    }


@pytest.mark.parametrize(
    "text",
    ["[" * 100_000, "a: &a [*a]", "#" * (5 << 20), "a: " + "9" * 5000, "\x00", "? [a]\n: b", "--- a\n--- b"],
)
def test_no_yaml_gets_out_of_hand(text):
    settings, problems = load_settings(text, "f", OPTIONS)
    assert settings is None
    assert all(problem.level == "error" for problem in problems)


def test_all_mistakes_are_told_at_once():
    text = """
approval: {default: maybe, wait_s: -1, rules: [{server: x, than: deny}]}
limits: {lines_bytes: 4, call_timeout_s: fast}
profiles: {p: {dialect: 7, servrs: [x]}}
servers: {a: {comand: x}, b: {command: x, timeout: -4}}
"""
    settings, problems = load_settings(text, "config.yaml", OPTIONS)
    assert settings is None
    told = {problem.path: problem.message for problem in problems}
    assert {
        "approval.default": "'maybe' is none of allow, ask, deny, ask-destructive",
        "approval.wait_s": "expected a number of at least 0",
        "limits.call_timeout_s": "expected a number, not text",
        "profiles.p.dialect": "expected text or nothing, not a whole number",
    }.items() <= told.items()
    for path, near in {
        "approval.rules[0].than": "then",
        "limits.lines_bytes": "line_bytes",
        "profiles.p.servrs": "servers",
        "servers.a.comand": "command",
    }.items():
        assert f"did you mean {near}?" in told[path]
    assert "servers.b.timeout" in told
