"""Answers that are JSON and no JSON-RPC: what they come to."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types import DiscoverResult, InitializeResult

from toolsearchd.errors import ToolsearchdError
from toolsearchd.upstream.answers import BAD_LINE_CODE, GIVEN_UP, call_result, put_in_shape
from toolsearchd.upstream.handshake import usable_handshake
from toolsearchd.values import find_fault, representable

CALL, LIST = {3: "tools/call"}, {3: "tools/list"}


def answer(open_requests=CALL, **fields):
    return put_in_shape({"jsonrpc": "2.0", "id": 3, **fields}, open_requests)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        ({"code": 1, "message": "broken"}, "broken"),
        ({"message": "project is missing"}, "project is missing"),
        ({"code": "INVALID_PARAMS", "message": "project is missing"}, "INVALID_PARAMS: project is missing"),
        ("just words", "just words"),
        ({"code": 5, "message": None, "reason": "full"}, '{"code":5,"message":null,"reason":"full"}'),
        (["a", 1], '["a",1]'),
        (True, "true"),
    ],
)
def test_an_errors_words_arrive(error, message):
    shaped = answer(error=error)
    assert shaped["error"]["message"] == message
    assert isinstance(shaped["error"]["code"], int)
    assert "result" not in shaped


@pytest.mark.parametrize(
    ("result", "content", "notes"),
    [
        ([], [], 1),
        ([{"type": "text", "text": "x"}], ["x"], 1),
        ("ok", ["ok"], 1),
        (None, [], 1),
        (5, ["5"], 1),
        ({}, [], 0),
        ({"content": None}, [], 0),
        ({"content": "text"}, ["text"], 0),
        ({"content": ["a", {"type": "text", "text": "b"}, 7]}, ["a", "b", "7"], 0),
    ],
)
def test_what_a_call_came_to_arrives(result, content, notes):
    shaped = call_result(answer(result=result)["result"])
    texts = [block["text"] for block in shaped["content"]]
    assert texts[: len(content)] == content
    assert len(texts) == len(content) + notes
    assert all("toolsearchd" in note for note in texts[len(content) :])


@pytest.mark.parametrize("result", [[], "ok", None, 5, True])
def test_an_answer_to_anything_else_says_what_came(result):
    error = answer(LIST, result=result)["error"]
    assert error["code"] == BAD_LINE_CODE
    assert "tools/list" in error["message"]


def test_neither_result_nor_error():
    assert "neither" in answer(more="x")["error"]["message"]


@pytest.mark.parametrize("both", [{"code": 1, "message": "no"}, "no"])
def test_both_result_and_error_are_an_error(both):
    assert "error" in answer(result={"content": []}, error=both)


@pytest.mark.parametrize(
    ("given", "open_requests", "meant"),
    [
        (3, {3: "x", 4: "x"}, 3),
        ("3", {3: "x", 4: "x"}, 3),
        (3.0, {3: "x", 4: "x"}, 3),
        (3, {"3": "x", 4: "x"}, "3"),
        (None, {3: "tools/call"}, 3),
        (None, {3: "initialize"}, None),
        (None, {3: "tools/call", 4: "tools/call"}, None),
        (None, {2: GIVEN_UP, 3: "tools/call"}, 3),
        (2, {2: GIVEN_UP, 3: "tools/call"}, 2),
        (True, {1: "x"}, None),
        (5, {3: "tools/call"}, None),
        ({}, {3: "x"}, None),
    ],
)
def test_whom_it_answers(given, open_requests, meant):
    shaped = put_in_shape({"id": given, "result": {}}, open_requests)
    assert (shaped["id"] if shaped else None) == meant
    assert shaped is None or shaped["jsonrpc"] == "2.0"


def test_an_error_that_names_no_request_may_end_a_handshake():
    assert put_in_shape({"id": None, "error": "parse error"}, {0: "initialize"})["id"] == 0


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(codec=None), max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
KEYS = st.sampled_from(["jsonrpc", "id", "result", "error", "content", "isError", "structuredContent", "x"])


@given(st.dictionaries(KEYS, ANY, max_size=5), st.sampled_from(["tools/call", "tools/list", "initialize"]))
def test_any_answer_to_an_open_request_ends_it(fields, method):
    shaped = put_in_shape(fields | {"id": 3}, {3: method})
    assert shaped["id"] == 3
    assert ("result" in shaped) != ("error" in shaped)
    assert isinstance(shaped.get("result", {}), dict)
    assert isinstance(shaped.get("error", {}).get("message", ""), str)


@given(ANY | st.fixed_dictionaries({"content": ANY}, optional={"isError": ANY, "structuredContent": ANY}))
def test_any_result_is_one(value):
    result = call_result(value)
    assert all(isinstance(block, dict) for block in result["content"])
    assert find_fault(result) is None
    assert isinstance(result.get("isError", False), bool)
    msgspec.json.encode(result)


FIELDS = [
    "protocolVersion",
    "capabilities",
    "serverInfo",
    "instructions",
    "_meta",
    "supportedVersions",
    "ttlMs",
]


@given(
    st.dictionaries(st.sampled_from(FIELDS), ANY)
    | st.fixed_dictionaries(
        {"protocolVersion": st.just("2025-06-18"), "supportedVersions": st.just(["2026-07-28"])},
        optional={
            "capabilities": st.dictionaries(st.sampled_from(["tools", "logging", "tasks", "x"]), ANY),
            "serverInfo": st.dictionaries(st.sampled_from(["name", "version", "icons", "title"]), ANY),
            "_meta": ANY | st.fixed_dictionaries({"io.modelcontextprotocol/serverInfo": ANY}),
            "instructions": ANY,
        },
    )
)
@pytest.mark.parametrize("result", [InitializeResult, DiscoverResult])
def test_any_handshake_is_used_or_its_field_is_named(result, said):
    method = "initialize" if result is InitializeResult else "server/discover"
    try:
        used = usable_handshake(method, representable(said))
    except ToolsearchdError as error:
        assert error.code == "BAD_RESULT"
        assert "protocolVersion" in error.message or "supportedVersions" in error.message
    else:
        result.model_validate(used, by_name=False)
