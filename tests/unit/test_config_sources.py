"""Clients' configs: each format's place, shape and variables; what a bad file or entry costs."""

import json

import pytest

from toolsearchd.config.entry import is_own_door
from toolsearchd.config.expand import ExpandContext
from toolsearchd.config.merge import desired_state, spec_digest
from toolsearchd.config.settings import Settings
from toolsearchd.config.sources import FORMATS, Parsed, format_of
from toolsearchd.config.sources.base import Homes

CONTEXT = ExpandContext(environ={"SET": "value", "EMPTY": ""}, home="/home/me", workspace="/work")
KEY = b"k" * 32


def parse(format_, document, **more):
    text = document if isinstance(document, str) else json.dumps(document)
    return FORMATS[format_].parse(text, "file", CONTEXT, **more)


def one(format_, entry, section="mcpServers"):
    (spec,) = parse(format_, {section: {"s": entry}}).servers
    return spec


@pytest.mark.parametrize(
    ("format_", "written", "expanded"),
    [
        ("claude-code", "${SET}", "value"),
        ("claude-code", "${UNSET:-x}", "x"),
        ("claude-code", "${EMPTY:-x}", ""),
        ("claude-code", "${UNSET}", "${UNSET}"),
        ("claude-code", "$SET", "$SET"),
        ("claude-code", "${env:SET}", "${env:SET}"),
        ("claude-desktop", "${SET}", "${SET}"),
        ("cursor", "${env:SET}", "value"),
        ("cursor", "${SET}", "${SET}"),
        ("cursor", "${userHome}${/}x", "/home/me/x"),
        ("cursor", "${workspaceFolderBasename}", "work"),
        ("hermes", "${SET}", "value"),
        ("hermes", "${env:SET}", "value"),
        ("hermes", "${EMPTY}", "${EMPTY}"),
        ("hermes", "${UNSET}", "${UNSET}"),
    ],
)
def test_variables_by_each_formats_own_rules(format_, written, expanded):
    section = "mcp_servers" if format_ == "hermes" else "mcpServers"
    parsed = parse(format_, {section: {"s": {"command": "x", "env": {"V": written}}}})
    assert parsed.servers[0].env["V"] == expanded
    unset = "UNSET}" in written or (format_, written) == ("hermes", "${EMPTY}")
    assert bool(parsed.problems) == unset
    for problem in parsed.problems:
        assert problem.path.endswith("s.env.V")
        assert "value" not in problem.message


def test_json_as_editors_write_it():
    text = '\ufeff{\r\n // a comment\n "servers": {"s": {"command": "x", /* y */ "args": ["// no", "a,]"],}}}'
    (spec,) = parse("vscode", text).servers
    assert spec.command == ("x", "// no", "a,]")


def test_a_broken_document_has_a_place():
    parsed = parse("cursor", '{\n  "mcpServers": {\n    "a" 5\n')
    assert not parsed.usable
    assert (parsed.problems[0].line, parsed.problems[0].level) == (3, "error")


@pytest.mark.parametrize("document", [[], {"mcpServers": []}, {"mcpServers": "x"}, "5"])
def test_a_document_of_another_shape_is_unusable(document):
    parsed = parse("cursor", document)
    assert not parsed.usable
    assert parsed.servers == ()


@pytest.mark.parametrize("document", [{}, {"mcpServers": None}, {"other": 1}])
def test_a_document_without_servers_is_fine(document):
    assert parse("cursor", document) == Parsed()


@pytest.mark.parametrize(
    "entry",
    [
        5,
        {},
        {"command": 5},
        {"command": "x", "args": {}},
        {"url": 5},
        {"command": "x", "env": []},
        {"command": "x", "type": "carrier-pigeon"},
        {"command": "x", "timeout": "soon"},
        {"command": "x", "sharing": "no"},
    ],
)
def test_a_bad_entry_costs_itself(entry):
    parsed = parse("cursor", {"mcpServers": {"bad": entry, "good": {"command": "y"}}})
    assert [spec.name for spec in parsed.servers] == ["good"]
    assert parsed.usable
    assert any("mcpServers.bad" in problem.path for problem in parsed.problems)


