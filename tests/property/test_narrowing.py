"""`only` and `without` of a hello: whatever they say, a session is granted just that part of its profile."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.disclosure_catalog import snapshot, source
from toolsearchd.catalog.grant import matches_tool
from toolsearchd.config.profile import Profile
from toolsearchd.globs import matches_glob
from toolsearchd.limits import Limits
from toolsearchd.protocol.requests import Hello
from toolsearchd.sessions.entitlement import checked_hello, entitlement_of

CATALOG = snapshot(
    source("github", {"create_issue": "", "list_issues": "", "merge": ""}),
    source("gitlab", {"create_issue": "", "list_runs": ""}),
    source("slack", {"post": "", "list_channels": ""}),
    source("mail", state="parked", reason="down", declared_tools=3),
    source("build", {"run": ""}, project="/p"),
    source("plugin", {"weather": "", "list_stars": ""}, kind="plugin"),
)
PIECES = ["git*", "github", "gitlab", "slack", "mail", "build", "plugin", "*", "?ail", "[!g]*", "nothing", ""]
NAMES = [
    *("create_issue", "list_*", "*", "github/*", "mcp__gitlab__create_issue", "slack/post", "run", "merge"),
    *("*/create_*", "mcp__git*", "weather", "nothing"),
]
servers = st.none() | st.lists(st.sampled_from(PIECES), max_size=3)
tools = st.none() | st.lists(st.sampled_from(NAMES), max_size=3)
scopes = st.none() | st.fixed_dictionaries({}, optional={"servers": servers, "tools": tools})


@st.composite
def profiles(draw):
    granted = {key: draw(globs) for key, globs in (("servers", servers), ("tools", tools))}
    return Profile(**{key: tuple(globs) for key, globs in granted.items() if globs is not None})


def grant(hello, named):
    said = msgspec.msgpack.decode(msgspec.msgpack.encode(hello), type=Hello)
    return entitlement_of(checked_hello(said, Limits()), named, ()).grant


def matched(globs, tool, *, of_server):
    if of_server:
        return any(matches_glob(tool.server, glob) for glob in globs)
    return matches_tool(globs, tool)


def is_left(tool, only, without):
    """By the words of the protocol."""
    kept = all(
        matched(only[key], tool, of_server=key == "servers")
        for key in ("servers", "tools")
        if only.get(key) is not None
    )
    taken = any(
        matched(without.get(key) or (), tool, of_server=key == "servers") for key in ("servers", "tools")
    )
    return kept and not taken


@given(profiles(), profiles(), st.sampled_from([None, "named", "unknown"]), st.booleans(), scopes, scopes)
def test_what_is_left_is_what_the_words_say(own, other, profile, in_project, only, without):
    named = {"default": own, "named": other}
    hello = {"protocol": 1, "client": "c", "profile": profile, "cwd": "/p/x" if in_project else "/"}
    whole = grant(Hello(**hello), named)
    narrowed = grant(Hello(**hello, only=only, without=without), named)
    expected = {
        doc
        for doc in whole.mask(CATALOG)
        if (tool := CATALOG.tools[doc]).kind == "plugin" or is_left(tool, only or {}, without or {})
    }
    assert set(narrowed.mask(CATALOG)) == expected
    sources = {source.name for source in narrowed.sources(CATALOG)}
    assert sources <= {source.name for source in whole.sources(CATALOG)}
    assert {CATALOG.tools[doc].server for doc in expected} <= sources
    for doc in expected:
        assert narrowed.allows_tool(CATALOG.tools[doc])
