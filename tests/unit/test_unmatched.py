"""Filters, rules, matches and pins that match nothing are told, with the name that may be meant."""

import msgspec
import pytest

from tests.unit.disclosure_catalog import source
from toolsearchd.config.model import ServerSpec
from toolsearchd.config.settings import Settings, load_settings
from toolsearchd.daemon.unmatched import unmatched_findings
from toolsearchd.dialects.registry import OPTIONS

TIME = source("time", {"convert_time": "x", "get_time": "y"})


def found(text="", *, spec=None, sources=(TIME,)):
    settings, problems = load_settings(text, "config.yaml", OPTIONS) if text else (Settings(), [])
    assert settings is not None, problems
    specs = [spec or ServerSpec(name="time", transport="stdio")]
    return [(one.about, one.mend) for one in unmatched_findings(settings, specs, sources)]


@pytest.mark.parametrize(
    ("more", "about", "mend"),
    [
        ({"include": ("mcp__time__get_time",)}, "time: tools.include", "write get_time"),
        ({"include": ("get_tmie", "get_*")}, "time: tools.include", "write get_time"),
        ({"exclude": ("conver_time",)}, "time: tools.exclude", "write convert_time"),
        ({"pins": ("nothing*",)}, "time: pins", "`toolsearchctl tools`"),
    ],
)
def test_a_filter_that_matches_nothing(more, about, mend):
    spec = ServerSpec(name="time", transport="stdio", **more)
    ((place, told),) = found(spec=spec)
    assert place == about
    assert told.startswith(mend)


@pytest.mark.parametrize(
    ("text", "about"),
    [
        ("approval: {rules: [{server: tiem, then: deny}]}", "approval.rules[0].server"),
        ("approval: {rules: [{tool: get_tim, then: deny}]}", "approval.rules[0]"),
        ("approval: {rules: [{server: time, tool: push*, then: ask}]}", "approval.rules[0]"),
        ("hooks: {pre_call: [{command: [x], match: {server: tme}}]}", "hooks.pre_call[0].match.server"),
        ("hooks: {post_call: [{command: [x], match: {tool: got_time}}]}", "hooks.post_call[0].match"),
        ("profiles: {p: {tools: [gets_time]}}", "profiles.p.tools"),
        ("profiles: {p: {pins: [time/gets]}}", "profiles.p.pins"),
    ],
)
def test_a_rule_that_matches_nothing(text, about):
    ((place, _),) = found(text)
    assert place == about


@pytest.mark.parametrize(
    "text",
    [
        "approval: {rules: [{server: 't*', tool: 'time/get_*', then: deny}, {then: ask}]}",
        "approval: {rules: [{tool: mcp__time__get_time, then: deny}]}",
        "hooks: {pre_call: [{command: [x]}, {command: [x], match: {tool: convert_time}}]}",
        "profiles: {p: {tools: ['get_*'], pins: [convert_time]}}",
    ],
)
def test_what_matches_something_is_not_told(text):
    assert found(text) == []


def test_a_server_that_is_not_there_is_told_whatever_runs():
    unknown = msgspec.structs.replace(TIME, definitions=(), state="failed")
    assert found("approval: {rules: [{server: tiem, then: deny}]}", sources=(unknown,))


def test_nothing_is_said_of_lists_that_are_not_known_yet():
    unknown = msgspec.structs.replace(TIME, definitions=(), state="starting")
    spec = ServerSpec(name="time", transport="stdio", include=("nothing",))
    assert found("approval: {rules: [{tool: x, then: deny}]}", spec=spec, sources=(unknown,)) == []