def test_what_has_no_effect_yet_is_said():
    parsed = parse("cursor", {"mcpServers": {"a": {"command": "x", "sharing": "per-session"}}})
    (problem,) = parsed.problems
    assert (problem.level, problem.path, problem.line) == ("warning", "mcpServers.a.sharing", 1)


def test_odd_words_of_an_own_entry_are_said_once():
    entries = {"a": {"command": "x", "sharing": "per-call", "env": {"A": "${UNSET}"}}}
    found = desired(settings=Settings(servers=entries))
    assert [problem.path for problem in found.problems] == ["servers.a.env.A"]


def test_transports():
    assert one("cursor", {"url": "http://h/mcp"}).transport == "http"
    assert one("cursor", {"url": "http://h/sse"}).transport == "sse"
    assert one("cursor", {"url": "http://h/sse", "type": "streamable-http"}).transport == "http"
    spec = one("cursor", {"url": "http://h/mcp", "command": "x", "headers": {"A": "${env:SET}"}})
    assert (spec.command, spec.headers) == ((), {"A": "value"})


def test_own_keys_and_disabled_flags():
    spec = one(
        "cursor",
        {"command": "x", "timeout": 5, "tools": {"exclude": "a*"}, "disabled": True, "max_concurrency": 2},
    )
    assert (spec.timeout_s, spec.exclude, spec.enabled, spec.max_concurrency) == (5.0, ("a*",), False, 2)
    hermes = one("hermes", {"command": "x", "args": "['a', \"b c\"]".replace("'", '"')}, "mcp_servers")
    assert hermes.command == ("x", "a", "b c")
    assert one("hermes", {"command": "x", "args": "a 'b c'"}, "mcp_servers").command == ("x", "a", "b c")


@pytest.mark.parametrize(
    ("command", "ours"),
    [
        (("toolsearchctl", "mcp"), True),
        (("/opt/bin/toolsearchctl", "--runtime-dir", "/x", "mcp", "--profile", "p"), True),
        (("python3", "-m", "toolsearchd.ctl", "mcp"), True),
        (("mcp", "toolsearchctl"), False),
        (("other", "mcp"), False),
        ((), False),
    ],
)
def test_our_own_door_is_recognised(command, ours):
    assert is_own_door(command) == ours


def test_our_own_door_is_skipped():
    assert parse("cursor", {"mcpServers": {"t": {"command": "toolsearchctl", "args": ["mcp"]}}}) == Parsed()


def test_projects_of_claude_code_belong_to_their_projects():
    parsed = parse(
        "claude-code",
        {"mcpServers": {"a": {"command": "x"}}, "projects": {"/p": {"mcpServers": {"b": {"command": "y"}}}}},
    )
    assert [(spec.name, spec.project) for spec in parsed.servers] == [("a", ""), ("b", "/p")]


def desired(*documents, settings=None):
    parsed = [parse("cursor", {"mcpServers": document}) for document in documents]
    return desired_state(settings or Settings(), parsed, CONTEXT, KEY, "config.yaml")


def merged(*documents, settings=None):
    return desired(*documents, settings=settings).servers


def test_one_meaning_is_one_server_with_several_origins():
    (spec,) = merged(
        {"a": {"command": "x", "env": {"A": "1", "B": "2"}}},
        {"b": {"env": {"B": "2", "A": "1"}, "command": "x"}},
    )
    assert spec.name == "a"
    assert [origin.entry for origin in spec.origins] == ["a", "b"]


def test_one_name_with_two_meanings_stays_two_named_apart():
    first = parse("cursor", {"mcpServers": {"a": {"command": "x"}}})
    other = FORMATS["claude-desktop"].parse('{"mcpServers": {"a": {"command": "y"}}}', "other", CONTEXT)
    names = {s.command: s.name for s in desired_state(Settings(), [first, other], CONTEXT, KEY, "c").servers}
    swapped = {
        s.command: s.name for s in desired_state(Settings(), [other, first], CONTEXT, KEY, "c").servers
    }
    assert names == swapped
    assert len(set(names.values())) == 2
    assert all(name.startswith("a-") for name in names.values())


