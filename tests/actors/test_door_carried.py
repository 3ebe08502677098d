"""Results through the door in each revision: what was carried out arrives, whatever its shape."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types.methods import serialize_server_result

from tests.actors.door_session import Catalog, make_tool, open_door
from tests.odd_values import json_values
from toolsearchd.doors.carried import carried_result
from toolsearchd.values import representable

ECHO = make_tool("srv", "echo")
VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
STRUCTURED = [[{"id": 1}], "text", 7, True, [], {"id": 1}, None]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("structured", STRUCTURED)
@pytest.mark.parametrize("content", [[{"type": "text", "text": "[1]"}], []])
async def test_structured_content_of_any_type_arrives(version, structured, content):
    async def odd(arguments, report):
        return {"content": content, "structuredContent": structured}

    async with open_door(Catalog({ECHO: odd})) as peer:
        await peer.initialize(version=version)
        await peer.call(1, "srv__echo")
        result = (await peer.receive())["result"]
    assert not result.get("isError")
    assert result["content"][: len(content)] == content
    if structured is None or isinstance(structured, dict):
        assert result.get("structuredContent") == structured
        assert result["content"] == content
    else:
        assert result["structuredContent"] == {"result": structured}
        assert "structuredContent" in result["content"][-1]["text"]
        assert len(result["content"]) == 2  # the value as text where there was none, and the note


@pytest.mark.parametrize(
    ("odd", "left"),
    [
        ({"content": [{"type": "hologram"}]}, '{"type":"hologram"}'),
        ({"content": [{"type": "text", "text": ["no", "text"]}]}, "no"),
        ({"content": [{"type": "image", "data": 5}]}, "image"),
        ({"content": [{"text": "x"}]}, "x"),
        ({"content": [{"type": "text", "text": "x", "annotations": {"priority": 99}}]}, "x"),
        ({"content": [{"type": "text", "text": "x"}], "_meta": [1]}, "x"),
        ({"content": [{"type": "text", "text": "x"}], "resultType": 7}, "x"),
        ({"content": [{"type": "text", "text": "x"}], "resultType": "input_required"}, "x"),
    ],
)
@pytest.mark.parametrize("version", VERSIONS)
async def test_a_part_that_the_revision_can_not_carry_costs_itself(odd, left, version):
    async def called(arguments, report):
        return odd

    async with open_door(Catalog({ECHO: called})) as peer:
        await peer.initialize(version=version)
        await peer.call(1, "srv__echo")
        result = (await peer.receive())["result"]
    assert not result.get("isError")
    assert left in result["content"][0]["text"]
    if "resultType" not in odd:
        assert f"MCP {version} can't carry" in result["content"][-1]["text"]


BLOCKS = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["text", "image", "audio", "resource", "resource_link", "x"]) | json_values(),
        "text": json_values(),
        "data": json_values(),
        "mimeType": json_values(),
        "uri": json_values(),
        "resource": json_values(),
        "annotations": json_values(),
        "_meta": json_values(),
    },
)


@given(
    st.fixed_dictionaries(
        {"content": st.lists(BLOCKS, max_size=3) | json_values()},
        optional={key: json_values() for key in ("structuredContent", "_meta", "isError", "resultType", "x")},
    ),
    st.sampled_from([*VERSIONS, "2026-07-28"]),
)
def test_any_result_is_carried_by_every_revision(result, version):
    carried = carried_result(representable(result), version)
    serialised = serialize_server_result("tools/call", version, carried)
    assert isinstance(serialised["content"], list)
