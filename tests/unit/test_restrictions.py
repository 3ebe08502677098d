"""What a person forbade in a client holds for its sessions: in place, behind the daemon, back again."""

import json
from pathlib import Path

import pytest

from toolsearchd.catalog.grant import Grant
from toolsearchd.catalog.model import Definition, Source, Tool
from toolsearchd.config.expand import ExpandContext
from toolsearchd.config.install.clients import CLIENTS
from toolsearchd.config.merge import desired_state
from toolsearchd.config.restrictions import ClientRules, NamedRule, Restrictions, restrictions_of
from toolsearchd.config.settings import Approval, ApprovalRule, Settings
from toolsearchd.config.sources import FORMATS, client_of
from toolsearchd.ctl.__main__ import main
from toolsearchd.dialects.registry import OPTIONS
from toolsearchd.dispatch.policy import Decision, decide
from toolsearchd.protocol.requests import Hello
from toolsearchd.sessions.entitlement import client_terms, entitlement_of
from toolsearchd.watching.watcher import Watcher

TIME = {"command": "time-mcp"}
TOOLS = ("get_time", "convert_time")
RUNS, ASKS, GONE = "runs", "asks", "gone"
OFF = dict.fromkeys(TOOLS, GONE)
FREE = dict.fromkeys(TOOLS, RUNS)
NO_CONVERT = {"get_time": RUNS, "convert_time": GONE}
ASK_CONVERT = {"get_time": RUNS, "convert_time": ASKS}
ASK_ALL = dict.fromkeys(TOOLS, ASKS)
CLAUDE, GEMINI, CURSOR = ".claude.json", ".gemini/settings.json", ".cursor/mcp.json"
CODEX, OPENCLAW, HERMES = ".codex/config.toml", ".openclaw/openclaw.json", ".hermes/config.yaml"
OPENCODE, ZED = ".config/opencode/opencode.json", ".config/zed/settings.json"
VSCODE, SETTINGS = ".config/Code/User/mcp.json", ".config/Code/User/settings.json"
WINDSURF, CLINE = ".codeium/windsurf/mcp_config.json", ".cline/data/settings/cline_mcp_settings.json"
DESKTOP, LMSTUDIO = ".config/Claude/claude_desktop_config.json", ".lmstudio/mcp.json"


def mcp(**keys):
    return {"mcpServers": {"time": TIME | keys}}


def claude(**permissions):
    return {CLAUDE: mcp(), ".claude/settings.json": {"permissions": permissions}}


def codex(*lines, more=""):
    return {CODEX: '[mcp_servers.time]\ncommand = "time-mcp"\n' + "\n".join(lines) + f"\n{more}"}


def openclaw(tools=None, **keys):
    return {OPENCLAW: {"mcp": {"servers": {"time": TIME | keys}}, "tools": tools or {}}}


def opencode(entry=None, **keys):
    return {OPENCODE: {"mcp": {"time": {"type": "local", "command": ["time-mcp"], **(entry or {})}}, **keys}}


def zed(entry=None, **agent):
    return {ZED: {"context_servers": {"time": TIME | (entry or {})}, "agent": agent}}


def vscode(**settings):
    return {VSCODE: {"servers": {"time": TIME}}, SETTINGS: settings}


