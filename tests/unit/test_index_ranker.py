"""The default ranker, one behaviour a test."""

from __future__ import annotations

import math
from collections.abc import Iterable

import pytest
from pyroaring import BitMap

from toolsearchd.dialects.registry import RANKINGS, make_analyzer
from toolsearchd.index.builder import compile_index
from toolsearchd.index.concepts import Tuning
from toolsearchd.index.document import IndexDocument
from toolsearchd.index.ranker import DefaultSearcher
from toolsearchd.index.searcher import Group, Searcher

TOOLS = {
    "github/create_issue": "Open a new issue in a repository",
    "github/list_issues": "List the issues of a repository",
    "github/merge_pull_request": "Merge an open pull request",
    "mailer/send_email": "Send a message to an address",
    "calendar/create_event": "Add an event to a calendar",
    "clock/convert_timezone": "Convert a time between zones",
    "files/readFile": "Read a file of the disk",
}


def documents(tools: dict[str, str], **more: dict[str, object]) -> list[IndexDocument]:
    found = []
    for name, description in tools.items():
        server, _, tool = name.partition("/")
        key = f"mcp__{server}__{tool}"
        found.append(
            IndexDocument(
                key=key, name=tool, server=server, exposed=key, description=description, **more.get(name, {})
            )  # type: ignore[arg-type]
        )
    return found


class Engine:
    def __init__(
        self,
        tools: dict[str, str],
        mask: Iterable[int] | None = None,
        *,
        tables: bool = True,
        **more: dict[str, object],
    ) -> None:
        self.names = list(tools)
        made = documents(tools, **more)
        index = compile_index(make_analyzer("default", {"tables": tables}), made)
        order = sorted(range(len(made)), key=lambda doc: made[doc].key)
        self.searcher: Searcher = RANKINGS["default"].over(
            index, index.live if mask is None else BitMap(mask), order=order
        )

    def group(self, query: str, limit: int = 5) -> Group:
        return self.searcher.search(query, limit)

    def matches(self, query: str, limit: int = 5) -> list[str]:
        return [self.names[hit.doc] for hit in self.group(query, limit).matches]

    def near(self, query: str, limit: int = 5) -> list[str]:
        return [self.names[hit.doc] for hit in self.group(query, limit).near]

    def all(self, query: str, limit: int = 5) -> list[str]:
        return self.matches(query, limit) + self.near(query, limit)


ENGINE = Engine(TOOLS)


def test_a_tool_that_carries_the_query_is_a_match() -> None:
    assert ENGINE.matches("create an issue")[0] == "github/create_issue"


def test_partners_of_the_thesaurus_find_it_too() -> None:
    assert ENGINE.matches("post mail")[0] == "mailer/send_email"
    assert ENGINE.matches("new ticket in repo")[0] == "github/create_issue"


def test_without_tables_a_product_that_is_nowhere_gets_no_answer() -> None:
    engine = Engine(TOOLS, tables=False)
    group = engine.group("create a jira issue")
    assert (group.matches, group.near, group.absent_product) == ([], [], "jira")
    assert "jira" in group.unknown
    assert engine.group("HubSpot create issue").absent_product == "hubspot"
    assert engine.group("google drive read file").absent_product == "google drive"


def test_a_product_that_is_nowhere_is_named_and_makes_no_match() -> None:
    group = ENGINE.group("create a jira issue")
    assert (group.matches, group.absent_product) == ([], "jira")
    assert ENGINE.group("google drive read file").absent_product == "google drive"


def test_a_product_in_a_long_query_is_mentioned_in_passing() -> None:
    group = ENGINE.group("create an issue in the repository with the text of the jira page attached below")
    assert group.absent_product is None
    assert group.matches or group.near


def test_an_ordinary_word_is_no_product() -> None:
    assert ENGINE.group("create root issue").absent_product is None


def test_unknown_words_are_named_and_weaken() -> None:
    group = ENGINE.group("frobnicate quux blargh zorp issue")
    assert group.unknown == ["frobnicate", "quux", "blargh", "zorp"]
    assert group.matches == []
    assert group.near


def test_a_typo_is_read_as_the_word_it_meant() -> None:
    assert ENGINE.all("list repositroy issues")[0] == "github/list_issues"
    assert ENGINE.group("repositroy").unknown == ["repositroy"]
    assert ENGINE.all("calender")[0] == "calendar/create_event"


