"""Clients' configs: each format's place, shape and variables; what a bad file or entry costs."""

import json

import pytest

from toolsearchd.config.entry import is_own_door
from toolsearchd.config.expand import ExpandContext
from toolsearchd.config.merge import desired_state, spec_digest
from toolsearchd.config.settings import Settings
from toolsearchd.config.sources import FORMATS, Parsed

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


def merged(*documents, settings=None):
    parsed = [parse("cursor", {"mcpServers": document}) for document in documents]
    return desired_state(settings or Settings(), parsed, CONTEXT, KEY, "config.yaml").servers


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
