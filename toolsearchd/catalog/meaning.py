"""Which tools may a name mean that a model or a person wrote? Pure; only granted tools are looked at.

A name that is exactly a tool's, in one of the forms of a name, means that one whatever else is near.
Otherwise every reading counts: without the namespace that a provider puts before names, and in near form,
where case and `-`, `_`, `.` are one. Where several tools are left nothing is guessed; the caller names them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Protocol

import numpy as np
import numpy.typing as npt
from pyroaring import BitMap

from toolsearchd.catalog.definition import NAME_CHARS
from toolsearchd.catalog.model import Tool
from toolsearchd.catalog.naming import PREFIX, public_name

Folds = npt.NDArray[np.int64]

LONGEST_NEAR = 256  # characters of a name of which near forms are looked for: providers take 64
_SERVER_CHARS = 512  # of a name that came, in which a server's name may end
_LONGEST_WRITTEN = _SERVER_CHARS + NAME_CHARS  # of one that may be written exactly
_WRAPPERS = re.compile(r"(?:functions|default_api|tools)[.:/]+", re.IGNORECASE)
"""What models write before a name: the namespaces in which their providers show tools."""
_MOST_WRAPPERS = 4  # one inside the other
_MOST_MARKS = 16  # after which a tool may begin in near form; real servers' names have five words at most
_MCP = re.compile(r"mcp[\W_]+", re.IGNORECASE)
_PARTED = re.compile(r"__|[/:]")  # marks that stand between a server and its tool
_MARKS = ("__", "/", ":", ".")  # those after which an exact name's tool may begin
_RUNS = re.compile(r"[\W_]+")  # what a near form takes as one, or as nothing


class NamedTools(Protocol):
    """What is asked of a snapshot."""

    @property
    def tools(self) -> Sequence[Tool | None]: ...
    @property
    def by_public(self) -> Mapping[str, int]: ...
    @property
    def docs_of(self) -> Mapping[str, BitMap]: ...
    @property
    def folds(self) -> Folds: ...


def folded(name: str) -> str:
    """Letters and digits alone, in one case: `get-data`, `get_data`, `get.data` and `getData` are one."""
    plain = name.casefold().replace("_", "").replace("-", "")
    return plain if plain.isalnum() else "".join(filter(str.isalnum, plain))


def folds_of(tool: Tool) -> tuple[int, int]:
    """By what its near forms are found: hashes, of this process, of its own name and, where that says more
    than server and tool, of the public one."""
    own = hash(folded(tool.name))
    return own, hash(folded(tool.public_name)) if _is_digested(tool) else own


def _is_digested(tool: Tool) -> bool:
    """Does its public name say more than server and tool?"""
    return tool.public_name not in (f"{PREFIX}{tool.server}__{tool.name}", tool.name)


def meant(catalog: NamedTools, name: str, mask: BitMap) -> list[int]:
    """Doc ids of the mask's tools that `name` may mean, ascending. One: that is meant."""
    name = name.strip()
    if not 0 < len(name) <= _LONGEST_WRITTEN:
        return []
    found = _written(catalog, name, mask)
    if not found:
        found = _near(catalog, _readings(name), mask)
        found |= _unwrapped(catalog, name, mask)
    return sorted(found)


def _unwrapped(catalog: NamedTools, name: str, mask: BitMap) -> set[int]:
    """What it means without what stands before it: exactly, if it does so at all."""
    readings: list[_Reading] = []
    for _ in range(_MOST_WRAPPERS):
        wrapper = _WRAPPERS.match(name)
        if wrapper is None:
            break
        name = name[wrapper.end() :]
        if written := _written(catalog, name, mask):
            return written
        readings += _readings(name)
    return _near(catalog, readings, mask)


# --- exactly as written --------------------------------------------------------------------------------


def _written(catalog: NamedTools, name: str, mask: BitMap) -> set[int]:
    """The public name; else `server/tool`, `server:tool`, `server.tool`, `server__tool`,
    `mcp_<server>_<tool>`, and the tool's own name."""
    doc = catalog.by_public.get(name)
    if doc is not None and doc in mask:
        return {doc}
    found = {doc for doc in _of_fold(catalog, [hash(folded(name))], mask) if _tool(catalog, doc).name == name}
    found |= {doc for doc in _pairs(catalog, name, _MARKS) if doc in mask}
    if name.startswith("mcp_"):
        found |= {doc for doc in _pairs(catalog, name[4:], ("_",)) if doc in mask}
    return found


def _pairs(catalog: NamedTools, name: str, marks: Iterable[str]) -> Iterator[int]:
    """Doc ids of the readings as a server, one of the marks and a tool."""
    for at in range(1, min(len(name), _SERVER_CHARS)):
        if name[at] not in "_/:." or name[:at] not in catalog.docs_of:
            continue
        for mark in marks:
            if name.startswith(mark, at):
                doc = catalog.by_public.get(public_name(name[:at], name[at + len(mark) :]))
                if doc is not None:
                    yield doc


# --- in near form --------------------------------------------------------------------------------------

_Reading = tuple[str | None, str]
"""A server's name, or None where none is said, and a tool's."""


def _readings(name: str) -> list[_Reading]:
    """What a name may say, by where it may be parted; nothing of an endless one."""
    if len(name) > LONGEST_NEAR:
        return []
    readings: list[_Reading] = [(None, name), *_parted(name)]
    if prefix := _MCP.match(name):
        rest = name[prefix.end() :]
        readings += _parted(rest)
        if prefix[0].endswith("__"):
            readings.append((None, rest))
    return readings


def _parted(name: str) -> Iterator[_Reading]:
    for mark in islice(_RUNS.finditer(name), _MOST_MARKS):
        if mark.start() and mark.end() < len(name):
            yield name[: mark.start()], name[mark.end() :]


def _near(catalog: NamedTools, readings: list[_Reading], mask: BitMap) -> set[int]:
    hashes = list({hash(tool) for _, part in readings if (tool := folded(part))})
    return {
        doc
        for doc in _of_fold(catalog, hashes, mask)
        if any(_fits(_tool(catalog, doc), server, part) for server, part in readings)
    }


def _fits(tool: Tool, server: str | None, part: str) -> bool:
    if server is None:
        return _is_near(part, tool.name) or (_is_digested(tool) and folded(part) == folded(tool.public_name))
    return _is_near(part, tool.name) and _is_near(server, tool.server)


def _is_near(written: str, own: str) -> bool:
    """Are they one in near form? A mark that parts, where one was written, is no letter's neighbour: no
    server's tool is taken for another's."""
    if folded(written) != folded(own):
        return False
    return not _PARTED.search(written) or _pieces(written) == _pieces(own)


def _pieces(name: str) -> list[str]:
    return [folded(piece) for piece in _PARTED.split(name)]


def _of_fold(catalog: NamedTools, hashes: list[int], mask: BitMap) -> list[int]:
    """Doc ids of the mask whose own or public name has one of these folds: candidates."""
    if not hashes or not len(catalog.folds):
        return []
    folds = catalog.folds.ravel()  # one comparison each: 0.1 ms among 100,000 tools
    places = {place for fold in hashes for place in np.flatnonzero(folds == fold).tolist()}
    return [doc for doc in sorted({place // 2 for place in places}) if doc in mask]


def _tool(catalog: NamedTools, doc: int) -> Tool:
    tool = catalog.tools[doc]
    assert tool is not None
    return tool