def test_the_digest_is_keyed_and_shows_no_value():
    spec = one("cursor", {"command": "x", "env": {"TOKEN": "hunter2"}})
    rotated = one("cursor", {"command": "x", "env": {"TOKEN": "hunter3"}})
    assert spec_digest(spec, KEY) != spec_digest(rotated, KEY)
    assert spec_digest(spec, KEY) != spec_digest(spec, b"other" * 8)
    assert "hunter2" not in spec_digest(spec, KEY)


@pytest.mark.parametrize(
    ("format_", "document", "expected"),
    [
        (
            "windsurf",
            {"mcpServers": {"s": {"serverUrl": "https://h/mcp", "headers": {"A": "${env:SET}"}}}},
            {"transport": "http", "url": "https://h/mcp", "headers": {"A": "value"}},
        ),
        (
            "gemini",
            {"mcpServers": {"s": {"command": "x", "args": ["$SET"], "timeout": 30000, "trust": True}}},
            {"command": ("x", "value"), "timeout_s": 30.0, "trust": "full"},
        ),
        ("gemini", {"mcpServers": {"s": {"url": "https://h/mcp"}}}, {"transport": "sse"}),
        ("gemini", {"mcpServers": {"s": {"httpUrl": "https://h/sse"}}}, {"transport": "http"}),
        (
            "gemini",
            {"mcpServers": {"s": {"command": "x", "includeTools": ["a", "b"], "excludeTools": ["b"]}}},
            {"include": ("a",)},
        ),
        (
            "opencode",
            {
                "mcp": {
                    "s": {
                        "type": "local",
                        "command": ["x", "y"],
                        "environment": {"A": "{env:SET}{env:UNSET}"},
                        "timeout": 5000,
                        "enabled": False,
                    }
                }
            },
            {"command": ("x", "y"), "env": {"A": "value"}, "connect_timeout_s": 5.0, "enabled": False},
        ),
        ("opencode", {"mcp": {"s": {"type": "remote", "url": "https://h/x"}}}, {"transport": "http"}),
        (
            "zed",
            '{"context_servers": {"ext": {"settings": {}}, /* old */ '
            '"s": {"command": {"path": "x", "args": ["y"]}},}}',
            {"command": ("x", "y")},
        ),
        ("zed", {"context_servers": {"s": {"source": "custom", "command": "x"}}}, {"command": ("x",)}),
        (
            "cline",
            {"mcpServers": {"s": {"command": "x", "disabled": True, "timeout": 60, "autoApprove": []}}},
            {"enabled": False, "timeout_s": 60.0},
        ),
        ("lmstudio", {"mcpServers": {"s": {"url": "https://h/mcp"}}}, {"url": "https://h/mcp"}),
        (
            "openclaw",
            "{mcp: {servers: {s: {command: 'it\\'s', env: {A: '${SET} \"q\"'},},},}} // JSON5",
            {"command": ("it's",), "env": {"A": 'value "q"'}},
        ),
        (
            "codex",
            """
            [mcp_servers.s]
            command = "x"
            env = { A = "${SET}" }
            env_vars = ["B"]
            enabled_tools = ["a", "b"]
            disabled_tools = ["b"]
            startup_timeout_sec = 20
            tool_timeout_sec = 90.5
            supports_parallel_tool_calls = true
            [mcp_servers.s.tools.a]
            approval_mode = "prompt"
            """,
            {
                "env": {"A": "${SET}"},
                "pass_env": ("B",),
                "include": ("a",),
                "connect_timeout_s": 20.0,
                "timeout_s": 90.5,
                "supports_parallel_tool_calls": True,
            },
        ),
        (
            "codex",
            '[mcp_servers.s]\nurl = "https://h/mcp"\nbearer_token_env_var = "SET"\n'
            'http_headers = { X = "$SET" }\nenv_http_headers = { Y = "SET" }',
            {"headers": {"X": "$SET", "Y": "value", "Authorization": "Bearer value"}},
        ),
        (
            "hermes",
            "mcp_servers: {s: {command: x, lazy: true, lifecycle: {idle_timeout_seconds: 9}, "
            "enabled: 'off'}}",
            {"start": "lazy", "idle_timeout_s": 9.0, "enabled": False},
        ),
        ("claude-code", {"mcpServers": {"s": {"command": "x", "timeout": 45000}}}, {"timeout_s": 45.0}),
        ("claude-code", {"mcpServers": {"s": {"command": "x", "timeout": 800}}}, {"timeout_s": 0.8}),
        ("vscode", {"servers": {"s": {"command": "x", "env": {"A": None, "B": 1}}}}, {"env": {"B": "1"}}),
    ],
)
def test_each_formats_own_shape(format_, document, expected):
    (spec,) = parse(format_, document).servers
    assert {key: getattr(spec, key) for key in expected} == expected
    assert parse(format_, document).problems == ()


