"""YAML with a memory of where things stand: plain values beside the place of every path.

PyYAML's composer gives nodes with positions; values are made from them here, so that duplicate keys are
errors, keys are the text that was written (`on:` is no boolean), and neither times nor dates are made of
what is meant as text (`22:22` is a port mapping, not 1342).
"""

from __future__ import annotations

from typing import Any

import yaml

from toolsearchd.config.document import ConfigDocument, Path, Place, problem_at
from toolsearchd.config.masking import unquoted
from toolsearchd.config.model import Problem

_MAX_DEPTH = 64
_MAX_NODES = 100_000  # aliases can multiply a small file into a huge tree
_MAX_CHARS = 4 * 1024 * 1024  # composing costs about 4 µs a value: nobody writes that much by hand

_TAG = "tag:yaml.org,2002:"
_LOADER: Any = yaml.CSafeLoader if hasattr(yaml, "CSafeLoader") else yaml.SafeLoader


def parse_yaml(text: str, file: str) -> ConfigDocument:
    """Never raises: a text that can't be read gives value None and an error with its line and column."""
    reader = _Reader(file)
    value = None
    try:
        if len(text) > _MAX_CHARS:
            raise _TooMuchError(f"longer than {_MAX_CHARS} characters")
        node = yaml.compose(text, Loader=_LOADER)
        value = reader.build(node, (), 0) if node is not None else None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = Place(mark.line + 1, mark.column + 1) if mark else Place(0, 0)
        reader.fail(f"not YAML: {unquoted(str(error.problem or error.context))}", (), place)
    except (yaml.YAMLError, _TooMuchError, ValueError, RecursionError) as error:
        reader.fail(f"not readable as YAML: {unquoted(str(error))}", (), Place(0, 0))
    return ConfigDocument(value, reader.problems, reader.place)


class _TooMuchError(Exception):
    pass


class _Reader:
    def __init__(self, file: str) -> None:
        self.file = file
        self.problems: list[Problem] = []
        self._places: dict[Path, Place] = {}
        self._nodes = 0
        self._scalars = yaml.SafeLoader("")

    def place(self, path: Path) -> Place:
        while path and path not in self._places:
            path = path[:-1]
        return self._places.get(path, Place(0, 0))

    def fail(self, message: str, path: Path, place: Place) -> None:
        self.problems.append(problem_at("error", message, self.file, path, place))

    def build(self, node: yaml.Node, path: Path, depth: int) -> Any:
        self._nodes += 1
        if depth > _MAX_DEPTH or self._nodes > _MAX_NODES:
            raise _TooMuchError(f"nested deeper than {_MAX_DEPTH} or more than {_MAX_NODES} values")
        self._places.setdefault(path, _place_of(node))
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path, depth)
        if isinstance(node, yaml.SequenceNode):
            return [self.build(item, (*path, at), depth + 1) for at, item in enumerate(node.value)]
        return self._scalar(node)

    def _scalar(self, node: yaml.Node) -> Any:
        text = node.value
        number = node.tag in (_TAG + "int", _TAG + "float")
        if node.tag == _TAG + "timestamp" or (number and ":" in text):
            return text
        return self._scalars.construct_object(node)

    def _mapping(self, node: yaml.MappingNode, path: Path, depth: int) -> dict[str, Any]:
        made: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = key_node.value if isinstance(key_node, yaml.ScalarNode) else "?"
            if key_node.tag == _TAG + "merge":
                merged |= self._merged(value_node, path, depth)
                continue
            if key in made:
                self.fail(f"the key {key!r} stands twice; keep one", (*path, key), _place_of(key_node))
                continue
            self._places[(*path, key)] = _place_of(key_node)
            made[key] = self.build(value_node, (*path, key), depth + 1)
        return merged | made

    def _merged(self, node: yaml.Node, path: Path, depth: int) -> dict[str, Any]:
        """What `<<: *anchor` or `<<: [*a, *b]` brings in; of several the first counts."""
        brought: dict[str, Any] = {}
        for one in reversed(node.value) if isinstance(node, yaml.SequenceNode) else [node]:
            value = self.build(one, (*path, "<<"), depth + 1)
            if isinstance(value, dict):
                brought |= value
        return brought


def _place_of(node: yaml.Node) -> Place:
    return Place(node.start_mark.line + 1, node.start_mark.column + 1)