CONVERT = ["convert_time"]
# (client, its files, what its sessions may, what those of others may)
MATRIX = {
    "claude deny": ("claude-code", claude(deny=["mcp__time__convert_time"]), NO_CONVERT, NO_CONVERT),
    "claude deny glob": ("claude-code", claude(deny=["mcp__time__conv*"]), NO_CONVERT, NO_CONVERT),
    "claude deny server": ("claude-code", claude(deny=["mcp__time"]), OFF, OFF),
    "claude deny all": ("claude-code", claude(deny=["mcp__*"]), OFF, OFF),
    "claude ask": ("claude-code", claude(ask=["mcp__time__convert_time"]), ASK_CONVERT, ASK_CONVERT),
    "claude ask over allow": (
        "claude-code",
        claude(ask=["mcp__time"], allow=["mcp__time__get_time"]),
        ASK_ALL,
        ASK_ALL,
    ),
    "claude denies what it does not allow": (
        "claude-code",
        claude(defaultMode="dontAsk", allow=["mcp__time__get_time"]),
        NO_CONVERT,
        NO_CONVERT,
    ),
    "claude denied server": (
        "claude-code",
        {CLAUDE: mcp(), ".claude/settings.json": {"deniedMcpServers": [{"serverName": "time"}]}},
        OFF,
        OFF,
    ),
    "claude allowed servers": (
        "claude-code",
        {CLAUDE: mcp(), ".claude/settings.json": {"allowedMcpServers": [{"serverName": "x"}]}},
        OFF,
        OFF,
    ),
    "claude disabled": ("claude-code", {CLAUDE: mcp() | {"disabledMcpServers": ["time"]}}, OFF, OFF),
    "claude desktop disabled": ("claude-desktop", {DESKTOP: mcp(disabled=True)}, OFF, OFF),
    "cursor disabled": ("cursor", {CURSOR: mcp(disabled=True)}, OFF, OFF),
    "cursor allow list": (
        "cursor",
        {CURSOR: mcp(), ".cursor/permissions.json": {"mcpAllowlist": ["time:get_time"]}},
        ASK_CONVERT,
        ASK_CONVERT,
    ),
    "cursor deny": (
        "cursor",
        {CURSOR: mcp(), ".cursor/cli-config.json": {"permissions": {"deny": ["Mcp(time:convert_time)"]}}},
        NO_CONVERT,
        NO_CONVERT,
    ),
    "gemini excluded": ("gemini", {GEMINI: mcp() | {"mcp": {"excluded": ["time"]}}}, OFF, OFF),
    "gemini allowed": ("gemini", {GEMINI: mcp() | {"mcp": {"allowed": ["docs"]}}}, OFF, OFF),
    "gemini older lists": ("gemini", {GEMINI: mcp() | {"excludeMCPServers": ["time"]}}, OFF, OFF),
    "gemini excludeTools": ("gemini", {GEMINI: mcp(excludeTools=CONVERT)}, NO_CONVERT, NO_CONVERT),
    "gemini includeTools": ("gemini", {GEMINI: mcp(includeTools=["get_time"])}, NO_CONVERT, NO_CONVERT),
    "gemini tools.exclude": (
        "gemini",
        {GEMINI: mcp() | {"tools": {"exclude": ["mcp_time_convert_time"]}}},
        NO_CONVERT,
        NO_CONVERT,
    ),
    "gemini policy of a server": (
        "gemini",
        {GEMINI: mcp(), ".gemini/policies/a.toml": '[[rule]]\nmcpName = "time"\ndecision = "deny"\n'},
        OFF,
        OFF,
    ),
    "gemini policy of a tool": (
        "gemini",
        {
            GEMINI: mcp(),
            ".gemini/policies/b.toml": '[[rule]]\ntoolName = ["mcp_time_convert_time"]\ndecision = "deny"\n'
            '[[rule]]\ntoolName = "run_shell_command"\ndecision = "deny"\n',
        },
        NO_CONVERT,
        NO_CONVERT,
    ),
    "codex requirements": (
        "codex",
        codex("") | {".codex/requirements.toml": '[mcp_servers.docs]\nidentity = {command = "docs"}\n'},
        OFF,
        OFF,
    ),
    "codex enabled": ("codex", codex("enabled = false"), OFF, OFF),
    "codex enabled_tools": ("codex", codex('enabled_tools = ["get_time"]'), NO_CONVERT, NO_CONVERT),
    "codex disabled_tools": ("codex", codex('disabled_tools = ["convert_time"]'), NO_CONVERT, NO_CONVERT),
    "codex default mode": ("codex", codex('default_tools_approval_mode = "prompt"'), ASK_ALL, ASK_ALL),
    "codex mode of a tool": (
        "codex",
        codex(more='[mcp_servers.time.tools.convert_time]\napproval_mode = "prompt"\n'),
        ASK_CONVERT,
        ASK_CONVERT,
    ),
    "codex mode over the default": (
        "codex",
        codex(
            'default_tools_approval_mode = "prompt"',
            more='[mcp_servers.time.tools.get_time]\napproval_mode = "approve"\n',
        ),
        ASK_CONVERT,
        ASK_CONVERT,
    ),
    "openclaw enabled": ("openclaw", openclaw(enabled=False), OFF, OFF),
    "openclaw toolFilter": (
        "openclaw",
        openclaw(toolFilter={"include": ["*_time"], "exclude": ["conv*"]}),
        NO_CONVERT,
        NO_CONVERT,
    ),
    "openclaw deny": ("openclaw", openclaw({"deny": ["time__convert_*"]}), NO_CONVERT, NO_CONVERT),
    "openclaw deny all": ("openclaw", openclaw({"deny": ["bundle-mcp"]}), OFF, OFF),
    "openclaw allow": ("openclaw", openclaw({"allow": ["read", "time__get_time"]}), NO_CONVERT, NO_CONVERT),
    "openclaw approvals": (
        "openclaw",
        openclaw(codex={"defaultToolsApprovalMode": "prompt"}),
        ASK_ALL,
        ASK_ALL,
    ),
    "hermes filter": (
        "hermes",
        {HERMES: "mcp_servers: {time: {command: time-mcp, tools: {exclude: [convert_time]}}}\n"},
        NO_CONVERT,
        NO_CONVERT,
    ),
    "hermes enabled": (
        "hermes",
        {HERMES: "mcp_servers: {time: {command: time-mcp, enabled: false}}\n"},
        OFF,
        OFF,
    ),
    "opencode enabled": ("opencode", opencode({"enabled": False}), OFF, OFF),
    "opencode tools": ("opencode", opencode(tools={"time_convert*": False}), NO_CONVERT, NO_CONVERT),
    "opencode permission": (
        "opencode",
        opencode(permission={"time_convert_time": "ask"}),
        ASK_CONVERT,
        ASK_CONVERT,
    ),
    "zed enabled": ("zed", zed({"enabled": False}), OFF, OFF),
    "zed permission": (
        "zed",
        zed(tool_permissions={"tools": {"mcp:time:convert_time": {"default": "deny"}}}),
        NO_CONVERT,
        NO_CONVERT,
    ),
    "zed profile": (
        "zed",
        zed(profiles={"write": {"context_servers": {"time": {"tools": {"convert_time": False}}}}}),
        NO_CONVERT,
        NO_CONVERT,
    ),
    "vscode access": ("vscode", vscode(**{"chat.mcp.access": "none"}), OFF, OFF),
    "vscode eligible": (
        "vscode",
        vscode(**{"chat.tools.eligibleForAutoApproval": {"mcp_time_convert_time": False}}),
        ASK_CONVERT,
        ASK_CONVERT,
    ),
    "windsurf disabledTools": ("windsurf", {WINDSURF: mcp(disabledTools=CONVERT)}, NO_CONVERT, NO_CONVERT),
    "windsurf disabled": ("windsurf", {WINDSURF: mcp(disabled=True)}, OFF, OFF),
    "cline disabled": ("cline", {CLINE: mcp(disabled=True)}, OFF, OFF),
    "cline alwaysAllow": ("cline", {CLINE: mcp(alwaysAllow=CONVERT)}, FREE, FREE),
    "lmstudio disabled": ("lmstudio", {LMSTUDIO: mcp(disabled=True)}, OFF, OFF),
}


