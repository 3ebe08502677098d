"""Tools that their own names do not find."""

from __future__ import annotations

from toolsearchd.index.builder import compile_index
from toolsearchd.index.document import Document
from toolsearchd.index.findability import hard_to_find
from toolsearchd.index.ranker import DefaultSearcher, default_analyzer
from toolsearchd.index.scope import Scope


def document(server: str, name: str, description: str, *parameters: str) -> Document:
    key = f"mcp__{server}__{name}"
    return Document(
        key=key,
        name=name,
        server=server,
        exposed=key,
        description=description,
        parameters=tuple((parameter, "") for parameter in parameters),
    )


def searcher_of(documents: list[Document]) -> DefaultSearcher:
    index = compile_index(default_analyzer(), documents)
    order = sorted(range(len(documents)), key=lambda doc: documents[doc].key)
    return DefaultSearcher(Scope(index, index.live, order))


ALIKE = ("list_accounts", "list-accounts", "list.accounts", "accounts_list", "accounts-list", "accounts.list")
CROWD = [document("db", name, "List accounts") for name in ALIKE]


def test_a_tool_whose_name_says_what_it_does_is_found() -> None:
    clear = document("db", "vacuum_table", "Vacuum a table")
    assert hard_to_find(searcher_of([*CROWD, clear]), clear, 6) is None


def test_a_tool_that_says_nothing_of_its_own_is_hard_to_find() -> None:
    vague = document("db", "accounts:list", "", "warehouse", "accounts")
    finding = hard_to_find(searcher_of([*CROWD, vague]), vague, 6)
    assert finding is not None
    assert len(finding.before) == 5
    assert 6 not in finding.before
    assert finding.rare_words == ("warehous",)
    assert finding.plain


def test_a_word_of_its_own_makes_it_found() -> None:
    vague = document("db", "accounts:list", "", "warehouse", "accounts")
    mended = document("db", "warehouse:list", "", "warehouse", "accounts")
    assert hard_to_find(searcher_of([*CROWD, vague]), vague, 6) is not None
    assert hard_to_find(searcher_of([*CROWD, mended]), mended, 6) is None
