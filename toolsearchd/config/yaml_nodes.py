"""YAML with a memory of where things stand: plain values beside the line of every path.

PyYAML's composer gives nodes with positions; values are made from them here, so that duplicate keys are
errors and `on`/`off` keep their meaning (YAML 1.1 reads them as booleans, which is what the settings expect).
"""

from __future__ import annotations

from typing import Any

import msgspec
import yaml

from toolsearchd.config.model import Problem

Path = tuple[str | int, ...]

_MAX_DEPTH = 64
_MAX_NODES = 100_000  # aliases can multiply a small file into a huge tree


class Document(msgspec.Struct, frozen=True):
    """A parsed file: its value, the line of each path (1-based), what was wrong with it."""

    value: Any
    lines: dict[Path, int]
    problems: list[Problem]

    def line(self, path: Path) -> int:
        """The line of `path`, or of the nearest place above it that is written down."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 0)


def parse_yaml(text: str, file: str) -> Document:
    """Never raises: a text that can't be read gives value None and an error with its line and column."""
    reader = _Reader(file)
    try:
        node = yaml.compose(
            text, Loader=yaml.CSafeLoader if hasattr(yaml, "CSafeLoader") else yaml.SafeLoader
        )
        value = reader.build(node, (), 0) if node is not None else None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        reader.fail(
            error.problem or "not YAML", (), mark.line + 1 if mark else 0, mark.column + 1 if mark else 0
        )
        value = None
    except (yaml.YAMLError, _TooMuchError, ValueError) as error:
        reader.fail(f"not readable as YAML: {error}", (), 0)
        value = None
    return Document(value, reader.lines, reader.problems)


class _TooMuchError(Exception):
    pass


class _Reader:
    def __init__(self, file: str) -> None:
        self.file = file
        self.lines: dict[Path, int] = {}
        self.problems: list[Problem] = []
        self._nodes = 0
        self._scalars = yaml.SafeLoader("")

    def fail(self, message: str, path: Path, line: int, column: int = 0) -> None:
        self.problems.append(
            Problem(
                level="error", message=message, file=self.file, line=line, column=column, path=dotted(path)
            )
        )

    def build(self, node: yaml.Node, path: Path, depth: int) -> Any:
        self._nodes += 1
        if depth > _MAX_DEPTH or self._nodes > _MAX_NODES:
            raise _TooMuchError(f"nested deeper than {_MAX_DEPTH} or more than {_MAX_NODES} values")
        self.lines.setdefault(path, node.start_mark.line + 1)
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path, depth)
        if isinstance(node, yaml.SequenceNode):
            return [self.build(item, (*path, at), depth + 1) for at, item in enumerate(node.value)]
        return self._scalars.construct_object(node)

    def _mapping(self, node: yaml.MappingNode, path: Path, depth: int) -> dict[str, Any]:
        made: dict[str, Any] = {}
        for key_node, value_node in node.value:
            # Keys are names here: `on:` or `1:` is the text that was written.
            key = key_node.value if isinstance(key_node, yaml.ScalarNode) else str(key_node.value)
            line = key_node.start_mark.line + 1
            if key in made:
                self.fail(f"the key {key!r} stands twice here; keep one", (*path, key), line)
                continue
            self.lines[(*path, key)] = line
            made[key] = self.build(value_node, (*path, key), depth + 1)
        return made


def dotted(path: Path) -> str:
    """`("a", "b", 0)` → `a.b[0]`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text
