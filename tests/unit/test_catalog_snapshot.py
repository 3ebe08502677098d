"""Snapshots: what a compile keeps, what it changes, and how tools are found by name."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import msgspec
import pytest
from pyroaring import BitMap

from toolsearchd.catalog.compile import SnapshotCompile, compile_snapshot, document_of
from toolsearchd.catalog.definition import decode_definition
from toolsearchd.catalog.grant import Grant
from toolsearchd.catalog.model import Definition, Source
from toolsearchd.catalog.snapshot import Snapshot
from toolsearchd.dialects.registry import RANKINGS, make_analyzer
from toolsearchd.index.analyzer import DefaultAnalyzer
from toolsearchd.index.document import Analysis, IndexDocument
from toolsearchd.index.lexicon import Lexicon
from toolsearchd.limits import Limits

ANALYZERS = {name: make_analyzer(name) for name in ("default", "hermes")}


def tool(name: str, description: str = "", **parameters: Any) -> Definition:
    raw = {
        "name": name,
        "description": description,
        "inputSchema": {"type": "object", "properties": parameters},
    }
    return decode_definition(json.dumps(raw).encode(), Limits())


def source(name: str, *tools: Definition, **fields: Any) -> Source:
    return Source(name=name, definitions=tools, **fields)


GITHUB = source("github", tool("create_issue", "Open an issue"), tool("list_issues", "List issues"))
SLACK = source("slack", tool("post_message", "Post a message"), tool("list_channels", "List channels"))


def compiled(*sources: Source, previous: Snapshot | None = None) -> Snapshot:
    return compile_snapshot(previous or Snapshot.empty(), sources, ANALYZERS)


def found(snapshot: Snapshot, query: str, mask: BitMap | None = None) -> list[str]:
    searcher = snapshot.searcher(RANKINGS["default"], snapshot.live if mask is None else mask)
    return [snapshot.tools[hit.doc].public_name for hit in searcher.search(query, 5).matches]  # type: ignore[union-attr]


def test_tools_come_in_catalog_order() -> None:
    snapshot = compiled(SLACK, GITHUB)
    names = [tool.name for tool in snapshot.iter_tools()]
    assert names == ["post_message", "list_channels", "create_issue", "list_issues"]
    assert [int(snapshot.order[snapshot.doc_of(tool)]) for tool in snapshot.iter_tools()] == [0, 1, 2, 3]
    assert len(snapshot) == 4
    assert found(snapshot, "post message")[0] == "mcp__slack__post_message"


def test_nothing_changed_gives_the_same_snapshot() -> None:
    snapshot = compiled(GITHUB, SLACK)
    assert compiled(GITHUB, SLACK, previous=snapshot) is snapshot


def test_one_servers_change_keeps_the_others_ids() -> None:
    first = compiled(GITHUB, SLACK)
    changed = source("github", tool("create_issue", "Open an issue"), tool("close_issue", "Close it"))
    second = compiled(changed, SLACK, previous=first)
    assert second.generation == first.generation + 1
    for name in ("mcp__github__create_issue", "mcp__slack__post_message", "mcp__slack__list_channels"):
        assert second.by_public[name] == first.by_public[name]
    assert "mcp__github__list_issues" not in second.by_public
    assert found(second, "close")[0] == "mcp__github__close_issue"
    assert found(second, "list issues") != found(first, "list issues")
    assert found(first, "list issues")[0] == "mcp__github__list_issues"  # the old snapshot is what it was
    shared = second.indexes["default"].postings["messag"]
    assert shared is first.indexes["default"].postings["messag"]


def test_order_of_sources_and_arrival_does_not_show_in_names() -> None:
    one, two = compiled(GITHUB, SLACK), compiled(SLACK, previous=compiled(GITHUB))
    both = compiled(GITHUB, SLACK, previous=two)
    assert one.by_public.keys() == both.by_public.keys()
    assert [t.public_name for t in one.iter_tools()] == [t.public_name for t in both.iter_tools()]


def test_a_removed_source_is_gone_and_may_return() -> None:
    first = compiled(GITHUB, SLACK)
    second = compiled(SLACK, previous=first)
    assert found(second, "issue") == []
    third = compiled(GITHUB, SLACK, previous=second)
    assert found(third, "issue") == found(first, "issue")


def test_a_name_listed_twice_means_the_first() -> None:
    snapshot = compiled(source("s", tool("t", "one"), tool("t", "two")))
    assert [t.definition.description for t in snapshot.iter_tools()] == ["one"]


def test_only_what_changed_is_missing_from_the_memo() -> None:
    first = compiled(GITHUB, SLACK)
    work = SnapshotCompile(
        first,
        (GITHUB, source("slack", *SLACK.definitions, tool("new"))),
        analyzers=ANALYZERS,
        analysed_bytes=None,
    )
    for _ in work.prepare():
        pass
    assert [(name, document.name) for name, _, document in work.missing] == [
        ("default", "new"),
        ("hermes", "new"),
    ]
    given = {(n, d): ANALYZERS[n].analyse(document) for n, d, document in work.missing}
    work.give(given)
    while work.step():
        pass
    assert found(work.snapshot, "new")[0] == "mcp__slack__new"


def test_another_analyzer_is_compiled_over_the_same_ids() -> None:
    first = compile_snapshot(Snapshot.empty(), (GITHUB, SLACK), {"default": ANALYZERS["default"]})
    second = compiled(GITHUB, SLACK, previous=first)
    assert second.by_public == first.by_public
    hits = second.searcher(RANKINGS["hermes"], second.live).search("channels", 5).matches
    assert [second.tools[hit.doc].name for hit in hits] == ["list_channels"]  # type: ignore[union-attr]


def test_the_searcher_reads_queries_as_the_index_was_made() -> None:
    german = {
        "default": make_analyzer("default", {"languages": ["english", "german"], "stop_words": ["bitte"]})
    }
    tools = (tool("suche", "Durchsucht alle Dateien"), tool("notiz", "Schreibt eine Notiz"))
    snapshot = compile_snapshot(Snapshot.empty(), (source("s", *tools),), german)
    group = snapshot.searcher(RANKINGS["default"], snapshot.live).search("bitte Datei", 5)
    assert [snapshot.tools[hit.doc].name for hit in group.matches] == ["suche"]  # type: ignore[union-attr]
    assert group.unknown == []


def test_word_lists_of_ones_own() -> None:
    snapshot = compiled(GITHUB, SLACK)
    files = {
        "stop_words.txt": "the",
        "thesaurus.txt": "# mine\nschwatz message",
        "products.txt": "frobnicator\nmessage",
        "ordinary_words.txt": "message",
        "verbs.txt": "",
    }
    searcher = snapshot.searcher(RANKINGS["default"], snapshot.live, Lexicon.parse(files.__getitem__))
    docs = [hit.doc for hit in searcher.search("schwatz", 5).matches]
    assert [snapshot.tools[doc].name for doc in docs] == ["post_message"]  # type: ignore[union-attr]
    assert searcher.search("frobnicator issue", 5).absent_product == "frobnicator"
    assert searcher.search("message", 5).matches


class Stumbling(DefaultAnalyzer):
    """The default analyzer, but one word makes it fail."""

    def analyse(self, document: IndexDocument) -> Analysis:
        if "poison" in document.description:
            raise RuntimeError("poisoned")
        return super().analyse(document)


def test_a_poisoned_tool_keeps_no_other_out() -> None:
    sources = (source("bad", tool("one", "poison"), tool("two", "harmless words")), SLACK)
    work = SnapshotCompile(Snapshot.empty(), sources, analyzers={"default": Stumbling()}, analysed_bytes=None)
    while work.step():
        pass
    assert [(server, name) for server, name, _ in work.failed] == [("bad", "one")]
    assert found(work.snapshot, "harmless") == ["mcp__bad__two"]
    assert found(work.snapshot, "one poison") == []
    assert work.snapshot.resolve("bad/one", work.snapshot.live) is not None


def test_poisoned_tools_survive_a_sweep() -> None:
    analyzers = {"default": Stumbling()}
    snapshot = Snapshot.empty()
    for version in range(24):
        tools = [
            tool(f"tool_{n}", f"version {version} of {n}" + " poison" * (n % 25 == 24)) for n in range(50)
        ]
        snapshot = compile_snapshot(snapshot, (SLACK, source("busy", *tools)), analyzers)
        assert found(snapshot, "tool 7")[0] == "mcp__busy__tool_7"
        assert "mcp__busy__tool_49" in snapshot.by_public
        assert "mcp__busy__tool_49" not in found(snapshot, "tool 49")


def test_dead_documents_are_swept_out() -> None:
    steady = source("steady", tool("stay", "remains in place"), tool("stop", "halts it"))
    snapshot = compiled(steady, SLACK)
    before = {name: found(snapshot, name) for name in ("remains", "halts", "message", "version")}
    largest = 0
    for version in range(24):
        busy = source("busy", *(tool(f"tool_{n}", f"version {version} of {n}") for n in range(50)))
        snapshot = compiled(busy, steady, SLACK, previous=snapshot)
        largest = max(largest, len(snapshot.tools))
    assert largest < 1_200
    assert len(snapshot.tools) < largest
    snapshot = compiled(steady, SLACK, previous=snapshot)
    assert {name: found(snapshot, name) for name in before} == before
    for at, known in enumerate(snapshot.tools):
        assert known is None or snapshot.by_public[known.public_name] == at
    assert snapshot.resolve("stay", snapshot.live) == snapshot.by_public["mcp__steady__stay"]


def test_aliases_are_indexed_and_change_only_their_tools() -> None:
    first = compiled(GITHUB, SLACK)
    aliased = source("slack", *SLACK.definitions, aliases=(("post_*", ("dm", "whisper")),))
    second = compiled(GITHUB, aliased, previous=first)
    assert found(second, "whisper") == ["mcp__slack__post_message"]
    assert second.by_public["mcp__slack__list_channels"] == first.by_public["mcp__slack__list_channels"]


@pytest.mark.parametrize(
    "name",
    [
        "mcp__github__create_issue",
        "MCP__GitHub__Create_Issue",
        " mcp__github__create_issue ",
        "github/create_issue",
        "github:create_issue",
        "mcp_github_create_issue",
        "create_issue",
    ],
)
def test_forms_of_a_name(name: str) -> None:
    snapshot = compiled(GITHUB, SLACK)
    assert snapshot.resolve(name, snapshot.live) == snapshot.by_public["mcp__github__create_issue"]


def test_names_mean_nothing_outside_the_grant() -> None:
    snapshot = compiled(GITHUB, SLACK)
    mask = Grant(servers=("slack",)).mask(snapshot)
    for name in (
        "mcp__github__create_issue",
        "github/create_issue",
        "create_issue",
        "mcp_github_create_issue",
    ):
        assert snapshot.resolve(name, mask) is None
    assert snapshot.near("create_issue", mask) == []
    assert snapshot.near("list_chanels", mask) == ["mcp__slack__list_channels"]


def test_a_bare_name_must_be_unique_within_the_grant() -> None:
    linear = source("linear", tool("create_issue"))
    snapshot = compiled(GITHUB, linear)
    assert snapshot.resolve("create_issue", snapshot.live) is None
    mask = Grant(servers=("linear",)).mask(snapshot)
    assert snapshot.resolve("create_issue", mask) == snapshot.by_public["mcp__linear__create_issue"]


def names(snapshot: Snapshot, docs: Iterable[int]) -> list[str]:
    return [snapshot.tools[doc].name for doc in docs]  # type: ignore[union-attr]


def test_grants() -> None:
    project = source("local", tool("build"), project="/p")
    snapshot = compiled(GITHUB, SLACK, project)
    assert names(snapshot, Grant().mask(snapshot)) == [
        "create_issue",
        "list_issues",
        "post_message",
        "list_channels",
    ]
    assert names(snapshot, Grant(projects=("/p",)).mask(snapshot))[-1] == "build"
    assert names(snapshot, Grant(tools=("list_*",)).mask(snapshot)) == ["list_issues", "list_channels"]
    assert names(snapshot, Grant(tools=("slack/*",)).mask(snapshot)) == ["post_message", "list_channels"]
    narrow = Grant(servers=("s*",)).narrowed(Grant(tools=("list_*",)))
    assert names(snapshot, narrow.mask(snapshot)) == ["list_channels"]
    assert [s.name for s in narrow.sources(snapshot)] == ["slack"]
    assert len(Grant.nothing().mask(snapshot)) == 0
    assert len(Grant().narrowed(Grant.nothing()).mask(snapshot)) == 0
    # A narrowing profile that names a project opens nothing.
    assert "build" not in names(snapshot, Grant().narrowed(Grant(projects=("/p",))).mask(snapshot))


def test_a_document_holds_what_a_schema_says() -> None:
    schema = {
        "q": {"type": "string", "description": "what to find"},
        "opts": {"type": "object", "properties": {"deep": {"description": "inner words"}}},
        "rows": {"type": "array", "items": {"type": "object", "properties": {"cell": {}}}},
        "odd": 5,
    }
    document = document_of(GITHUB, tool("t", **schema), None)
    assert document.parameters == (("q", "what to find"), ("opts", ""), ("rows", ""), ("odd", ""))
    assert document.nested == (("deep", "inner words"), ("cell", ""))


def test_a_document_holds_so_much_of_each_description_and_no_more() -> None:
    schema = {
        "q": {"description": "what to find"},
        "opts": {"properties": {"deep": {"description": "inner words"}}},
    }
    definition = msgspec.structs.replace(tool("t", **schema), description="first words")
    document = document_of(GITHUB, definition, 4)
    assert document.description == "firs"
    assert document.parameters == (("q", "what"), ("opts", ""))
    assert document.nested == (("deep", "inne"),)


@pytest.mark.parametrize("schema", [{"properties": []}, {"properties": None}, {"properties": {"a": []}}, {}])
def test_a_nonsense_schema_gives_a_document(schema: dict[str, Any]) -> None:
    raw = json.dumps({"name": "t", "inputSchema": schema}).encode()
    assert document_of(GITHUB, decode_definition(raw, Limits()), None).name == "t"


def test_empty_catalogs_answer() -> None:
    assert found(Snapshot.empty(), "x") == []
    nothing = compiled()
    assert nothing.resolve("x", nothing.live) is None
    one = compiled(source("s", tool("t", "words")))
    assert found(one, "words") == ["mcp__s__t"]
    assert found(one, "words", BitMap()) == []
