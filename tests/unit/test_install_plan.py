"""Into each client's config and out of it again: the same bytes, or all that was edited meanwhile."""

import json

import msgspec
import pytest

from tests.unit.installing import DOOR, FILE, INSTALLED, TEXTS, before, found, install, servers
from toolsearchd.config.expand import ExpandContext
from toolsearchd.config.install.clients import CLIENTS
from toolsearchd.config.install.door import Door
from toolsearchd.config.install.moved import read_moved
from toolsearchd.config.install.plan import plan_disclosure, plan_install, plan_uninstall
from toolsearchd.config.install.records import FoundFiles
from toolsearchd.errors import ToolsearchdError

EACH = sorted(CLIENTS)
STAYS = {
    "claude-code": {"tracker"},
    "claude-desktop": {"tracker"},
    "cursor": {"tracker", "here"},
    "vscode": {"github"},
    "codex": {"tracker"},
    "gemini": {"drive"},
    "hermes": {"tracker"},
    "openclaw": {"tracker"},
}
CONTEXT = ExpandContext(environ={"WIKI_TOKEN": "t", "NOTES_KEY": "n"}, home="/home/me")


def crlf(text):
    return text.replace(b"\n", b"\r\n")


def bom(text):
    return b"\xef\xbb\xbf" + text


def unended(text):
    return text.rstrip(b"\n")


def there_and_back(name, text):
    plan = install(name, text)
    return plan, plan_uninstall(CLIENTS[name], found(plan)).text


def test_every_client_has_a_text():
    assert set(TEXTS) == set(CLIENTS) == set(STAYS)


@pytest.mark.parametrize("form", [bytes, crlf, bom, unended])
@pytest.mark.parametrize("name", EACH)
def test_uninstalling_gives_back_the_same_bytes(name, form):
    text = form(TEXTS[name])
    plan, again = there_and_back(name, text)
    assert again == text
    assert set(servers(name, plan.text)) == STAYS[name] | {"toolsearchd"}
    assert plan.text.startswith(b"\xef\xbb\xbf") == (form is bom)
    if form is crlf:
        assert b"\n" not in plan.text.replace(b"\r\n", b"")


@pytest.mark.parametrize("name", EACH)
def test_the_text_with_the_daemon_in_it(name):
    assert install(name).text.decode() == INSTALLED[name].decode()


@pytest.mark.parametrize("name", EACH)
def test_the_daemon_reads_the_same_servers_from_their_new_place(name):
    text = TEXTS[name].decode()
    plan = install(name)
    format_ = CLIENTS[name].format
    parsed = format_.parse(text, FILE, CONTEXT, projects=False).servers
    moved = read_moved(format_, plan.moved.decode(), "/ours", CONTEXT).servers
    assert [spec.name for spec in moved] == list(plan.names)
    for spec in moved:
        (old,) = [one for one in parsed if one.name == spec.name]
        (origin,) = spec.origins
        assert (origin.file, origin.kept_in) == (FILE, "/ours")
        assert (spec.command, spec.env, spec.url, spec.headers, spec.timeout_s, spec.include) == (
            old.command,
            old.env,
            old.url,
            old.headers,
            old.timeout_s,
            old.include,
        )
    assert format_.parse(plan.text.decode(), FILE, CONTEXT, projects=False).servers == tuple(
        spec for spec in parsed if spec.name in STAYS[name]
    )


@pytest.mark.parametrize("text", [None, b"", b"\n"])
@pytest.mark.parametrize("name", EACH)
def test_a_client_without_any_config(name, text):
    plan, again = there_and_back(name, text)
    assert again == text
    assert list(servers(name, plan.text)) == ["toolsearchd"]


@pytest.mark.parametrize("name", EACH)
def test_installing_twice_changes_nothing(name):
    first = install(name)
    second = plan_install(CLIENTS[name], found(first), DOOR)
    assert (second.text, second.original, second.moved, second.record) == (
        first.text,
        first.original,
        first.moved,
        first.record,
    )