def test_where_each_client_keeps_its_file():
    for name, format_ in FORMATS.items():
        paths = format_.paths(Homes("/home/me", "/home/me/.config"))
        assert all(path.startswith("/home/me/") for path in paths), name
        for path in paths:
            assert format_of(path) is format_
            assert format_.project_of(path, Homes("/home/me", "/home/me/.config")) == ""
        if format_.project_file:
            inside = f"/srv/app/{format_.project_file}"
            assert format_of(inside) is format_
            assert format_.project_of(inside, Homes("/home/me", "/home/me/.config")) == "/srv/app"
    assert format_of("/srv/app/x.json") is None


@pytest.mark.parametrize(
    ("variable", "format_", "place"),
    [
        ("CLAUDE_CONFIG_DIR", "claude-code", "/own/.claude.json"),
        ("CODEX_HOME", "codex", "/own/config.toml"),
        ("HERMES_HOME", "hermes", "/own/config.yaml"),
        ("GEMINI_CLI_HOME", "gemini", "/own/.gemini/settings.json"),
        ("OPENCLAW_STATE_DIR", "openclaw", "/own/openclaw.json"),
        ("OPENCLAW_CONFIG_PATH", "openclaw", "/own"),
        ("OPENCODE_CONFIG_DIR", "opencode", "/own/opencode.json"),
        ("OPENCODE_CONFIG", "opencode", "/own"),
    ],
)
def test_a_clients_variable_moves_its_files(variable, format_, place):
    found = FORMATS[format_]
    assert found.paths(Homes("/home/me", "/home/me/.config", {variable: "/own"}))[0] == place
    usual = found.paths(Homes("/home/me", "/home/me/.config"))
    assert found.paths(Homes("/home/me", "/home/me/.config", {variable: ""})) == usual


def test_a_clients_rules_move_with_it():
    homes = Homes("/home/me", "/home/me/.config", {"CLAUDE_CONFIG_DIR": "/own"})
    assert "/own/settings.json" in FORMATS["claude-code"].rule_paths(homes)


def test_a_clients_own_validate_is_taken_where_it_is_ours():
    said = {"a": False, "b": True, "c": "strict", "d": {"schema": "x"}}
    entries = {name: {"command": name, "validate": word} for name, word in said.items()}
    found = parse("cursor", json.dumps({"mcpServers": entries}))
    assert [spec.validate for spec in found.servers] == [False, True, True, True]
    assert [problem.path for problem in found.problems] == [f"mcpServers.{name}.validate" for name in "cd"]


@pytest.mark.parametrize("section", ["servers", "mcp_servers", "context_servers", "mcp"])
def test_servers_under_another_clients_section_are_named(section):
    parsed = parse("cursor", json.dumps({section: {"time": {"command": "time-mcp"}}}))
    ((level, path, words),) = [(p.level, p.path, p.message) for p in parsed.problems]
    assert (level, path) == ("warning", section)
    assert "mcpServers" in words
    assert parse("cursor", json.dumps({section: {"theme": {"dark": True}}})).problems == ()
    assert parse("cursor", json.dumps({section: {"a": {"command": "x"}}, "mcpServers": {}})).problems == ()


