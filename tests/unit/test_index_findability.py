"""Tools that their own names do not find, and the words that would help."""

from __future__ import annotations

from toolsearchd.index.builder import compile_index
from toolsearchd.index.document import IndexDocument
from toolsearchd.index.findability import Finder, HardToFind
from toolsearchd.index.lexicon import default_lexicon
from toolsearchd.index.ranker import DefaultSearcher, default_analyzer
from toolsearchd.index.scope import Scope


def document(server: str, name: str, description: str, *parameters: str, **fields: object) -> IndexDocument:
    key = f"mcp__{server}__{name}"
    return IndexDocument(
        key=key,
        name=name,
        server=server,
        exposed=key,
        description=description,
        parameters=tuple((parameter, "") for parameter in parameters),
        **fields,  # type: ignore[arg-type]
    )


def finder_of(documents: list[IndexDocument]) -> Finder:
    index = compile_index(default_analyzer(), documents)
    order = sorted(range(len(documents)), key=lambda doc: documents[doc].key)
    return Finder(DefaultSearcher(Scope(index, index.live, order)), default_lexicon())


ALIKE = ("list_accounts", "list-accounts", "list.accounts", "accounts_list", "accounts-list", "accounts.list")
CROWD = [document("db", name, "List accounts") for name in ALIKE]


def examined(one: IndexDocument) -> HardToFind | None:
    """As a doctor looks: the cheap question first."""
    finder = finder_of([*CROWD, one])
    return finder.hard_to_find(one, 6) if finder.is_crowded(one.server, one.name) else None


def test_a_tool_whose_name_says_what_it_does_is_found() -> None:
    clear = document("db", "vacuum_table", "Vacuum a table")
    assert not finder_of([*CROWD, clear]).is_crowded("db", "vacuum_table")
    assert finder_of([*CROWD, clear]).hard_to_find(clear, 6) is None


def test_a_tool_that_says_nothing_of_its_own_is_hard_to_find() -> None:
    finding = examined(document("db", "accounts:list", "", "warehouses", "accounts", "region_id"))
    assert finding is not None
    assert finding.query == "db accounts:list"
    assert len(finding.before) == 5
    assert 6 not in finding.before
    assert finding.words == ("warehouses", "region", "id")


def test_without_parameters_synonyms_help() -> None:
    finding = examined(document("db", "accounts:list", ""))
    assert finding is not None
    assert "enumerate" in finding.words


def test_any_word_of_its_own_in_sight_is_enough() -> None:
    for mended in (
        document("db", "warehouse:list", "", "warehouse", "accounts"),
        document("db", "accounts:list", "Of the warehouse", "accounts"),
        document("db", "accounts:list", "", "accounts", aliases=("warehouse",)),
    ):
        assert examined(mended) is None


def test_words_that_others_carry_too_are_no_help() -> None:
    vague = document("db", "accounts:list", "", "warehouse", "zone")
    others = [document("db", f"tool{at}", "About the warehouse") for at in range(5)]
    finding = finder_of([*CROWD, vague, *others]).hard_to_find(vague, 6)
    assert finding is not None
    assert finding.words[0] == "zone"
    assert "warehouse" not in finding.words
