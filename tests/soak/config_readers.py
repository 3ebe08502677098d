"""The readers of configs and the editors of clients' files."""

from __future__ import annotations

import json

from tests.soak import documents
from tests.soak.reader_rows import CONTEXT, LIMITS, clean_utf8, row, utf8
from toolsearchd.dialects.registry import OPTIONS

EVERY_RULE = ("shell", "braces", "plain", "codex", "opencode", "editor", "hermes")


@row(
    "config of JSON",
    LIMITS.user_file_bytes,
    "config/json_text.py",
    "config/sources/base.py",
    "config/entry.py",
    "config/merge.py",
    "config/document.py",
    families=documents.JSON,
)
def json_config(text: str) -> object:
    from toolsearchd.config.merge import desired_state
    from toolsearchd.config.settings import Settings
    from toolsearchd.config.sources import FORMATS

    return desired_state(Settings(), [FORMATS["cursor"].parse(text, "f", CONTEXT)], CONTEXT, b"k", "f")


@row("config of JSON5", LIMITS.user_file_bytes, "config/json_text.py", families=documents.JSON5)
def json5_config(text: str) -> object:
    from toolsearchd.config.json_text import parse_json5

    return parse_json5(text, "f")


@row("Claude Code's file", LIMITS.user_file_bytes, "config/sources/claude_code.py", families=documents.JSON)
def claude_code(text: str) -> object:
    from toolsearchd.config.sources import FORMATS

    return FORMATS["claude-code"].parse(clean_utf8(text).decode(), "f", CONTEXT)


@row(
    "config of YAML",
    LIMITS.user_file_bytes,
    "config/yaml_text.py",
    "config/settings.py",
    families=documents.YAML,
)
def yaml_config(text: str) -> object:
    from toolsearchd.config.settings import load_settings

    return load_settings(text, "f", OPTIONS)