class Person:
    """A home, what the watcher makes of it, and what sessions of clients may do then."""

    def __init__(self, root, monkeypatch):
        self.root = root
        for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "HERMES_HOME", "XDG_CONFIG_HOME"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("HOME", str(root))
        self.config = root / ".config/toolsearchd/config.yaml"
        self.watcher = None

    def write(self, files):
        for place, content in files.items():
            path = self.root / place
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content if isinstance(content, str) else json.dumps(content))

    def ctl(self, *words):
        with pytest.raises(SystemExit) as caught:
            main(["--runtime-dir", str(self.root / "run"), "--json", *words])
        assert caught.value.code == 0

    def servers(self):
        if self.watcher is None:
            self.watcher = Watcher(self.config, environ={"HOME": str(self.root)}, dialect_options=OPTIONS)
        self.watcher.load_now(grace_s=0)
        return self.watcher.desired.servers

    def may(self, client, *, config_of=None, cwd=None, destructive=None):
        """Tool → what becomes of its call in a session of the client."""
        hello = Hello(protocol=1, client=client, config_of=config_of, cwd=cwd)
        specs = self.servers()
        terms = client_terms(hello, specs)
        grant = Grant(terms=terms.servers)
        found = {}
        for spec in specs:
            runs = spec.enabled and not spec.idle and grant.allows_source(Source(name=spec.name))
            for name in TOOLS:
                definition = Definition(name=name, digest=name, destructive=destructive)
                tool = Tool(definition=definition, server=spec.name, public_name=name)
                offered = runs and ServerOffers(spec).offers(name) and grant.allows_tool(tool)
                word = self.word(terms.word_on(tool), destructive)
                found[name] = {"allow": RUNS, "ask": ASKS}[word] if offered and word != "deny" else GONE
        return found

    @staticmethod
    def word(client, destructive=None, approval=Approval(), **more):  # noqa: B008
        facts = {"profile": "default", "server": "s", "tool": "t", "read_only": None, "trust": "full"}
        facts |= {"server_approval": "", "arguments": {}, "destructive": destructive}
        return decide(approval, client=client, **facts | more).then


