"""Any value as a tool's definition, a hook's answer, a config: taken, or refused by itself in our words, and
what comes of it fits into a frame."""

import json

import msgspec
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from tests.fuzzing import fuzzed
from tests.odd_values import json_values, maps, nested
from tests.unit.disclosure_catalog import assembled, view
from toolsearchd.catalog.model import Source
from toolsearchd.config.expand import ExpandContext
from toolsearchd.config.settings import load_settings
from toolsearchd.config.sources import FORMATS
from toolsearchd.dialects.registry import OPTIONS
from toolsearchd.dispatch.arguments import prepare
from toolsearchd.dispatch.hooks import HookAnswer, HookFault, read_answer
from toolsearchd.errors import CODES, ToolsearchdError
from toolsearchd.limits import Limits
from toolsearchd.protocol.connection import ControlConnection
from toolsearchd.protocol.framing import HEADER, is_serialisable
from toolsearchd.records import Open
from toolsearchd.upstream.lines import LineReader, Message
from toolsearchd.upstream.listing import ListingCheck

LIMITS = Limits()
CONTEXT = ExpandContext(environ={}, home="/home/me")
PARTS = ["name", "description", "title", "inputSchema", "outputSchema", "annotations", "_meta", "icons"]
SCHEMA = ["type", "properties", "required", "default", "enum", "maximum", "anyOf", "$ref", "pattern", "items"]

schemas = st.recursive(
    json_values(3),
    lambda inner: maps(inner, st.sampled_from(SCHEMA)) | st.lists(inner, max_size=2),
    max_leaves=6,
)
definitions = maps(json_values(3), st.sampled_from(PARTS)) | st.fixed_dictionaries(
    {"name": st.sampled_from(["a", "b", "\ud800"])},
    optional={
        "description": st.text(max_size=5) | json_values(2),
        "inputSchema": schemas,
        "outputSchema": schemas,
        "annotations": maps(json_values(2), st.sampled_from(["readOnlyHint", "destructiveHint", "title"])),
    },
)


def in_a_frame(reply):
    frame = ControlConnection(LIMITS).result(1, Open(fields=reply))
    return msgspec.msgpack.decode(frame[HEADER.size :])


@fuzzed(250)
@given(st.lists(definitions, max_size=3), json_values(3))
@example([{"name": "a", "inputSchema": {"properties": {"n": {"maximum": 2**64}}}}], {"n": 2**70})
@example([{"name": "a", "inputSchema": nested(150, of="map")}], {})
@example(
    [{"name": "a", "description": "\ud800"}, {"name": "b", "inputSchema": {"default": float("inf")}}], {}
)
def test_definitions(tools, arguments):
    line = json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"tools": tools}}).encode()
    (read,) = LineReader(LIMITS).feed(line + b"\n")
    if not isinstance(read, Message):
        return
    check = ListingCheck(LIMITS)
    list(check.take(read.fields["result"]["tools"]))
    listing = check.listing()
    seen = view(Source(name="s", definitions=listing.definitions))
    in_a_frame(assembled(seen))
    in_a_frame(seen.search({"queries": ["a tool", "b"]}))
    names = [tool.public_name for tool in seen.granted_tools()]
    if names:
        assert in_a_frame(seen.describe({"names": names}))["tools"].keys() == set(names)
    in_a_frame({"rejected": listing.rejected})
    for definition in listing.definitions:
        if isinstance(arguments, dict):
            outcome_of(lambda definition=definition: prepare(definition, arguments, limits=LIMITS))


def outcome_of(work):
    """What the work gives, or None where it refuses in our words."""
    try:
        return work()
    except ToolsearchdError as error:
        assert error.code in CODES
        in_a_frame(error.as_fields())
        return None


ANSWER = ["decision", "reason", "arguments", "response"]


@fuzzed(200)
@given(
    st.sampled_from(["pre_call", "post_call"]),
    json_values()
    | maps(json_values(), st.sampled_from(ANSWER))
    | maps(maps(json_values()), st.sampled_from(ANSWER)),
)
@example("pre_call", {"arguments": {"n": 2**64}})
@example("post_call", {"response": {"content": [], "structuredContent": {"n": 10**400}}})
def test_a_hooks_answer(kind, value):
    try:
        text = json.dumps(value).encode()
        answer = read_answer(kind, 0, text, b"")
    except (HookFault, TypeError) as fault:  # TypeError: a key that no JSON text has
        in_a_frame({"why": str(fault)})
        return
    assert isinstance(answer, HookAnswer)
    assert is_serialisable((answer.arguments, answer.response))


SECTIONS = [
    "tools",
    "servers",
    "profiles",
    "approval",
    "hooks",
    "journal",
    "limits",
    "sources",
    "environment",
]


@fuzzed(120)
@given(json_values(6) | maps(json_values(6), st.sampled_from(SECTIONS)))
@example({"limits": {"frame_bytes": 2**64, "drain_s": 10**400}})
@example({"servers": {"\ud800": {"command": "x", "timeout": 10**400}}})
@example({"approval": {"wait_s": float("nan")}, "journal": {"max_bytes": 10**400}})
def test_a_config(value):
    for text in (json.dumps(value), yaml.safe_dump(value)):
        settings, problems = load_settings(text, "f", OPTIONS)
        assert (settings is None) == any(problem.level == "error" for problem in problems)
        in_a_frame({"problems": [str(problem) for problem in problems]})


@fuzzed(120)
@given(
    st.sampled_from(sorted(FORMATS)),
    json_values(5),
    st.sampled_from(["command", "args", "env", "timeout", "url"]),
)
@example("claude-desktop", 10**400, "timeout")
def test_a_clients_config(name, value, key):
    entries = {"good": {"command": "y"}, "odd": {"command": "x", key: value}}
    for document in ({"mcpServers": entries}, {"mcpServers": value}, value):
        parsed = FORMATS[name].parse(json.dumps(document), "f", CONTEXT)
        in_a_frame({"problems": [str(problem) for problem in parsed.problems]})
