"""A catalog written and read again is the same catalog; anything else is refused, not half believed."""

from itertools import pairwise

import msgspec
import pytest

from tests.bench.catalog import perturbed_tools
from toolsearchd.catalog.compile import SnapshotCompile, compile_snapshot
from toolsearchd.catalog.definition import decode_definition
from toolsearchd.catalog.model import Source
from toolsearchd.catalog.snapshot import Snapshot
from toolsearchd.catalog.stored import VERSION, dump_snapshot, load_snapshot
from toolsearchd.dialects.registry import RANKINGS, make_analyzer
from toolsearchd.limits import Limits

ANALYSED_BYTES = 10_000
ANALYZERS = {name: make_analyzer(name) for name in ("default", "hermes")}


def sources(count=300, servers=5):
    tools, words = perturbed_tools(count)
    definitions = [decode_definition(msgspec.json.encode(tool), Limits()) for tool in tools]
    found = [
        Source(name=f"s{number}", definitions=tuple(definitions[number::servers]), spec_digest=f"d{number}")
        for number in range(servers)
    ]
    return found, words


def written(snapshot):
    return [section for section in dump_snapshot(snapshot, ANALYSED_BYTES) if section is not None]


def restored(snapshot):
    return load_snapshot(iter(written(snapshot)), ANALYSED_BYTES)


@pytest.fixture(scope="module")
def snapshot():
    found, _ = sources()
    first = compile_snapshot(Snapshot.empty(), found, ANALYZERS)
    # One server less, so that there are doc ids without a tool.
    return compile_snapshot(first, found[:-1], ANALYZERS)


def test_everything_comes_back(snapshot):
    again = restored(snapshot)
    assert again.sources == snapshot.sources
    assert again.generation == snapshot.generation
    assert list(again.tools) == list(snapshot.tools)
    assert list(again.digests) == list(snapshot.digests)
    assert again.by_public == snapshot.by_public
    assert again.docs_of == snapshot.docs_of
    assert again.live == snapshot.live
    for name, index in snapshot.indexes.items():
        other = again.indexes[name]
        assert dict(other.postings) == dict(index.postings)
        assert (other.lengths == index.lengths).all()
        assert (other.fingerprint, other.live) == (index.fingerprint, index.live)


@pytest.mark.parametrize("ranker", ["default", "hermes"])
def test_searches_give_the_same_scores(snapshot, ranker):
    _, words = sources()
    one = snapshot.searcher(RANKINGS[ranker], snapshot.live)
    again = restored(snapshot)
    other = again.searcher(RANKINGS[ranker], again.live)
    queries = [f"{a} {b}" for a, b in pairwise(words)] + ["creat isue", "delette branch"]
    for query in queries:
        assert other.search(query, 10) == one.search(query, 10), query


def test_nothing_new_costs_no_analysis_and_no_posting(snapshot):
    again = restored(snapshot)
    work = SnapshotCompile(again, again.sources, analyzers=ANALYZERS, analysed_bytes=ANALYSED_BYTES)
    for _ in work.prepare():
        pass
    assert work.missing == []
    while work.step():
        pass
    assert work.snapshot.sources == again.sources
    for name, index in again.indexes.items():
        assert work.snapshot.indexes[name] is index


def test_indexes_that_hold_more_of_descriptions_are_made_anew(snapshot):
    again = load_snapshot(iter(written(snapshot)), 12)
    assert (again.sources, dict(again.indexes)) == (snapshot.sources, {})
    work = SnapshotCompile(again, again.sources, analyzers=ANALYZERS, analysed_bytes=12)
    for _ in work.prepare():
        pass
    assert {len(document.description) for _, _, document in work.missing} == {12}
    while work.step():
        pass
    assert work.snapshot.indexes["default"].live == snapshot.live


def test_a_restored_catalog_is_read_by_the_analyzers_that_made_it(snapshot):
    german = make_analyzer("default", {"languages": ["german"]})
    again = restored(snapshot).read_by(ANALYZERS)
    assert again.analyzers == {name: ANALYZERS[name] for name in again.indexes}
    assert "default" not in again.read_by({"default": german}).analyzers


def test_a_change_after_a_restart_equals_one_before_it(snapshot):
    found, words = sources()
    now = [*found[1:-1], msgspec.structs.replace(found[0], definitions=found[0].definitions[1:]), found[-1]]
    one = compile_snapshot(snapshot, now, ANALYZERS)
    other = compile_snapshot(restored(snapshot), now, ANALYZERS)
    search, search_again = (s.searcher(RANKINGS["default"], s.live).search for s in (one, other))
    for word in words:
        assert search(word, 10) == search_again(word, 10)


def test_another_version_is_refused(snapshot):
    head, *rest = written(snapshot)
    version, *more = msgspec.msgpack.decode(head)
    assert version == VERSION
    other = msgspec.msgpack.encode([VERSION + 1, *more])
    with pytest.raises(ValueError, match=f"of version {VERSION + 1}, this daemon reads {VERSION}"):
        load_snapshot(iter([other, *rest]), ANALYSED_BYTES)


def test_missing_swapped_and_foreign_sections_are_refused(snapshot):
    sections = written(snapshot)
    for at in range(1, len(sections)):
        with pytest.raises(ValueError, match=r"fit together|differ in length|end elsewhere"):
            load_snapshot(iter(sections[:at]), ANALYSED_BYTES)
    for at in range(1, len(sections) - 1):
        swapped = [*sections]
        swapped[at], swapped[at + 1] = swapped[at + 1], swapped[at]
        if swapped == sections:
            continue
        try:
            loaded = load_snapshot(iter(swapped), ANALYSED_BYTES)
        except ValueError:
            continue
        # Two servers changed places: each is whole, and the documents still say whose they are.
        assert len(loaded) == len(snapshot)


@pytest.mark.parametrize("junk", [b"", b"\x95", b"\xff" * 9, b"\x95\x01\x01", b"\x95" + b"\x91" * 100_000])
def test_junk_is_refused(junk):
    with pytest.raises(ValueError, match=r"fit together|of version"):
        load_snapshot(iter([junk]), ANALYSED_BYTES)
