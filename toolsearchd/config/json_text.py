"""JSON as editors write it: comments, trailing commas, a byte order mark; errors with line and column."""

from __future__ import annotations

import json
import re
from typing import Any

from toolsearchd.config.model import Problem

# Strings first, so that what looks like a comment inside one is left alone.
_TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_TRAILING_COMMA = re.compile(r'("(?:\\.|[^"\\])*")|,(?=\s*[}\]])', re.DOTALL)


def parse_json(text: str, file: str) -> tuple[Any, list[Problem]]:
    """The value (None where there is none) and what was wrong. Never raises."""
    problems: list[Problem] = []

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        made: dict[str, Any] = {}
        for key, value in items:
            if key in made:
                problems.append(
                    Problem(
                        level="warning", file=file, path=key, message="the key stands twice; the last counts"
                    )
                )
            made[key] = value
        return made

    try:
        return json.loads(_plain(text), object_pairs_hook=pairs), problems
    except json.JSONDecodeError as error:
        problems.append(
            Problem(
                level="error",
                file=file,
                line=error.lineno,
                column=error.colno,
                message=f"not JSON: {error.msg}",
            )
        )
    except RecursionError:
        problems.append(Problem(level="error", file=file, message="nested too deeply"))
    return None, problems


def _plain(text: str) -> str:
    """The same text with comments and trailing commas blanked out, so that positions stay true."""
    text = text.removeprefix("\ufeff")
    text = _TOKEN.sub(lambda m: m[0] if m[0].startswith('"') else re.sub(r"[^\n]", " ", m[0]), text)
    return _TRAILING_COMMA.sub(lambda m: m[1] or " ", text)