@pytest.mark.parametrize(
    ("format_", "entry", "key", "right"),
    [
        ("cursor", {"serverUrl": "http://h/mcp"}, "serverUrl", "url"),
        ("cursor", {"httpUrl": "http://h/mcp"}, "httpUrl", "url"),
        ("cursor", {"command": "x", "environment": {"A": "b"}}, "environment", "env"),
        ("cursor", {"command": "x", "arguments": ["y"]}, "arguments", "args"),
        ("gemini", {"serverUrl": "http://h/mcp"}, "serverUrl", "url"),
        ("claude-code", {"command": "npx -y some-server"}, "command", "args"),
    ],
)
def test_another_clients_key_is_named(format_, entry, key, right):
    found = parse(format_, json.dumps({"mcpServers": {"s": entry}})).problems
    warning = next(p for p in found if p.level == "warning")
    assert warning.path == f"mcpServers.s.{key}"
    assert right in warning.message


@pytest.mark.parametrize(
    ("format_", "section", "entry"),
    [
        ("windsurf", "mcpServers", {"serverUrl": "http://h/mcp"}),
        ("gemini", "mcpServers", {"httpUrl": "http://h/mcp"}),
        ("opencode", "mcp", {"command": ["x"], "environment": {"A": "b"}}),
        ("cursor", "mcpServers", {"command": "/opt/my server/run", "args": []}),
    ],
)
def test_a_clients_own_keys_are_no_mistake(format_, section, entry):
    assert parse(format_, json.dumps({section: {"s": entry}})).problems == ()


def test_a_tilde_is_the_home_directory_but_in_arguments():
    entry = {"command": "~/bin/server", "args": ["~/x"], "cwd": "~/tools"}
    (spec,) = parse("cursor", json.dumps({"mcpServers": {"s": entry}})).servers
    home = CONTEXT.home
    assert (spec.command, spec.cwd) == ((f"{home}/bin/server", "~/x"), f"{home}/tools")


def test_what_would_be_asked_of_a_person_is_said():
    text = '{"servers": {"s": {"command": "x", "envFile": ".env",\n "env": {"K": "${input:key}"}}}}'
    parsed = parse("vscode", text)
    assert [(p.level, p.path, p.line) for p in parsed.problems] == [
        ("warning", "servers.s.env.K", 2),
    ]


def test_problems_of_entries_have_line_and_column():
    text = """{
  // a comment
  "mcpServers": {
    "good": {"command": "x"},
    "bad": {
      "command": "y", "args": ["a", {}]
    },
    "good": {"command": "z"},
  }
}"""
    parsed = parse("cursor", text)
    assert [spec.command for spec in parsed.servers] == [("z",)]
    found = {(p.path, p.line, p.column): p.level for p in parsed.problems}
    assert found == {
        ("mcpServers.good", 8, 5): "warning",
        ("mcpServers.bad.args[1]", 6, 37): "error",
    }


def test_toml_errors_have_a_place():
    parsed = parse("codex", '[mcp_servers.s]\ncommand = "x')
    assert not parsed.usable
    assert parsed.problems[0].line == 2


@pytest.mark.parametrize(
    "entry",
    [
        {"command": "a\0b"},
        {"command": "x", "args": ["\ud800"]},
        {"command": "x", "args": "it's"},
        {"command": "x", "env": {"A=B": "c"}},
        {"command": "x", "env": {"": "c"}},
        {"command": "x", "env": {"\ud800": "c"}},
        {"command": ""},
        {"command": []},
        {"command": "x", "cwd": "\udfff"},
        {"command": "x", "timeout": 0},
        {"command": "x", "timeout": float("nan")},
        {"command": "x", "connect_timeout": float("inf")},
        {"command": "x", "timeout": 10**400},
        {"command": "x", "max_concurrency": 0},
        {"command": "x", "pins": ["\0"]},
        {"command": "x", "type": "http"},
        {"url": "http://h/\r\nX: y"},
        {"url": "http://h", "headers": {"A": "b\nC: d"}},
    ],
)
def test_what_no_process_could_be_given_costs_its_entry(entry):
    document = '{"mcpServers": {"bad\\ud800": {}, "": {}, "good": {"command": "y"}}}'
    document = document.replace('"good"', f'"bad": {json.dumps(entry)}, "good"')
    parsed = parse("cursor", document)
    assert [spec.name for spec in parsed.servers] == ["good"]
    assert len(parsed.problems) == 3
    for problem in parsed.problems:
        str(problem).encode()
    desired_state(Settings(), [parsed], CONTEXT, KEY, "c")


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a": ' + "9" * 5000 + "}", "", "\0", '{"a": NaN', "'"])
@pytest.mark.parametrize("format_", list(FORMATS))
def test_no_document_gets_out_of_hand(format_, text):
    parsed = parse(format_, text)
    assert parsed.servers == ()
    assert parsed.usable == (text == "" and format_ in ("hermes", "codex"))


