"""Whatever stands in a config: reading it never raises, and arrival order decides nothing."""

import json

import msgspec
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from toolsearchd.config.expand import ExpandContext
from toolsearchd.config.merge import desired_state
from toolsearchd.config.settings import Settings, load_settings
from toolsearchd.config.settings_text import dump_settings
from toolsearchd.config.sources import FORMATS
from toolsearchd.config.tool_search import resolve_tool_search
from toolsearchd.dialects.registry import OPTIONS

CONTEXT = ExpandContext(environ={"SET": "secret-value"}, home="/home/me")
KEY = b"k" * 32
SECTIONS = {"vscode": "servers", "zed": "context_servers", "opencode": "mcp", "hermes": "mcp_servers"}

words = st.sampled_from(
    "command args env url headers type cwd tools include timeout disabled projects mcpServers servers mcp "
    "trust start pins stdio http x ${SET}".split()
)
scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6) | words
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4) | words, inner, max_size=4)
    ),
    max_leaves=12,
)


def check(parsed):
    for problem in parsed.problems:
        str(problem).encode()
        msgspec.msgpack.encode(problem)
        assert "secret-value" not in str(problem)
    for spec in desired_state(Settings(), [parsed], CONTEXT, KEY, "c").servers:
        for text in (*spec.command, *spec.env, *spec.env.values(), spec.cwd, spec.url, spec.name):
            assert "\0" not in text
            text.encode()
        assert bool(spec.command) != bool(spec.url)


@settings(deadline=None)
@given(st.sampled_from(sorted(FORMATS)), values)
def test_any_document_can_be_read(name, value):
    entries = {"s": value, "good": {"command": "y"}}
    section = SECTIONS.get(name, "mcpServers")
    document = {"mcp": {"servers": entries}} if name == "openclaw" else {section: entries}
    check(FORMATS[name].parse(json.dumps(value), "f", CONTEXT))
    if name != "codex":
        parsed = FORMATS[name].parse(json.dumps(document), "f", CONTEXT)
        check(parsed)
        if parsed.usable:
            assert "good" in {spec.name for spec in parsed.servers}


@settings(deadline=None)
@given(st.sampled_from(sorted(FORMATS)), st.text(alphabet='{}[]",:/*\\ \n\0aé1-=\ud800', max_size=40))
def test_any_text_can_be_read(name, text):
    check(FORMATS[name].parse(text, "f", CONTEXT))


@settings(deadline=None)
@given(values)
def test_any_config_is_in_force_or_says_why(value):
    for document in (value, {"servers": {"s": value}}, {"tools": {"tool_search": value}}, {"limits": value}):
        text = yaml.safe_dump(document, allow_unicode=False)
        loaded, problems = load_settings(text, "f", OPTIONS)
        assert (loaded is None) == any(problem.level == "error" for problem in problems)
        if loaded is not None:
            assert load_settings(dump_settings(loaded), "f", OPTIONS)[0] == loaded


@settings(deadline=None)
@given(values)
def test_tool_search_always_has_effective_values_within_bounds(value):
    effective, _ = resolve_tool_search(value)
    assert effective.enabled in ("auto", "on", "off", "fit")
    assert 0 <= effective.threshold_pct <= 100
    assert 1 <= effective.search_default_limit <= effective.max_search_limit <= 50
    assert 200 <= effective.listing_max_tokens <= 60_000


@settings(deadline=None)
@given(st.randoms(use_true_random=False), st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("xyz"))))
def test_which_servers_there_are_does_not_depend_on_the_order_of_files(random, entries):
    parsed = [
        FORMATS["cursor"].parse(json.dumps({"mcpServers": {name: {"command": command}}}), f"f{at}", CONTEXT)
        for at, (name, command) in enumerate(entries)
    ]
    shuffled = parsed[:]
    random.shuffle(shuffled)
    found = [
        sorted(
            (spec.command, spec.digest)
            for spec in desired_state(Settings(), files, CONTEXT, KEY, "c").servers
        )
        for files in (parsed, shuffled)
    ]
    assert found[0] == found[1]
    servers = desired_state(Settings(), parsed, CONTEXT, KEY, "c").servers
    assert len({spec.name for spec in servers}) == len(servers) == len({command for _, command in entries})