NEW_ENTRY = {
    "codex": (b"[tui]", b'[mcp_servers.new]\ncommand = "new-mcp" # mine\n\n[tui]'),
    "hermes": (b"  tracker:", b"  # mine\n  new: {command: new-mcp}\n  tracker:"),
    "openclaw": (b"      tracker:", b"      // mine\n      new: { command: 'new-mcp' },\n      tracker:"),
    "vscode": (b'    "github"', b'    // mine\n    "new": {"command": "new-mcp"},\n    "github"'),
    "claude-desktop": (b'"tracker":', b'"new":{"command":"new-mcp"},"tracker":'),
    "claude-code": (b'    "tracker"', b'    "new": {\n      "command": "new-mcp"\n    },\n    "tracker"'),
    "cursor": (b'\t\t"tracker"', b'\t\t"new": {"command": "new-mcp"},\n\t\t"tracker"'),
    "gemini": (b'        "drive"', b'        "new": {"command": "new-mcp"},\n        "drive"'),
}


def with_new_entry(name, text):
    assert NEW_ENTRY[name][0] in text
    return text.replace(*NEW_ENTRY[name], 1)


@pytest.mark.parametrize("form", [bytes, crlf])
@pytest.mark.parametrize("name", EACH)
def test_what_was_edited_since_stays_when_the_servers_come_back(name, form):
    original = form(TEXTS[name])
    plan = install(name, original)
    edited = form(with_new_entry(name, plan.text.replace(b"\r\n", b"\n")))
    back = plan_uninstall(CLIENTS[name], found(plan, text=edited)).text
    wanted = servers(name, original)
    wanted["new"] = {"command": "new-mcp"}
    assert servers(name, back) == wanted
    assert (b"mine" in edited) == (b"mine" in back)
    # All that the original said is there again, as it was written.
    lines = back.splitlines()
    if name != "claude-desktop":
        assert [line for line in original.splitlines() if line.strip() and line not in lines] == []


@pytest.mark.parametrize("name", EACH)
def test_installing_again_moves_what_has_come_since(name):
    first = install(name)
    edited = with_new_entry(name, first.text)
    second = plan_install(CLIENTS[name], found(first, text=edited), DOOR)
    assert set(second.names) == {*first.names, "new"}
    assert set(servers(name, second.text)) == STAYS[name] | {"toolsearchd"}
    assert set(servers(name, second.between)) == set(second.names)
    back = plan_uninstall(CLIENTS[name], found(second)).text
    assert servers(name, back) == servers(name, TEXTS[name]) | {"new": {"command": "new-mcp"}}
    # A process killed between the files of the second time has lost nothing either.
    half = plan_uninstall(CLIENTS[name], found(second, text=edited)).text
    assert servers(name, half) == servers(name, back)


@pytest.mark.parametrize("name", EACH)
def test_disclosure_changes_the_words_of_the_entry_and_nothing_else(name):
    plan = install(name)
    direct = plan_disclosure(CLIENTS[name], found(plan), "direct")
    entry = servers(name, direct.text)["toolsearchd"]
    assert entry["args"] == ["mcp", "--client", name, "--disclosure", "direct"]
    assert servers(name, direct.text) == servers(name, plan.text) | {"toolsearchd": entry}
    assert plan_disclosure(CLIENTS[name], found(direct), "direct").text == direct.text
    assert plan_disclosure(CLIENTS[name], found(direct), "progressive").text == plan.text
    # It is this program's own edit: what was before is still what comes back.
    assert plan_uninstall(CLIENTS[name], found(direct)).text == TEXTS[name]
    # Installing again, with the program elsewhere, keeps it.
    again = plan_install(CLIENTS[name], found(direct), Door(command="/new/toolsearchctl", profile="p"))
    entry = servers(name, again.text)["toolsearchd"]
    assert (entry["command"], entry["args"]) == (
        "/new/toolsearchctl",
        ["mcp", "--client", name, "--profile", "p", "--disclosure", "direct"],
    )


