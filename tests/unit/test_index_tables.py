"""The tables that are shipped: whole, pinned, small, of named sources; and what they say of words."""

from __future__ import annotations

from hashlib import sha256
from importlib.resources import files

import numpy as np
import pytest

from tests.bench.tables.sources import MESSAGES, NODE, PYTHON
from tests.unit.test_index_ranker import TOOLS, Engine
from toolsearchd.index import languages, words
from toolsearchd.index.analyzer import DefaultAnalyzer
from toolsearchd.index.languages import LanguageTable, language_table
from toolsearchd.index.words import WordTable, pack, quantised, word_table

TABLES = files("toolsearchd.index.tables")
ONLY_TOOLS = {
    "onnxruntime",
    "tokenizers",
    "flatbuffers",
    "protobuf",
}  # run the models


@pytest.mark.parametrize(
    ("file", "digest", "most"),
    [("words.bin", words.DIGEST, 7_000_000), ("languages.bin", languages.DIGEST, 500_000)],
)
def test_a_shipped_table_is_the_pinned_one(file: str, digest: str, most: int) -> None:
    data = TABLES.joinpath(file).read_bytes()
    assert sha256(data).hexdigest() == digest
    assert len(data) <= most


def test_each_source_is_named_with_its_licence() -> None:
    told = TABLES.joinpath("README.md").read_text("utf-8")
    for requirement in (*PYTHON, *MESSAGES, *NODE):
        name = requirement.partition("==")[0].partition("@")[0]
        if name not in ONLY_TOOLS:
            assert name in told or name.startswith("jupyterlab-language-pack-"), name


def test_a_table_that_is_none_is_refused() -> None:
    for make in (WordTable, LanguageTable):
        with pytest.raises(ValueError, match="no "):
            make(b"something else, of some length")


def test_a_packed_table_reads_back() -> None:
    rows = np.random.default_rng(0).normal(size=(40, 8)).astype(np.float32)
    stems = [f"stem{n}" for n in range(40)]
    table = WordTable(pack(stems, rows))
    for stem, row in zip(stems, rows, strict=True):
        vector = table.vector([stem])
        assert vector is not None
        assert vector @ row / np.linalg.norm(row) / np.linalg.norm(vector) > 0.999
    assert table.vector(["elsewhere"]) is None
    assert quantised(np.array([0.5, -0.25, 0.1], np.float32)).tolist() == [127, -64, 25]


def test_like_words_lie_near_one_another() -> None:
    table, analyzer = word_table(), DefaultAnalyzer()

    def cosine(one: str, other: str) -> float:
        vectors = [table.vector(analyzer.words(text)) for text in (one, other)]
        assert vectors[0] is not None
        assert vectors[1] is not None
        lengths = np.linalg.norm(vectors[0]) * np.linalg.norm(vectors[1])
        return float(vectors[0] @ vectors[1] / lengths)

    assert cosine("send an email", "deliver a message") > cosine("send an email", "weather forecast") + 0.2
    assert cosine("delete a file", "remove a document") > cosine("delete a file", "train a model") + 0.2


@pytest.mark.parametrize(
    ("word", "stem"),
    [
        ("löschen", "delet"),
        ("archivo", "file"),
        ("файлы", "file"),
        ("удалить", "delet"),
        ("calendrier", "calendar"),
    ],
)
def test_a_word_of_another_language_has_english_stems(word: str, stem: str) -> None:
    assert stem in language_table().of(word)


def test_words_without_spaces_are_found_by_the_longest() -> None:
    assert [stems[0] for _, stems in language_table().segments("删除文件")] == ["delet", "file"]
    assert [stems[0] for _, stems in language_table().segments("ファイル検索")] == ["file", "search"]


ENGINE = Engine(TOOLS)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("Dateien lesen", "files/readFile"),
        ("leer un archivo", "files/readFile"),
        ("прочитать файл", "files/readFile"),
        ("读取文件", "files/readFile"),
        ("ファイルを読み込む", "files/readFile"),
        ("enviar un correo", "mailer/send_email"),
    ],
)
def test_a_query_in_another_language_finds_english_tools(query: str, expected: str) -> None:
    assert expected in ENGINE.all(query)[:2]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("Schick das bitte als E-Mail an den Kunden", "mailer/send_email"),
        ("peux-tu lire le fichier de mon dossier", "files/readFile"),
        ("necesito leer lo que hay en este fichero", "files/readFile"),
        ("preciso ler o arquivo que está na pasta", "files/readFile"),
        ("devo leggere il documento che è nella cartella", "files/readFile"),
        ("dosyayı okumak istiyorum", "files/readFile"),
        ("Müşteriye bir e-posta gönder", "mailer/send_email"),
        ("przeczytaj ten plik proszę", "files/readFile"),
        ("이 파일을 읽어줘", "files/readFile"),
    ],
)
def test_a_sentence_in_another_language_is_known_by_its_function_words(query: str, expected: str) -> None:
    assert expected in ENGINE.all(query)[:3]


def test_function_words_stand_for_nothing_and_hide_no_english() -> None:
    table = language_table()
    for word in ("der", "una", "nicht", "della", "için"):
        assert table.is_function_word(word)
        assert table.of(word) == ()
    for word in DefaultAnalyzer().stop_words:
        assert not table.is_function_word(word)


def test_an_english_query_finds_tools_described_in_another_language() -> None:
    engine = Engine({**TOOLS, "hr/abc": "Löschen Sie einen Benutzer", "zh/xyz": "删除用户的文件"})
    assert {"hr/abc", "zh/xyz"} & set(engine.all("delete user")[:3])


def test_a_product_name_is_never_read_as_another_languages_word() -> None:
    assert Engine(TOOLS).group("Jira Ticket erstellen").absent_product == "jira"


def test_without_tables_nothing_of_them_is_in_the_index() -> None:
    plain, with_tables = DefaultAnalyzer(tables=False), DefaultAnalyzer()
    assert plain.fingerprint != with_tables.fingerprint
    assert plain.fingerprint.count("/") == 4
    assert plain.options == {"languages": ["english"], "tables": False}


def test_a_word_that_one_tool_has_as_it_is_finds_english_ones_too() -> None:
    engine = Engine(
        {**TOOLS, "notes/rizhi": "日志: 写今天的日记", "docker/get-logs": "Get the logs of a container."}
    )
    assert engine.all("查看容器日志")[0] == "docker/get-logs"
    assert "notes/rizhi" in engine.all("日志")[:2]