class ServerOffers:
    """As the fleet filters by the entry."""

    def __init__(self, spec):
        self.spec = spec

    def offers(self, tool):
        from toolsearchd.catalog.naming import keeps

        return keeps(tool, self.spec.include, self.spec.exclude)


@pytest.fixture
def person(tmp_path, monkeypatch):
    return Person(tmp_path, monkeypatch)


@pytest.mark.parametrize("row", MATRIX)
def test_nothing_may_run_that_might_not_before(person, row):
    client, files, own, others = MATRIX[row]
    person.write(files)

    def check(stage):
        for name in (client, f"{client}-mcp-client"):
            assert person.may(name) == own, stage
        assert person.may("unknown", config_of=client) == own, stage
        assert person.may("unknown") == others, stage
        assert person.may("cursor" if client != "cursor" else "gemini") == others, stage

    check("in place")
    if client not in CLIENTS:
        return
    person.ctl("install", client)
    check("behind the daemon")
    person.ctl("uninstall", client)
    check("back again")


def test_each_clients_rule_binds_its_own_sessions(person):
    report = json.loads((Path(__file__).parents[1] / "data/restrictions.json").read_text())
    person.write(report["one server, three clients"])
    assert len(person.servers()) == 1
    for stage in ("in place", "behind the daemon"):
        assert person.may("claude-code") == FREE, stage
        assert person.may("gemini-cli-mcp-client") == NO_CONVERT, stage
        assert person.may("cursor-vscode") == OFF, stage
        assert person.may("some agent") == NO_CONVERT, stage
        for client in ("claude-code", "gemini", "cursor") if stage == "in place" else ():
            person.ctl("install", client)


def test_what_a_client_does_not_ask_about_counts_for_it_alone(person):
    person.write({CLINE: mcp(alwaysAllow=CONVERT), CLAUDE: mcp()})
    assert person.may("cline", destructive=True) == {"get_time": ASKS, "convert_time": RUNS}
    assert person.may("claude-code", destructive=True) == ASK_ALL
    assert person.may("unknown", destructive=True) == ASK_ALL


def test_a_switch_of_a_project_holds_there(person):
    document = mcp() | {"projects": {"/srv/p": {"disabledMcpServers": ["time"]}}}
    person.write({CLAUDE: document})
    assert person.may("claude-code", cwd="/srv/p/src") == OFF
    assert person.may("claude-code", cwd="/srv/q") == FREE
    assert person.may("unknown", cwd="/srv/p") == FREE
    document["history"] = ["x" * 1000] * 300  # a file so long that only what names servers is decoded
    person.write({CLAUDE: document})
    assert person.may("claude-code", cwd="/srv/p/src") == OFF


def test_a_list_of_a_project_narrows_there(person):
    project = person.root / "p/.gemini/settings.json"
    project.parent.mkdir(parents=True)
    project.write_text(
        json.dumps({"mcp": {"allowed": ["docs"]}, "mcpServers": {"docs": {"command": "docs-mcp"}}})
    )
    person.write({GEMINI: mcp()})
    user = {"path": str(person.root / GEMINI), "format": "gemini"}
    person.write(
        {".config/toolsearchd/config.yaml": {"sources": [user, {"path": str(project), "format": "gemini"}]}}
    )
    assert person.may("gemini", cwd="/elsewhere") == FREE
    assert person.may("gemini", cwd=str(person.root / "p/src"))["get_time"] == RUNS  # of docs
    (time, _docs) = person.servers()
    (said,) = time.restrictions
    assert (said.enabled, said.off_in) == (True, (str(person.root / "p"),))


def test_the_daemons_own_word_is_never_loosened():
    allow = Decision("allow", "approval of cline")
    deny = Approval(rules=(ApprovalRule(then="deny", tool="t"),))
    word = Person.word
    assert word(allow, True) == "allow"
    assert word(allow, True, Approval(default="ask")) == "ask"
    assert word(allow, True, Approval(default="deny")) == "deny"
    assert word(allow, True, trust="untrusted") == "ask"
    assert word(allow, True, server_approval="ask") == "ask"
    assert word(allow, True, profile_approval="deny") == "deny"
    assert word(allow, True, deny) == "deny"
    assert word(Decision("ask", "codex"), False, Approval(default="allow")) == "ask"
    assert word(Decision("deny", "codex"), False, server_approval="allow") == "deny"


