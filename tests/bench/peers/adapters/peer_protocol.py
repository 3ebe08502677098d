"""What every adapter speaks: JSON lines on stdin and stdout. Standard library only, any Python >= 3.11.

    {"op": "load", "tools": FILE}                          → {"build_s", "cpu_s"}
    {"op": "search", "queries": [[query, limit], …], "within_s": S}
                                                           → {"found": [[matches, near], …], "us": […]}

FILE: JSONL of {server, name, description, input_schema}. `found` has lists of "server/name", best first. A
search stops once it has taken `within_s`, so fewer answers than queries may come. Only
the search itself is timed.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Callable
from typing import Any

Tool = dict[str, Any]
Found = list[str] | tuple[list[str], list[str]]  # ranked ids, or matches and near
Search = Callable[[str, int], Found]
Build = Callable[[list[Tool]], Search]

_WORDS = re.compile(r"[^\W_]+")
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]")


def serve(build: Build) -> None:
    """Answers until stdin ends. What a library prints goes to stderr."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    search: Search | None = None
    for line in sys.stdin:
        message = json.loads(line)
        if message["op"] == "load":
            with open(message["tools"], encoding="utf-8") as opened:
                tools = [json.loads(each) for each in opened]
            began, cpu = time.perf_counter(), time.process_time()
            search = build(tools)
            reply = {"build_s": time.perf_counter() - began, "cpu_s": time.process_time() - cpu}
        else:
            assert search is not None, "load comes first"
            reply = _answers(search, message["queries"], message["within_s"])
        answers.write(json.dumps(reply) + "\n")
        answers.flush()


def _answers(search: Search, queries: list[tuple[str, int]], within_s: float) -> dict[str, Any]:
    found: list[list[list[str]]] = []
    us: list[float] = []
    for query, limit in queries:
        began = time.perf_counter()
        answer = search(query, limit)
        us.append((time.perf_counter() - began) * 1e6)
        matches, near = answer if isinstance(answer, tuple) else (answer, [])
        found.append([matches, near])
        if sum(us) > within_s * 1e6:
            break
    return {"found": found, "us": us}


# --- what the libraries that index plain text are given ---------------------------------------------------


def id_of(tool: Tool) -> str:
    return f"{tool['server']}/{tool['name']}"


def parameters_of(tool: Tool) -> list[str]:
    """The names of the top-level parameters."""
    properties = (tool.get("input_schema") or {}).get("properties")
    return list(properties) if isinstance(properties, dict) else []


def text_of(tool: Tool) -> str:
    """Name, server, description and parameters as words."""
    words = [tool["name"], tool["server"], tool.get("description") or "", *parameters_of(tool)]
    return " ".join(words).replace("_", " ")


def words_of(text: str) -> list[str]:
    """Lower-case runs of letters and digits."""
    return _WORDS.findall(text.lower())


def flat_names(tools: list[Tool]) -> dict[str, str]:
    """For frameworks that know a tool by one name: `server_name`, distinct, → the tool's id."""
    names: dict[str, str] = {}
    for tool in tools:
        name = _UNSAFE.sub("_", f"{tool['server']}_{tool['name']}")
        names[name if name not in names else f"{name}_{len(names)}"] = id_of(tool)
    return names