def test_a_long_file_of_claude_code_reads_the_same(monkeypatch):
    entry = {"command": "x", "env": {"A": "é"}}
    document = {
        "history": [{"pasted": "\\u0041" * 100}] * 1000,
        "mcpServers": {"a": entry},
        "projects": {"/p": {"history": ["x" * 1000] * 100, "mcpServers": {"b": entry}}, "/q": {}},
    }
    long = parse("claude-code", document)
    del document["history"], document["projects"]["/p"]["history"]
    assert long == parse("claude-code", document)
    assert [spec.name for spec in long.servers] == ["a", "b"]
    broken = json.dumps(document | {"history": ["x" * 1000] * 1000})[:-1]
    assert "not JSON" in parse("claude-code", broken).problems[0].message


def test_names_set_apart_never_meet_another_name():
    plain = {
        s.name for s in merged({"a": {"command": "x"}}, {"b": {"command": "x"}}, {"a": {"command": "y"}})
    }
    (suffixed,) = [name for name in plain if name.startswith("a-")][:1]
    names = [
        s.name for s in merged({"a": {"command": "x"}}, {"a": {"command": "y"}}, {suffixed: {"command": "z"}})
    ]
    assert len(set(names)) == 3


def test_own_servers_come_last_and_see_variables():
    settings = Settings(servers={"own": {"command": "${SET}", "args": ["${UNSET:-d}"]}})
    servers = merged({"a": {"command": "x"}}, settings=settings)
    assert [(s.name, s.command) for s in servers] == [("a", ("x",)), ("own", ("value", "d"))]


def test_what_an_own_entry_says_in_vain_is_said():
    own = {"command": "x", "cwd": "/work", "approval": "deny", "tools": {"exclude": ["t"]}, "start": "lazy"}
    found = desired({"a": {"command": "x", "timeout": 9}}, settings=Settings(servers={"b": own}))
    (server,) = found.servers
    assert (server.exclude, server.approval) == (("t",), "deny")  # what narrows is in force all the same
    (problem,) = found.problems
    assert (problem.level, problem.path) == ("warning", "servers.b")
    assert "the entry a of" in problem.message
    assert problem.message.endswith("not in force: start")
    assert not desired({"a": {"command": "x"}}, {"b": {"command": "x", "timeout": 9}}).problems


def test_a_server_enabled_anywhere_runs():
    (spec,) = merged({"a": {"command": "x", "disabled": True}}, {"b": {"command": "x"}})
    assert (spec.name, spec.enabled) == ("a", True)


@pytest.mark.parametrize(
    ("command", "ours"),
    [(("sh", "-c", "exec toolsearchctl mcp"), True), (("x", "toolsearch.md", "mcp"), False)],
)
def test_our_own_door_in_a_shell(command, ours):
    assert is_own_door(command) == ours


@pytest.mark.parametrize("field", ["url", "headers"])
def test_an_unset_variable_of_a_remote_server_is_named_by_its_field(field):
    entry = {"url": "https://h/${SET}", "headers": {"A": "Bearer ${SET}"}}
    entry |= {"url": "https://h/${UNSET}"} if field == "url" else {"headers": {"A": "${SET} ${UNSET}"}}
    (problem,) = parse("claude-code", {"mcpServers": {"s": entry}}).problems
    assert problem.path == ("mcpServers.s.url" if field == "url" else "mcpServers.s.headers.A")
    assert problem.level == "warning"
    assert "value" not in problem.message
