"""The file of `environment.file`: NAME=value lines, as systemd and shells' `.env` files have them."""

from __future__ import annotations

import re

from toolsearchd.config.document import Place, problem_at
from toolsearchd.config.model import Problem

_HEAD = re.compile(r"\s*+(?:export\s++)?(?P<name>[A-Za-z_][A-Za-z0-9_]*+)\s*+=")


def parse_environment(text: str, file: str) -> tuple[dict[str, str], list[Problem]]:
    """The variables, and the lines that are none (their number, never their text)."""
    found: dict[str, str] = {}
    problems: list[Problem] = []
    for number, line in enumerate(text.removeprefix("\ufeff").splitlines(), 1):
        if not line.strip() or line.lstrip().startswith(("#", ";")):
            continue
        match = _HEAD.match(line)
        if match is None or "\0" in line:
            problems.append(
                problem_at("warning", "expected NAME=value; the line is ignored", file, (), Place(number, 0))
            )
            continue
        value = line[match.end() :].strip()
        if len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'":
            value = value[1:-1]
        found[match["name"]] = value
    return found, problems
