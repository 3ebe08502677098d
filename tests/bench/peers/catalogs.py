"""What the peers are asked about: sets of tools and queries, and catalogs of any size made of their tools."""

from __future__ import annotations

import json
import lzma
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from toolsearchd.index.evaluate import EvalQuery

OWN = Path(__file__).parents[2] / "data" / "livemcp"
SIZES = (300, 3_300, 10_000)
LARGE = 100_000
LARGE_TOOL_BYTES = 1_200  # of a made-up tool in the large catalog: at least 1 kB a tool on average
QUERIES = 1_000

Tool = dict[str, Any]


@dataclass(frozen=True)
class DataSet:
    name: str
    tools: list[Tool]
    queries: list[EvalQuery]


def data_sets(folder: Path | None, only: tuple[str, ...] = ()) -> list[DataSet]:
    """FOLDER/catalogs/*.jsonl with FOLDER/queries/ of the same names; else the tests' own set."""
    if folder is None:
        tools = [json.loads(line) for line in unpacked(OWN / "catalog.jsonl.xz")]
        queries = [msgspec.json.decode(line, type=EvalQuery) for line in unpacked(OWN / "queries.jsonl.xz")]
        return [DataSet("livemcp", tools, queries)]
    found = []
    for path in sorted((folder / "catalogs").glob("*.jsonl")):
        if not only or path.stem in only:
            tools = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
            lines = (folder / "queries" / path.name).read_text("utf-8").splitlines()
            queries = [msgspec.json.decode(line, type=EvalQuery) for line in lines]
            found.append(DataSet(path.stem, tools, queries))
    if not found:
        raise SystemExit(f"no data set in {folder / 'catalogs'}")
    return found


def pooled(sets: list[DataSet]) -> tuple[list[Tool], list[str]]:
    """All sets' tools and distinct queries, shuffled the same way each time."""
    tools = list({(t["server"], t["name"]): t for one in sets for t in one.tools}.values())
    queries = list(dict.fromkeys(query.query for one in sets for query in one.queries))
    random.Random(1).shuffle(tools)
    random.Random(2).shuffle(queries)
    return tools, queries[:QUERIES]


def sized(pool: list[Tool], size: int) -> list[Tool]:
    """`size` tools: the pool's, then made-up ones, each put together from several of the pool's."""
    chance = random.Random(size)
    made = list(pool[:size])
    while len(made) < size:
        tool = _made_up(chance, pool, LARGE_TOOL_BYTES if size >= LARGE else 0)
        made.append(tool | {"name": f"{tool['name']}_{len(made)}"})
    return made


def _made_up(chance: random.Random, pool: list[Tool], least_bytes: int) -> Tool:
    """One of the pool's tools with a further word in its name, and with others' texts up to this size."""
    first = chance.choice(pool)
    word = chance.choice(chance.choice(pool)["name"].replace("-", "_").split("_"))
    properties = dict((first.get("input_schema") or {}).get("properties") or {})
    texts = [first.get("description") or "", word]
    size = bytes_of(first)
    while size < least_bytes:
        other = chance.choice(pool)
        more = (other.get("input_schema") or {}).get("properties") or {}
        properties |= more
        texts.append(other.get("description") or "")
        size += len(texts[-1]) + len(json.dumps(more))
    return {
        "server": first["server"],
        "name": f"{first['name']}_{word}",
        "description": " ".join(texts),
        "input_schema": {"type": "object", "properties": properties},
    }


def written(tools: list[Tool], path: Path) -> Path:
    with path.open("w", encoding="utf-8") as opened:
        opened.writelines(json.dumps(tool) + "\n" for tool in tools)
    return path


def unpacked(path: Path) -> list[bytes]:
    """The lines of an .xz file."""
    return lzma.decompress(path.read_bytes()).splitlines()


def bytes_of(tool: Tool) -> int:
    return len(json.dumps(tool, ensure_ascii=False).encode())
