"""Replies as `CallToolResult`s: a tool's own result unharmed, ours readable."""

import json

from toolsearchd.doors.results import call_result, error_result, named_as_called, reply_result
from toolsearchd.errors import ToolsearchdError

IMAGE = {"type": "image", "data": "aGk=", "mimeType": "image/png"}


def reply(*slots):
    errors = sum("error" in slot for slot in slots)
    return {
        "results": [{"index": index, "name": f"t{index}"} | slot for index, slot in enumerate(slots)],
        "success_count": len(slots) - errors,
        "error_count": errors,
        "total_count": len(slots),
    }


def test_one_entry_gives_the_tools_own_result():
    own = {"content": [IMAGE], "structuredContent": {"a": None}, "_meta": {"k": 1}}
    assert call_result(reply({"response": own})) == own


def test_a_tools_own_error_stays_its_own():
    own = {"content": [{"type": "text", "text": "no such file"}], "isError": True}
    assert call_result(reply({"error": {"code": "TOOL_ERROR", "message": "…", "response": own}})) == own


def test_our_error_is_text_and_structure():
    result = error_result(ToolsearchdError("TOOL_NOT_FOUND", "no tool x", near=["xy"]))
    assert result["isError"]
    assert result["structuredContent"] == {"code": "TOOL_NOT_FOUND", "message": "no tool x", "near": ["xy"]}
    assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
    assert call_result(reply({"error": result["structuredContent"]})) == result


def test_several_entries_give_the_batch():
    batch = reply({"response": {"content": []}}, {"error": {"code": "DENIED", "message": "no"}})
    result = call_result(batch)
    assert result["structuredContent"] == batch
    assert json.loads(result["content"][0]["text"]) == batch
    assert not result["isError"]  # one of them worked
    assert call_result(reply(*[{"error": {"code": "DENIED", "message": "no"}}] * 2))["isError"]


def test_images_of_a_batch_stand_as_content_and_leave_their_place():
    text = {"type": "text", "text": "see"}
    batch = reply({"response": {"content": [text, IMAGE]}}, {"response": {"content": [IMAGE, text]}})
    result = call_result(batch)
    assert result["content"][1:] == [IMAGE, IMAGE]
    left = [slot["response"]["content"] for slot in result["structuredContent"]["results"]]
    place = {"type": "image", "mimeType": "image/png"}
    assert left == [[text, place | {"content_index": 1}], [place | {"content_index": 2}, text]]
    assert batch["results"][0]["response"]["content"] == [text, IMAGE]  # the reply itself was not touched


def test_a_reply_is_text_and_structure():
    result = reply_result({"tools": {"a": 1}})
    assert json.loads(result["content"][0]["text"]) == result["structuredContent"] == {"tools": {"a": 1}}


def test_a_reply_names_the_tool_as_it_was_called():
    real, called = "mcp__srv__echo", "srv__echo"
    error = {"code": "INDETERMINATE", "message": f"{real} changed", "tool": real}
    before = reply({"error": error, "name": real})
    (slot,) = named_as_called(before, real, called)["results"]
    assert (slot["name"], slot["error"]) == (called, error | {"message": "srv__echo changed", "tool": called})
    (slot,) = named_as_called(reply({"response": {"content": []}}), real, called)["results"]
    assert slot == {"index": 0, "name": called, "response": {"content": []}}
    assert before["results"][0]["error"] == error
