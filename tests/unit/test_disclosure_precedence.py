"""Who decides how tools are disclosed: an explicit direct, a model's manifest, then what was asked for."""

import json

import pytest

from toolsearchd.dialects.precedence import choose
from toolsearchd.disclosure.manifest import Model, decode_manifest, matches, shipped_manifests, switching_off
from toolsearchd.errors import ToolsearchdError


def manifest(agent="any", effects=None, **match):
    raw = {"id": "m", "agent": agent, "description": "", "match": match or {"modelIds": ["v/one"]}}
    return decode_manifest(json.dumps(raw | {"effects": effects or {"toolSearch": False}}).encode())


OFF = manifest()
ON = manifest(effects={"toolSearch": True})


def chosen(*, disclosure=None, dialect=None, client="x", model="", manifests=()):
    return choose(
        direct_by=((disclosure, "disclosure"),),
        dialect_by=((dialect, "dialect"), ("hermes" if client == "profiled" else None, "profile")),
        client=client,
        model=Model(model_id=model),
        manifests=manifests,
    ).dialect


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({}, "default"),
        ({"dialect": "hermes-v1"}, "hermes-v1"),
        ({"client": "profiled"}, "hermes"),
        ({"client": "profiled", "dialect": "hermes-v1"}, "hermes-v1"),
        ({"client": "hermes"}, "hermes"),
        ({"client": "DeepAgents"}, "deepagents"),
        ({"client": "nemoclaw-hermes", "dialect": "default"}, "default"),
        ({"disclosure": "direct", "dialect": "hermes"}, "direct"),
        ({"disclosure": "progressive", "model": "v/one", "manifests": [OFF]}, "direct"),
        ({"dialect": "hermes", "model": "v/two", "manifests": [OFF]}, "hermes"),
        ({"disclosure": "direct", "model": "v/one", "manifests": [ON]}, "direct"),
        ({"dialect": "direct", "model": "v/one", "manifests": [ON]}, "direct"),
        ({"dialect": "hermes", "model": "V/One", "manifests": [ON, OFF]}, "direct"),
    ],
)
def test_precedence(asked, expected):
    assert chosen(**asked) == expected


@pytest.mark.parametrize("asked", [{"dialect": "klingon"}, {"disclosure": "sideways"}])
def test_what_does_not_exist_is_refused(asked):
    with pytest.raises(ToolsearchdError) as caught:
        chosen(**asked)
    assert caught.value.code == "BAD_ARGUMENTS"
    assert next(iter(asked.values())) in caught.value.message


def test_all_that_a_match_gives_must_hold():
    one = manifest(modelIdPrefixes=["big-"], providerKey="p", inferenceApi="chat", baseUrl="https://h/v1")
    model = {"model_id": "route/BIG-7", "provider": "p", "api": "chat", "base_url": "https://h/v1/"}
    assert matches(one, Model(**model), "any")
    for key in model:
        assert not matches(one, Model(**(model | {key: "other"})), "any")
        assert not matches(one, Model(**(model | {key: ""})), "any")


def test_a_manifest_for_one_agent_concerns_no_other():
    one = manifest(agent="openclaw", effects={"openclawTools": {"toolSearch": False}})
    assert one.switches_off
    assert switching_off([one], Model(model_id="v/one"), "openclaw") is one
    assert switching_off([one], Model(model_id="v/one"), "hermes") is None


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"match": {}}, "exactly one"),
        ({"match": {"modelIds": ["a"], "modelIdPrefixes": ["b"]}}, "exactly one"),
        ({"match": {"modelIdPrefixes": ["a/b"]}}, "without `/`"),
        ({"match": {"modelIds": ["a"], "colour": "red"}}, "colour"),
        ({"agent": "klingon"}, "klingon"),
        ({"agent": "hermes", "effects": {"openclawTools": {"toolSearch": False}}}, "openclawTools"),
        ({"agent": "openclaw", "effects": {"hermesCompat": {}}}, "hermesCompat"),
        ({"effects": {"openclawReasoning": False}}, "openclawReasoning"),
        ({"more": 1}, "more"),
    ],
)
def test_a_bad_manifest_says_what_is_wrong(change, words):
    raw = {"id": "m", "agent": "any", "match": {"modelIds": ["a"]}, "effects": {"toolSearch": False}}
    decode_manifest(json.dumps(raw).encode())
    with pytest.raises(ValueError, match="not a model manifest") as caught:
        decode_manifest(json.dumps(raw | change).encode())
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("model", "off"),
    [
        ("nvidia/nemotron-3-ultra-500b-a50b", True),
        ("inference/nvidia/nemotron-3-super-120b-a12b", True),
        ("NVIDIA-Nemotron-3-Super-120B", True),
        ("nvidia/nemotron-3-nano-30b-a3b", False),
        ("some-nemotron-3-ultra", False),
        ("gpt-4o", False),
        ("", False),
    ],
)
def test_the_shipped_manifest_is_about_nemotron_ultra_and_super(model, off):
    assert (switching_off(shipped_manifests(), Model(model_id=model), "any") is not None) == off