def test_an_entry_that_a_person_wrote_is_taken_as_it_is():
    door = {"command": "toolsearchctl", "args": ["mcp", "--profile", "mine"], "note": "x"}
    text = json.dumps({"mcpServers": {"tools": door, "time": {"command": "uvx"}}}).encode()
    plan, again = there_and_back("cursor", text)
    assert servers("cursor", plan.text) == {"tools": door}
    assert again == text
    alone = json.dumps({"mcpServers": {"tools": door}}).encode()
    nothing = install("cursor", alone)
    assert (nothing.text, nothing.record) == (alone, None)
    direct = plan_disclosure(CLIENTS["cursor"], before(alone), "direct")
    assert servers("cursor", direct.text)["tools"] == door | {
        "args": ["mcp", "--profile", "mine", "--disclosure", "direct"]
    }


def test_a_name_that_is_taken():
    text = b'{"mcpServers": {"toolsearchd": {"command": "other"}}}'
    plan, again = there_and_back("cursor", text)
    assert (plan.door, plan.names) == ("toolsearchd-door", ("toolsearchd",))
    assert again == text


def test_a_person_decides_what_stays_and_what_moves():
    plan = install("cursor", keep=["time"], move=["tracker", "here"])
    assert plan.names == ("files", "here", "tracker")
    assert dict(plan.kept) == {"time": "you said so"}
    with pytest.raises(ToolsearchdError, match="no server 'nobody'; it has time, files, here, tracker"):
        install("cursor", keep=["nobody"])


@pytest.mark.parametrize(
    ("name", "entry", "why"),
    [
        ("cursor", {"url": "https://a.example/mcp"}, "login"),
        ("cursor", {"url": "https://a.example/mcp", "headers": {"X-Region": "eu"}}, "login"),
        ("cursor", {"url": "https://a.example/mcp", "headers": {"X-Api-Key": "k"}}, None),
        ("cursor", {"url": "https://a.example/mcp?api_key=k"}, None),
        ("cursor", {"url": "https://me:pw@a.example/mcp"}, None),
        ("cursor", {"url": "http://127.0.0.1:9/mcp"}, None),
        ("cursor", {"url": "http://[::1]:9/mcp"}, None),
        ("cursor", {"url": "http://[odd/mcp"}, "login"),
        ("cursor", {"url": "https://a.example/mcp", "headers": {"X-Key": "x"}, "auth": {"a": 1}}, "logs in"),
        ("claude-code", {"url": "https://a.example/mcp", "headersHelper": "get-headers"}, "logs in"),
        ("vscode", {"command": "x", "envFile": "/home/me/.env"}, "envFile"),
        ("vscode", {"command": "x", "args": ["${command:pick}"]}, "only VS Code has"),
        ("cursor", {"command": ""}, "can't read it: expected a program"),
        ("cursor", {"command": 5}, "can't read it: expected a text"),
        ("cursor", "x", "can't read it"),
        ("cursor", {"command": "x", "disabled": True}, None),
    ],
)  # fmt: skip
def test_what_needs_its_client_stays_with_it(name, entry, why):
    section = CLIENTS[name].section[0]
    text = json.dumps({section: {"s": entry}}).encode()
    plan, again = there_and_back(name, text)
    assert again == text
    if why is None:
        assert plan.names == ("s",)
    else:
        assert why in plan.kept["s"]
        assert servers(name, plan.text)["s"] == entry


def test_the_longest_patience_of_what_moves_is_the_entrys_own():
    assert servers("codex", install("codex").text)["toolsearchd"]["tool_timeout_sec"] == 90
    assert servers("gemini", install("gemini").text)["toolsearchd"]["timeout"] == 600000
    assert servers("hermes", install("hermes").text)["toolsearchd"]["timeout"] == 240


