"""However a person lays a config out: the servers go and come back, and all else stays what it was."""

import json
import re
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from tests.unit.installing import DOOR, before, found, servers
from toolsearchd.config.install.clients import CLIENTS
from toolsearchd.config.install.plan import plan_disclosure, plan_install, plan_uninstall

NAMES = ("time", "no tes", "a.b", "größe", "stay", 'q"uote', "x/y")
ENTRIES = [
    {"command": "uvx", "args": ["mcp-server-time", "}, // ]"]},
    {"command": "/opt/a b", "env": {"K": "[x]\n# no comment\t", "Ü": "\\"}, "timeout": 5},
    {"url": "https://a.example/mcp", "headers": {"Authorization": "Bearer x:y"}},
    {"url": "https://stays.example/mcp"},
]
CODEX_KEYS = {"headers": "http_headers", "timeout": "tool_timeout_sec"}
PLAIN_BLANKS = ("", "", " ", "\n", "\n    ", "\t", "\r\n")
BLANKS = (*PLAIN_BLANKS, '/* } , " */', " // ] , {\n", "\n\n", "\n// it's\n  ")
sections = st.dictionaries(st.sampled_from(NAMES), st.sampled_from(ENTRIES), max_size=4)
seeds = st.integers(0, 1 << 32)


def check(name, made):
    client = CLIENTS[name]
    data = made.encode()
    plan = plan_install(client, before(data), DOOR)
    assert plan_uninstall(client, found(plan)).text == data
    kept = servers(name, plan.text)
    assert kept.pop("toolsearchd")["args"] == ["mcp", "--client", name]
    assert set(kept) == {key for key, one in servers(name, data).items() if "stays" in str(one)}
    # Edited since: a line more at the end changes nothing that is said.
    again = plan_uninstall(client, found(plan, text=plan.text + b"\n")).text
    assert document(name, again) == document(name, data)
    assert again.count(b"it's") == made.count("it's")  # comments
    # Installed once more from there, the daemon reads the same.
    second = plan_install(client, before(again), DOOR)
    assert document(name, second.text) == document(name, plan.text)
    assert servers(name, second.moved) == servers(name, plan.moved)
    direct = plan_disclosure(client, found(plan), "direct")
    assert plan_disclosure(client, found(direct), "progressive").text == plan.text


def document(name, data):
    """What a text says; a section that holds nothing says as much as none."""
    value = CLIENTS[name].load(data.decode(), "f").value or {}
    return {key: one for key, one in value.items() if one != {} and one is not None}


def text(value):
    return json.dumps(value, ensure_ascii=False)


class JsonWriter:
    """JSON, laid out by chance. `loose`: with comments and trailing commas."""

    def __init__(self, seed, *, loose):
        self._random = Random(seed)
        self._loose = loose

    def blank(self):
        return self._random.choice(BLANKS if self._loose else PLAIN_BLANKS)

    def write(self, value):
        if isinstance(value, dict):
            pairs = [
                self.blank() + text(key) + self.blank() + ":" + self.blank() + self.write(one)
                for key, one in value.items()
            ]
            return self._closed("{", pairs, "}")
        if isinstance(value, list):
            return self._closed("[", [self.blank() + self.write(one) for one in value], "]")
        return text(value)

    def _closed(self, opening, parts, closing):
        made = opening
        for at, part in enumerate(parts):
            last = at == len(parts) - 1
            comma = "," if not last or (self._loose and self._random.random() < 0.5) else ""
            made += part + self.blank() + comma
        return made + self.blank() + closing


@given(
    sections,
    st.sampled_from(["vscode", "cursor", "claude-code", "gemini"]),
    st.sets(st.integers(0, 2)),
    seeds,
)
def test_json_in_any_layout(entries, name, without, seed):
    parts = [("first", [1, {"x": "y"}]), (CLIENTS[name].section[0], entries), ("last", None)]
    value = dict(part for at, part in enumerate(parts) if at not in without)
    writer = JsonWriter(seed, loose=name == "vscode")
    check(name, writer.blank() + writer.write(value) + writer.blank())


@given(sections, seeds)
def test_json5_in_any_layout(entries, seed):
    value = {"gateway": {"port": 1}, "mcp": {"servers": entries, "other": 1}}
    made = JsonWriter(seed, loose=True).write(value)
    bare = r'"(gateway|port|mcp|servers|other|command|args|url)"(?=\s*:)'
    check("openclaw", re.sub(bare, r"\1", made))


@given(sections, st.data())
def test_toml_in_any_layout(entries, data):
    lines = ["top = 1"] if data.draw(st.booleans()) else []
    style = data.draw(st.sampled_from(["tables", "inline", "dotted"]))
    gap = st.sampled_from(["", "\n", "# comment\n", "\n# apart\n\n"])
    if style == "inline" and entries:
        lines.append("[mcp_servers]")
    for key, entry in entries.items():
        name = text(key)
        pairs = {CODEX_KEYS.get(part, part): toml(one) for part, one in entry.items()}
        if style == "inline":
            made = f"{name} = {{ " + ", ".join(f"{k} = {v}" for k, v in pairs.items()) + " } # x"
        elif style == "dotted":
            made = "\n".join(f"mcp_servers.{name}.{k} = {v}" for k, v in pairs.items())
        else:
            made = f"[mcp_servers.{name}] # x\n" + "\n".join(f"{k}={v}" for k, v in pairs.items())
        lines.append(data.draw(gap) + made)
    if data.draw(st.booleans()):
        lines.append(data.draw(gap) + '[tui]\ntheme = """\n[mcp_servers.trap]\n"""')
    check("codex", "\n".join(lines) + data.draw(st.sampled_from(["", "\n", "\n# end"])))


def toml(value):
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{text(key)} = {toml(one)}" for key, one in value.items()) + " }"
    if isinstance(value, list):
        return "[\n  " + ", # ]\n  ".join(map(toml, value)) + ",\n]"
    return text(value)


@given(sections, st.data())
def test_yaml_in_any_layout(entries, data):
    indent = " " * data.draw(st.sampled_from([1, 2, 4]))
    gap = st.sampled_from(["", "\n", "# apart\n\n", f"{indent}# its own\n"])
    made = data.draw(st.sampled_from(["", "model: x\n", "# top\n\nmodel:\n  name: y\n"]))
    if data.draw(st.booleans()) or not entries:
        made += f"mcp_servers: {text(entries)}  # flow\n"
    else:
        made += "mcp_servers:  # block\n"
        for key, entry in entries.items():
            made += f"{data.draw(gap)}{indent}{text(key)}:\n"
            made += "".join(f"{indent * 2}{part}: {text(one)}  # {part}\n" for part, one in entry.items())
    check("hermes", made + data.draw(st.sampled_from(["", "tools: {}\n", "\n# then\ntools:\n  a: 1\n"])))