def test_a_typo_that_may_be_two_words_is_the_commoner_one() -> None:
    """Whichever comes first by its letters."""
    for common, rare in (("monitor", "mentor"), ("mentor", "monitor")):
        tools = {f"srv/{common}_{n}": f"Mount the {common}" for n in range(3)}
        engine = Engine(TOOLS | {"srv/other": f"Mount the {rare}"} | tools)
        assert set(engine.all("montor")) == set(tools)


def test_a_match_scores_seven_tenths_of_the_best() -> None:
    """Longer and longer descriptions of one word: their scores fall by little steps."""
    filler = " ".join(f"filler{n}" for n in range(60)).split()
    engine = Engine({f"srv/t{n}": " ".join(["gadget", *filler[:n]]) for n in range(60)}, tables=False)
    group = engine.group("gadget", limit=60)
    best = group.matches[0].score
    assert 0.7 <= min(hit.score for hit in group.matches) / best < 0.72
    assert 0.68 < max(hit.score for hit in group.near) / best < 0.7


@pytest.mark.parametrize(("own", "others", "covered"), [(3, 5, 0.556), (2, 4, 0.511)])
def test_a_match_covers_half_of_the_query_and_a_little_more(own: int, others: int, covered: float) -> None:
    words = "apple brick cloud drum eagle flute grape horse".split()
    its, query = " ".join(words[:own]), " ".join(words[: own + others])
    elsewhere = " ".join(words[own : own + others])  # and commoner, so that its own words lead
    engine = Engine({"a/x": its, "b/y": elsewhere, "c/z": elsewhere}, tables=False)
    assert isinstance(engine.searcher, DefaultSearcher)
    assert engine.searcher.coverage(engine.searcher.reader.read(query), 0) == pytest.approx(
        covered, abs=0.001
    )
    assert engine.matches(query) == (["a/x"] if covered > 0.53 else [])


def test_a_partner_of_the_thesaurus_is_worth_less_than_the_word() -> None:
    engine = Engine({"a/x": "gadget the ticket now", "b/y": "gadget the issue now"}, tables=False)
    assert engine.matches("ticket") == ["a/x"]
    assert engine.near("ticket") == ["b/y"]


def test_a_name_that_is_covered_gains_three_tenths() -> None:
    def score(name_coverage: float) -> float:
        scope = Engine(TOOLS, tables=False).searcher.scope
        tuning = Tuning(name_coverage=name_coverage)
        return DefaultSearcher(scope, tuning=tuning).search("create issue", 1).matches[0].score

    assert score(0.3) == pytest.approx(1.3 * score(0.0))


@pytest.mark.parametrize("short", ["isue", "maill", "evnt"])
def test_a_typo_in_a_short_word_is_not_guessed_at(short: str) -> None:
    assert ENGINE.all(short) == []


def test_words_may_be_written_together_or_apart() -> None:
    assert ENGINE.all("time zone")[0] == "clock/convert_timezone"
    assert ENGINE.all("read file")[0] == "files/readFile"
    assert ENGINE.all("readfile")[0] == "files/readFile"
    assert ENGINE.all("pullrequest")[0] == "github/merge_pull_request"


@pytest.mark.parametrize(
    "query", ["mcp__github__merge_pull_request", " MCP__GITHUB__merge_pull_request ", "merge_pull_request"]
)
def test_a_named_tool_comes_first(query: str) -> None:
    group = ENGINE.group(query)
    assert ENGINE.names[group.matches[0].doc] == "github/merge_pull_request"
    assert group.matches[0].score == math.inf


def test_a_name_that_two_tools_bear_names_neither() -> None:
    engine = Engine({**TOOLS, "gitlab/create_issue": "Create one"})
    assert all(hit.score < math.inf for hit in engine.group("create_issue").matches)


def test_repetition_changes_nothing() -> None:
    assert ENGINE.group("issue issue issues create") == ENGINE.group("issue create")


def test_order_of_words_decides_no_match() -> None:
    one, other = ENGINE.group("create issue"), ENGINE.group("issue create")
    assert [hit.doc for hit in one.matches] == [hit.doc for hit in other.matches]