def test_variables_and_lists_of_allowed_servers_are_told():
    assert install("claude-code").variables == ("mcpServers.wiki.headers.Authorization",)
    text = json.dumps({"mcp": {"allowed": ["time"]}, "mcpServers": {"time": {"command": "x"}}}).encode()
    assert install("gemini", text).notes == (
        "mcp.allowed does not name 'toolsearchd': Gemini CLI will not start it before you add it there",
    )


@pytest.mark.parametrize(
    ("name", "text", "hidden"),
    [
        ("hermes", b"model: x\n", True),
        ("hermes", b"tools: {tool_search: {enabled: auto}}\n", True),
        ("hermes", b"tools: {tool_search: {enabled: off}}\n", False),
        ("hermes", b"tools: {tool_search: false}\n", False),
        ("openclaw", b"{}", True),
        ("openclaw", b"{tools: {toolSearch: {mode: 'tools'}}}", True),
        ("openclaw", b"{tools: {toolSearch: false}}", False),
        ("cursor", b"{}", False),
    ],
)
def test_a_tool_search_of_the_clients_own_is_told(name, text, hidden):
    assert any("tool search of its own" in note for note in install(name, text).notes) == hidden


def test_entries_that_were_edited_where_they_are_kept_come_back_edited():
    plan = install("vscode")
    moved = json.loads(plan.moved)
    moved["servers"]["time"]["args"] = ["other"]
    moved["servers"]["added"] = {"command": "x"}
    back = plan_uninstall(CLIENTS["vscode"], found(plan, moved=json.dumps(moved).encode())).text
    wanted = servers("vscode", TEXTS["vscode"])
    wanted["time"]["args"] = ["other"]
    assert servers("vscode", back) == wanted | {"added": {"command": "x"}}
    assert b"// no login" in back


def test_two_servers_of_one_name_are_for_a_person_to_sort_out():
    plan = install("cursor")
    same = plan.text.replace(b'"mcpServers": {', b'"mcpServers": {"time": {"command": "mine"},')
    with pytest.raises(ToolsearchdError, match="it has a server 'time' again"):
        plan_uninstall(CLIENTS["cursor"], found(plan, text=same))


def test_an_entry_taken_out_by_hand_and_a_file_that_was_deleted():
    plan = install("codex")
    by_hand = b'model = "x"\n'
    back = plan_uninstall(CLIENTS["codex"], found(plan, text=by_hand)).text
    assert back.startswith(by_hand)
    assert set(servers("codex", back)) == set(plan.names)
    gone = msgspec.structs.replace(found(plan), text=None)
    assert plan_uninstall(CLIENTS["codex"], gone).text == TEXTS["codex"]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("cursor", b'{"mcpServers": {', "file:1:17: error: not JSON"),
        ("cursor", b"\xff\xfe{\x00}\x00", "not UTF-8"),
        ("cursor", b"[]", "it is no mapping"),
        ("cursor", b'{"mcpServers": []}', "mcpServers is no object"),
        ("codex", b"a = [", "not TOML"),
        ("codex", b'mcp_servers = {a = {command = "x"}}', "is one inline table"),
        ("hermes", b"a: [", "not YAML"),
        ("hermes", b"{mcp_servers: {a: {command: x}}}", "no mapping of lines"),
        ("hermes", b"mcp_servers:\n  a: &a {command: x}\nother: *a\n", "not YAML"),
    ],
)
def test_what_can_not_be_edited_is_left_alone(name, text, said):
    with pytest.raises(ToolsearchdError) as caught:
        plan_install(CLIENTS[name], FoundFiles(file="file", text=text), DOOR)
    assert caught.value.code == "BAD_CONFIG"
    assert said in caught.value.message


def test_without_an_installation():
    for plan in (plan_uninstall, lambda client, files: plan_disclosure(client, files, "direct")):
        with pytest.raises(ToolsearchdError) as caught:
            plan(CLIENTS["cursor"], before(TEXTS["cursor"]))
        assert caught.value.code == "NOT_INSTALLED"
