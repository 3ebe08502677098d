"""Words: Unicode, camelCase, acronyms, scripts without spaces; and the terms an analyzer makes of them."""

from __future__ import annotations

import pytest

from toolsearchd.dialects.registry import make_analyzer
from toolsearchd.index import text
from toolsearchd.index.analyzer import DefaultAnalyzer
from toolsearchd.index.document import Analysis, IndexDocument
from toolsearchd.index.fields import NAMES


def words(source: str) -> list[str]:
    return [part for run in text.runs(source) for part in text.parts(run)]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("list_issues", ["list", "issues"]),
        ("createIssue", ["create", "issue"]),
        ("HTTPServer", ["http", "server"]),
        ("getEC2Instance", ["get", "ec2", "instance"]),
        ("k8s S3 oauth2", ["k8s", "s3", "oauth2"]),
        ("URL", ["url"]),
        ("don't stop-me.now", ["don", "t", "stop", "me", "now"]),
        ("ＦＵＬＬ ｗｉｄｔｈ", ["full", "width"]),
        ("Straße größeÄndern", ["strasse", "grösse", "ändern"]),
        ("tạo ảnh", ["tạo", "ảnh"]),
        ("ta\u0323o a\u0309nh", ["tạo", "ảnh"]),
        ("图像生成", ["图像", "像生", "生成"]),
        ("ファイル検索API", ["ファ", "ァイ", "イル", "ル検", "検索", "api"]),
        ("図", ["図"]),
        ("найтиФайл", ["найти", "файл"]),
        ("!? — 😀 …", []),
        ("", []),
    ],
)
def test_words(source: str, expected: list[str]) -> None:
    assert words(source) == expected


def test_endless_words_are_clipped() -> None:
    assert words("x" * 200_000) == ["x" * text.MAX_TOKEN_CHARS]
    assert max(map(len, words("é" * 100_000))) <= text.MAX_TOKEN_CHARS


def analysed(**fields: object) -> Analysis:
    base = {"key": "mcp__s__t", "name": "t", "server": "s", "exposed": "mcp__s__t"}
    return make_analyzer("default").analyse(IndexDocument(**{**base, **fields}))  # type: ignore[arg-type]


def test_fields_are_counted_apart() -> None:
    found = analysed(
        name="send_mail",
        server="post",
        title="Mail",
        description="Send the mail. Mails!",
        parameters=(("to", "mail of the receiver"),),
        nested=(("mail", ""),),
        aliases=("mail",),
    )
    assert len(found.lengths) == len(NAMES)
    assert list(dict(found.rows("B"))["mail"]) == [1, 0, 3, 1, 1, 1, 0]
    assert found.lengths == (2, 1, 4, 1, 2, 1, 0)


def test_stop_words_count_only_in_names() -> None:
    found = analysed(name="who_am_i", description="who am i")
    assert {"who", "am", "i"} <= set(found.terms.split())
    assert found.lengths[2] == 0


def test_compounds_are_also_one_word() -> None:
    assert {"git", "hub", "github"} <= set(analysed(description="GitHub").terms.split())


def test_languages() -> None:
    german = DefaultAnalyzer(("english", "german"))
    assert set(german.stems("dateien")) == {"dateien", "datei"}
    assert german.fingerprint != DefaultAnalyzer().fingerprint
    assert DefaultAnalyzer().stems("файлы") == DefaultAnalyzer().stems("файл")
    with pytest.raises(ValueError, match="no stemmer"):
        DefaultAnalyzer(("klingon",))


def test_numbers_are_no_words_to_stem() -> None:
    assert DefaultAnalyzer().stems("2024") == ("2024",)