def test_equal_scores_are_ordered_by_public_name() -> None:
    engine = Engine({f"s{n}/same": "same words" for n in (3, 1, 2)})
    assert engine.all("same words") == ["s1/same", "s2/same", "s3/same"]


@pytest.mark.parametrize("query", ["", "   ", "!?…", "😀😀", "\u202e", "\x00"])
def test_a_query_without_words_is_an_empty_answer(query: str) -> None:
    assert ENGINE.group(query) == Group()


def test_only_stop_words_can_still_name_a_tool() -> None:
    engine = Engine({**TOOLS, "me/who_am_i": "Tells the account"})
    assert engine.all("who am i")[0] == "me/who_am_i"
    assert ENGINE.group("what is it").matches == []


@pytest.mark.parametrize("limit", [0, -1])
def test_no_limit_no_answer(limit: int) -> None:
    assert ENGINE.group("issue", limit) == Group()


def test_both_lists_share_the_limit() -> None:
    for limit in (1, 2, 3, 50):
        group = ENGINE.group("create issue repository event file", limit)
        assert len(group.matches) + len(group.near) <= limit


def test_huge_queries_and_limits_answer() -> None:
    assert ENGINE.group("issue " * 100_000, 10**9).matches
    assert ENGINE.all(" ".join(f"word{n}" for n in range(5_000)) + " issue") == []


def test_empty_one_and_ungranted_catalogs() -> None:
    assert Engine({}).group("issue") == Group()
    assert Engine(TOOLS, mask=[]).group("issue") == Group()
    one = Engine({"s/only": "words"})
    assert one.all("only words") == ["s/only"]
    assert 0 < one.group("words").matches[0].score < math.inf


def test_scores_are_positive_and_finite_even_where_every_document_has_the_word() -> None:
    engine = Engine({f"s/t{n}": "common" for n in range(10)})
    scores = [hit.score for hit in engine.group("common", 50).matches]
    assert len(scores) == 10
    assert all(0 < score < math.inf for score in scores)


def test_stuffing_a_description_is_worth_little() -> None:
    """1,000 repetitions score at most 1.5 times what 5 do, alone and within a catalog."""

    def score(times: int) -> float:
        engine = Engine({**TOOLS, "spam/stuffed": "banana " * times})
        return next(
            hit.score for hit in engine.group("banana").matches if engine.names[hit.doc] == "spam/stuffed"
        )

    assert score(1000) <= 1.5 * score(5)


def test_aliases_weigh_like_names() -> None:
    engine = Engine(TOOLS, **{"clock/convert_timezone": {"aliases": ("worldclock",)}})
    assert engine.matches("worldclock") == ["clock/convert_timezone"]


def test_a_mask_hides_words_products_and_names() -> None:
    masked = Engine(TOOLS, mask=[3, 4])
    assert masked.group("merge_pull_request").matches == []
    assert masked.group("github issue").absent_product == "github"
    assert "merge" in masked.group("merge").unknown


MULTILINGUAL = {
    "anh/tao_anh": "Tạo ảnh từ mô tả bằng văn bản",
    "thoitiet/du_bao": "Xem dự báo thời tiết theo thành phố",
    "zh/shengcheng": "根据文字描述生成图像",
    "zh/tianqi": "查询城市天气预报",
    "ja/kensaku": "ファイルの内容を検索します",
    "ja/yoyaku": "ホテルの予約を作成する",
    "ru/poisk": "Поиск файлов по содержимому",
    "ru/pogoda": "Прогноз погоды для города",
    "de/suche": "Durchsucht Dateien nach ihrem Inhalt",
    "de/wetter": "Liefert die Wettervorhersage für eine Stadt",
}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("tạo ảnh", "anh/tao_anh"),
        ("dự báo thời tiết", "thoitiet/du_bao"),
        ("生成图像", "zh/shengcheng"),
        ("天气预报", "zh/tianqi"),
        ("ファイル検索", "ja/kensaku"),
        ("ホテル予約", "ja/yoyaku"),
        ("поиск файла", "ru/poisk"),
        ("прогнозы погоды", "ru/pogoda"),
        ("Dateien durchsuchen", "de/suche"),
        ("Wettervorhersage Stadt", "de/wetter"),
    ],
)
def test_other_languages(query: str, expected: str) -> None:
    assert Engine({**TOOLS, **MULTILINGUAL}).all(query)[0] == expected
