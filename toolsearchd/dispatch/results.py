"""A tool's result, MCP's `CallToolResult` as a map: its texts, clipped. Pure; results are copied,
never changed.

Images, audio and structured content are never cut. Text past a bound keeps its head and its tail, with a
marker between them that says what is left out and where the whole is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

_HEAD_SHARE = 0.75  # of what is kept; logs tell how they ended, pages how they began
_SMALLEST_CLIP = 512  # bytes of a block that are worth showing; below it whole blocks are left out

Result = dict[str, Any]


def text_bytes(result: Mapping[str, Any]) -> int:
    """Of all its text blocks and embedded text resources, as UTF-8."""
    return sum(_size(holder[key]) for _, holder, key in _texts(result))


def whole_text(result: Mapping[str, Any]) -> str:
    """Its texts as they came, one after the other, a line break between two."""
    return "\n".join(holder[key] for _, holder, key in _texts(result))


def clipped(result: Mapping[str, Any], max_bytes: int, marker: Callable[[int], str]) -> Result:
    """With `max_bytes` of its text at most, and the marker where something is left out.

    The largest blocks give way first. `marker(n)`: the words for n bytes that are left out.
    """
    copy = _copied(result)
    texts = list(_texts(copy))
    cap = _share([_size(holder[key]) for _, holder, key in texts], max_bytes)
    if cap < _SMALLEST_CLIP:
        return _without_middle(copy, max_bytes, marker)
    for _, holder, key in texts:
        size = _size(holder[key])
        if size > cap:
            head, tail = ends(holder[key], cap)
            holder[key] = f"{head}\n{marker(size - _size(head) - _size(tail))}\n{tail}"
    return copy


def ends(text: str, max_bytes: int) -> tuple[str, str]:
    """Head and tail that take `max_bytes` together; no character is cut."""
    data = text.encode("utf-8", "replace")
    head = int(max_bytes * _HEAD_SHARE)
    tail = max_bytes - head
    return data[:head].decode("utf-8", "ignore"), data[len(data) - tail :].decode("utf-8", "ignore")


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


def _texts(result: Mapping[str, Any]) -> Iterator[tuple[int, dict[str, Any], str]]:
    """(place of its block, what holds the text, under which key) of each text."""
    for at, block in enumerate(result.get("content") or ()):
        if block.get("type") == "text" and isinstance(block.get("text"), str):
            yield at, block, "text"
        resource = block.get("resource")
        is_resource = block.get("type") == "resource" and isinstance(resource, dict)
        if is_resource and isinstance(resource.get("text"), str):
            yield at, resource, "text"


def _copied(result: Mapping[str, Any]) -> Result:
    """As deep as texts are put in."""
    copy = dict(result)
    if copy.get("content"):
        copy["content"] = [
            {key: dict(value) if isinstance(value, dict) else value for key, value in block.items()}
            for block in copy["content"]
        ]
    return copy


def _share(sizes: list[int], budget: int) -> int:
    """The size to which the larger ones are to be cut, so that all fit."""
    for at, size in enumerate(ordered := sorted(sizes)):
        share = budget // (len(ordered) - at)
        if size > share:
            return share
        budget -= size
    return max(sizes, default=0)


def _without_middle(copy: Result, max_bytes: int, marker: Callable[[int], str]) -> Result:
    """Of very many texts the first and the last ones, whole."""
    sizes: dict[int, int] = {}
    for at, holder, key in _texts(copy):
        sizes[at] = sizes.get(at, 0) + _size(holder[key])
    kept = _fitting(list(sizes.items()), int(max_bytes * _HEAD_SHARE))
    kept |= _fitting(list(reversed(sizes.items())), max_bytes - int(max_bytes * _HEAD_SHARE))
    left_out = [at for at in sizes if at not in kept]
    words = {"type": "text", "text": marker(sum(sizes[at] for at in left_out))}
    content = []
    for at, block in enumerate(copy["content"]):
        if at not in sizes or at in kept:
            content.append(block)
        elif at == left_out[0]:
            content.append(words)
    return copy | {"content": content}


def _fitting(sizes: list[tuple[int, int]], budget: int) -> set[int]:
    fitting: set[int] = set()
    for at, size in sizes:
        budget -= size
        if budget < 0:
            break
        fitting.add(at)
    return fitting