@pytest.mark.parametrize(
    ("rule", "entry", "tools"),
    [
        ("mcp__time__get", "time", ["get"]),
        ("mcp__ti*__get", "time", ["get"]),
        ("mcp__*", "time", ["*"]),
        ("mcp__my_time__get", "my.time", ["get"]),
        ("mcp__other__get", "time", []),
    ],
)
def test_names_of_tools_in_a_client(rule, entry, tools):
    rules = ClientRules(rules=(NamedRule(then="deny", name=rule),), prefixes=("mcp__{}__",))
    found = restrictions_of(Restrictions(client="claude-code"), entry, [rules])
    assert {one.tool for one in found.rules} >= set(tools)
    assert bool(found.rules) == bool(tools)


@pytest.mark.parametrize(
    ("name", "client"),
    [
        ("claude-code", "claude-code"),
        ("claude-ai", "claude-desktop"),
        ("cursor-vscode", "cursor"),
        ("Visual Studio Code", "vscode"),
        ("codex-mcp-client", "codex"),
        ("gemini-cli-mcp-client", "gemini"),
        ("Zed", "zed"),
        ("something", ""),
    ],
)
def test_clients_by_their_own_names(name, client):
    assert client_of(name) == client


def test_an_entry_of_a_client_that_is_unknown(person):
    person.write({CURSOR: mcp(disabled=True), CLAUDE: mcp()})
    assert person.may("cursor", config_of="no-such") == OFF
    hello = Hello(protocol=1, client="cursor", config_of="no-such")
    assert "'no-such'" in entitlement_of(hello, {}, (), person.servers()).warnings[0]


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("odd", [5, [], {}, "x", [[]], [{}], {"a": 5}, None, True])
def test_rules_of_any_shape_are_read(name, odd):
    keys = ("mcp", "tools", "permissions", "permission", "agent", "projects", "hooks", "disabledMcpServers")
    keys += ("deniedMcpServers", "allowedMcpServers", "agents", "mcpAllowlist", "excludeTools")
    for key in keys:
        deeper = ({key: odd}, {key: {"tools": odd, "deny": odd, "list": odd, "profiles": odd, "allow": odd}})
        for document in deeper:
            FORMATS[name].rules(document, "")


def problems(person):
    person.servers()
    return {problem.path: (problem.message, problem.mend) for problem in person.watcher.problems}


def states(person):
    return {spec.name: spec.idle for spec in person.servers()}


def test_what_can_not_be_carried_over_is_named_before_anything_is_written(person, capsys):
    permissions = {"deny": ["mcp__time__convert_time(to:UTC)", "Bash(rm:*)"], "ask": ["mcp__time__get_time"]}
    hooks = {"PreToolUse": [{"matcher": "mcp__time__.*", "hooks": []}, {"matcher": "Bash", "hooks": []}]}
    settings = {"permissions": permissions, "hooks": hooks}
    person.write({CLAUDE: mcp(), ".claude/settings.json": settings})
    said = problems(person)
    assert set(said) == {"permissions.deny[0]", "hooks.PreToolUse[0]"}
    assert all("approval" in mend for _, mend in said.values())
    before = (person.root / CLAUDE).read_bytes()
    person.ctl("install", "claude-code", "--dry-run")
    notes = json.loads(capsys.readouterr().out)["notes"]
    assert len(notes) == 2
    assert "convert_time(to:UTC)" in notes[0]
    assert "mcp__time__.*" in notes[1]
    assert (person.root / CLAUDE).read_bytes() == before


def test_a_rule_file_that_changes_binds_at_once(person):
    person.write(claude(deny=["mcp__time__convert_time"]))
    assert person.may("claude-code") == NO_CONVERT
    person.write(claude(ask=["mcp__time__get_time"]))
    assert person.may("claude-code") == {"get_time": ASKS, "convert_time": RUNS}
    (person.root / ".claude/settings.json").write_text("{")
    assert person.may("claude-code") == {"get_time": ASKS, "convert_time": RUNS}  # the last good state
    (person.root / ".claude/settings.json").unlink()
    assert person.may("claude-code") == {"get_time": ASKS, "convert_time": RUNS}