MASKED = {
    "addresses": lambda chars: "http://a:b@h/p?k=" * (chars // 17),
    "parameters": lambda chars: "https://h/?" + "token=x&" * (chars // 8),
    "headers": lambda chars: "authorization: " * (chars // 15),
    "private keys": lambda chars: "-----BEGIN PRIVATE KEY-----" * (chars // 27),
    "pieces of a value": lambda chars: "secret-valu" * (chars // 11),
}


@row(
    "credentials in what is shown",
    LIMITS.stderr_ring_bytes,
    "config/masking.py",
    "config/secret_values.py",
    families=MASKED,
)
def masked_text(text: str) -> object:
    from toolsearchd.config.masking import masked, masked_line, masked_tree, masked_url, masked_words
    from toolsearchd.config.secret_values import SecretValues

    known = SecretValues(("secret-value", text[:40]))
    return (
        masked(text),
        masked_url(text),
        masked_words(text.split()),
        masked_line(text),
        masked_tree({"a": text}),
        known.masked(text),
    )


@row("config of TOML", LIMITS.user_file_bytes, "config/toml_text.py", families=documents.TOML)
def toml_config(text: str) -> object:
    from toolsearchd.config.sources import FORMATS

    return FORMATS["codex"].parse(text, "f", CONTEXT)


@row("environment file", LIMITS.user_file_bytes, "config/environment.py", families=documents.ENVIRONMENT)
def environment(text: str) -> object:
    from toolsearchd.config.environment import parse_environment

    return parse_environment(text, "f")


@row("word list", LIMITS.word_list_bytes, "config/word_list.py")
def word_list(text: str) -> object:
    from toolsearchd.config.word_list import parse_word_list

    return [parse_word_list(name, text, "f") for name in ("thesaurus", "products", "stop_words")]


@row("model manifest", LIMITS.user_file_bytes, "disclosure/manifest.py")
def manifest(text: str) -> object:
    from toolsearchd.disclosure.manifest import decode_manifest

    try:
        return decode_manifest(utf8(text))
    except ValueError:
        return None


@row("variables", LIMITS.user_file_bytes, "config/expand.py")
def variables(text: str) -> object:
    from toolsearchd.config.expand import RULES, expand

    return [expand(text, RULES[name], CONTEXT) for name in EVERY_RULE]


@row("what an entry needs", LIMITS.user_file_bytes, "config/needs.py")
def needs(text: str) -> object:
    from toolsearchd.config.needs import placeholder_in

    return [placeholder_in(text, sent=sent) for sent in (True, False)]


@row("a client's rules", LIMITS.user_file_bytes, "config/restrictions.py", "config/sources/cursor.py")
def client_rules(text: str) -> object:
    from toolsearchd.config.restrictions import ClientRules, NamedRule, Restrictions, restrictions_of
    from toolsearchd.config.sources import FORMATS

    rule = NamedRule(then="deny", name=text)
    said = {"permissions": {"deny": [text, f"Mcp({text})"]}, "mcpAllowlist": []}
    (found,) = FORMATS["cursor"].rules(said, "").rules
    rules = (ClientRules(rules=(rule,), prefixes=("mcp__{}__", "")), found)
    return restrictions_of(Restrictions(client="cursor"), "time", rules).word_on("get_time", ())


@row(
    "an entry's words", LIMITS.user_file_bytes, "config/entry.py", "config/words.py", families=documents.WORDS
)
def entry_words(text: str) -> object:
    from toolsearchd.config.entry import EntryReader
    from toolsearchd.config.model import Origin

    reader = EntryReader("f", (), None, CONTEXT, place=lambda _path: documents.NOWHERE)
    origin = Origin(file="f", format="x", entry="s")
    return [
        reader.read("s", entry, origin)
        for entry in ({"command": "x", "args": text}, {"url": text}, {text: text})
    ]


@row("a size in the config", LIMITS.user_file_bytes, "config/settings.py")
def size(text: str) -> object:
    from toolsearchd.config.settings import load_settings

    return load_settings(json.dumps({"limits": {"line_bytes": text}, "journal": {text: 1}}), "f", OPTIONS)


@row(
    "edit of JSON",
    LIMITS.user_file_bytes,
    "config/install/json_edit.py",
    "config/install/json_scan.py",
    "config/install/editing.py",
    families=documents.JSON,
)
def json_edit(text: str) -> object:
    return edited("json_edit", ("mcpServers",), text)


@row("edit of TOML", LIMITS.user_file_bytes, "config/install/toml_edit.py", families=documents.TOML)
def toml_edit(text: str) -> object:
    return edited("toml_edit", ("mcp_servers",), text)


def edited(syntax: str, section: tuple[str, ...], text: str) -> object:
    from importlib import import_module

    from toolsearchd.config.install.editing import Addition, EditError

    editor = import_module(f"toolsearchd.config.install.{syntax}")
    add = [Addition("new", {"command": "x"})]
    made = []
    for edit in (
        lambda: editor.edit(text, section, {"s", "a", "k00000001"}, add),
        lambda: editor.edit(text, section, {f"k{at:08}" for at in range(0, len(text) // 14, 2)}, add),
        lambda: editor.sources_of(text, section),
        lambda: editor.drop(text, section),
        lambda: editor.replace(text, section, "s", "args", ["y"]),
    ):
        try:
            made.append(edit())
        except EditError:
            made.append(None)
    return made


def installed(client: str, text: str) -> object:
    """Into a client's file, and out of it again after an edit."""
    from tests.unit.installing import DOOR, before, found
    from toolsearchd.config.install.clients import CLIENTS
    from toolsearchd.config.install.plan import plan_install, plan_uninstall
    from toolsearchd.errors import ToolsearchdError

    try:
        plan = plan_install(CLIENTS[client], before(clean_utf8(text)), DOOR)
        return plan.record and plan_uninstall(CLIENTS[client], found(plan, text=plan.text + b"\n"))
    except ToolsearchdError:
        return None


INSTALL = (
    "config/install/plan.py",
    "config/install/client_text.py",
    "config/install/choice.py",
    "config/install/moved.py",
)


@row("install into JSON", LIMITS.user_file_bytes, *INSTALL, families=documents.JSON)
def install_json(text: str) -> object:
    return installed("cursor", text)


@row("install into JSON5", LIMITS.user_file_bytes, *INSTALL, families=documents.JSON5)
def install_json5(text: str) -> object:
    return installed("openclaw", text)


@row("install into TOML", LIMITS.user_file_bytes, *INSTALL, families=documents.TOML)
def install_toml(text: str) -> object:
    return installed("codex", text)


@row(
    "install into YAML",
    LIMITS.user_file_bytes,
    *INSTALL,
    "config/install/yaml_edit.py",
    families=documents.YAML,
)
def install_yaml(text: str) -> object:
    return installed("hermes", text)
