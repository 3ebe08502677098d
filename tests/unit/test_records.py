"""A struct of the wires reads as the map that it becomes there."""

from collections.abc import Mapping

import msgspec
import pytest

from toolsearchd.protocol.events import ApprovalEnded, Drain
from toolsearchd.protocol.replies import OwnWords, SearchGroup, SourceLine
from toolsearchd.records import Open
from toolsearchd.values import representable

LINE = SourceLine(name="srv", tool_count=3)
GROUP = SearchGroup(query="q", matches=["a"], available_sources=[LINE])
MAP = {"query": "q", "matches": ["a"], "available_sources": [{"name": "srv", "tool_count": 3}]}


def test_it_reads_as_a_map_without_what_is_unset():
    assert isinstance(GROUP, Mapping)
    assert GROUP["query"] == GROUP.get("query") == "q"
    assert "near" not in GROUP
    assert GROUP.get("near", "nothing") == "nothing"
    with pytest.raises(KeyError):
        GROUP["near"]
    assert list(GROUP) == list(MAP)
    assert len(GROUP) == 3
    assert dict(GROUP) == {**GROUP} == MAP
    assert GROUP.keys() == MAP.keys()
    assert dict(GROUP.items())["matches"] == ["a"]


def test_it_is_equal_to_its_map_and_to_its_like():
    assert GROUP == MAP
    assert MAP == GROUP
    assert [GROUP] == [MAP]
    assert GROUP != MAP | {"query": "other"}
    assert SearchGroup(query="q", matches=["a"], available_sources=[LINE]) == GROUP
    assert GROUP != LINE
    assert hash(LINE) == hash(SourceLine(name="srv", tool_count=3))


def test_its_map_holds_no_struct():
    assert type(GROUP.as_map()["available_sources"][0]) is dict
    assert msgspec.json.decode(msgspec.json.encode(GROUP)) == MAP
    odd = SearchGroup(query="\ud800", matches=[], available_sources=[LINE])
    assert representable(odd)["available_sources"] == MAP["available_sources"]


def test_an_event_has_its_name():
    assert Drain() == {"op": "drain"}
    ended = ApprovalEnded(approval="a", state="denied", by="somebody")
    assert (ended.op, ended["op"]) == ("approval_ended", "approval_ended")


def test_an_open_one_is_the_map_that_it_was_made_with():
    fields = {"op": "later", "n": [1]}
    opened = Open(fields=fields)
    assert opened == fields
    assert opened["n"] == [1]
    own = OwnWords(generation=3, listing_stale=False, fields={"value": 1})
    assert own == {"value": 1, "generation": 3, "listing_stale": False}
    own.members()["value"] = 2
    assert own["value"] == 1