@pytest.mark.parametrize(
    ("place", "entry", "needs"),
    [
        (CURSOR, {"command": "x", "env": {"TOKEN": "${env:NOT_SET_TOKEN}"}}, "variable NOT_SET_TOKEN"),
        (CLAUDE, {"command": "x", "args": ["--key=${NOT_SET}"]}, "variable NOT_SET"),
        (CURSOR, {"command": "x", "args": ["${workspaceFolder}/src"]}, "folder"),
        (CURSOR, {"command": "x", "cwd": "${workspaceFolder}"}, "folder"),
        (VSCODE, {"url": "https://h/mcp", "headers": {"Authorization": "Bearer ${input:pat}"}}, "input pat"),
        (VSCODE, {"command": "x", "env": {"T": "${input:pat}"}}, "input pat"),
        (VSCODE, {"command": "x", "args": ["${command:pick}"]}, "input pick"),
        (DESKTOP, {"url": "https://h/mcp", "headers": {"Authorization": "${TOKEN}"}}, "variable TOKEN"),
        (DESKTOP, {"command": "x", "env": {"T": "${input:pat}"}}, "input pat"),
        (CURSOR, {"command": "x", "envFile": "/nowhere/.env"}, "file .env"),
        (WINDSURF, {"serverUrl": "https://${env:HOST}/mcp"}, "variable HOST"),
    ],
)
def test_what_needs_something_that_is_not_there_is_not_started(person, place, entry, needs):
    section = "servers" if place == VSCODE else "mcpServers"
    person.write({place: {section: {"s": entry}}})
    assert states(person) == {"s": f"needs {needs}"}
    ((message, mend),) = problems(person).values()
    assert f"needs {needs}" in message
    assert mend
    assert person.may("unknown") == OFF


def test_a_variable_that_is_set_later(person):
    person.write({CURSOR: {"mcpServers": {"s": {"command": "x", "env": {"T": "${env:LATER}"}}}}})
    assert states(person) == {"s": "needs variable LATER"}
    person.config.parent.mkdir(parents=True, exist_ok=True)
    person.config.write_text("environment: {file: env}\n")
    (person.config.parent / "env").write_text("LATER=value\n")
    assert states(person) == {"s": ""}
    assert not problems(person)


def test_what_another_client_can_run_runs_for_that_client(person):
    person.write({CURSOR: {"mcpServers": {"time": TIME | {"envFile": ".env"}}}, CLAUDE: mcp()})
    assert states(person) == {"time": ""}
    assert person.may("claude-code") == FREE
    assert person.may("cursor") == OFF


def test_a_server_that_stays_with_its_client_is_not_run_here_as_well(person):
    document = {
        "mcpServers": {"time": TIME, "mine": {"command": "y"}, "win": {"command": "${workspaceFolder}/z"}}
    }
    person.write({CURSOR: document})
    assert states(person) == {"time": "", "mine": "", "win": "needs folder"}
    person.ctl("install", "cursor", "--keep", "mine")
    assert states(person) == {"time": "", "mine": "kept by cursor", "win": "kept by cursor"}
    person.ctl("install", "cursor")
    assert states(person) == {"time": "", "mine": "", "win": "kept by cursor"}
    person.ctl("uninstall", "cursor")
    assert states(person) == {"time": "", "mine": "", "win": "needs folder"}


@pytest.mark.parametrize("client", ["cursor", "codex", "hermes"])
def test_nothing_but_what_stays(person, client):
    files = {
        "cursor": {CURSOR: mcp()},
        "codex": codex(),
        "hermes": {HERMES: "mcp_servers: {time: {command: x}}"},
    }
    person.write(files[client])
    person.ctl("install", client, "--keep", "time")
    assert states(person) == {"time": f"kept by {client}"}
    person.ctl("uninstall", client)
    assert states(person) == {"time": ""}


def test_the_stricter_of_two_entries_holds():
    context = ExpandContext(environ={}, home="/")
    first, second = (
        FORMATS[name].parse(json.dumps({"mcpServers": {"time": TIME | keys}}), name, context)
        for name, keys in (
            ("cursor", {"approval": "allow"}),
            ("windsurf", {"approval": "ask", "trust": "untrusted"}),
        )
    )
    for order in ((first, second), (second, first)):
        (spec,) = desired_state(Settings(), order, context, b"k" * 32, "config").servers
        assert (spec.approval, spec.trust) == ("ask", "untrusted")
