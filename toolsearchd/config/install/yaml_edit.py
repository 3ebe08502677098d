"""YAML edited as text, by lines: PyYAML says where entries begin, all other lines keep every byte."""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import yaml

from toolsearchd.config.install.editing import Addition, EditError, Section, SourceText, newline_of


class _Entry(NamedTuple):
    """Of a block mapping, in lines: `own` begins with the comments right above the key at `key`."""

    name: str
    own: int
    key: int
    end: int
    indent: int
    value: yaml.Node


def edit(
    text: str,
    section: Section,
    remove: Collection[str],
    add: Sequence[Addition],
    *,
    with_comments: bool = True,
) -> str:
    nl = newline_of(text)
    key, value = _section(text, section)
    if key is None or value is None:
        at_end = text if not text.strip() or text.endswith("\n") else text + nl
        return at_end + _lines({section[0]: {one.name: one.value for one in add}}, 0, nl)
    if isinstance(value, yaml.MappingNode) and value.value:
        if value.flow_style:
            return _flow(text, value, remove, add)
        return _block(text, _entries(text, key.start_mark.line, value), remove, add)
    if not isinstance(value, yaml.MappingNode) and value.tag != "tag:yaml.org,2002:null":
        raise EditError(f"{section[0]} is no mapping")
    if not add:
        return text
    head = text[: value.start_mark.index].rstrip()
    tail, _, below = text[value.end_mark.index :].partition("\n")
    block = _lines({one.name: one.value for one in add}, key.start_mark.column + 2, nl)
    return head + tail.rstrip("\r") + nl + block + below


def drop(text: str, section: Section) -> str:
    """The section's own line goes where nothing is left below it."""
    key, value = _section(text, section)
    if key is None or value is None or (isinstance(value, yaml.MappingNode) and value.value):
        return text
    lines = text.splitlines(keepends=True)
    del lines[key.start_mark.line : value.end_mark.line + 1]
    return "".join(lines)


def replace(text: str, section: Section, name: str, key: str, value: list[str]) -> str:
    _, found = _section(text, section)
    entry = _child(_child(found, name), key)
    if not isinstance(entry, yaml.SequenceNode):
        raise EditError(f"the entry {name!r} has no list {key}")
    start = entry.start_mark.index
    if entry.flow_style:
        return text[:start] + _flow_text(value) + text[entry.end_mark.index :]
    end = max(one.end_mark.index for one in entry.value)
    items = yaml.safe_dump(value, width=1 << 20, allow_unicode=True).rstrip().split("\n")
    return text[:start] + (newline_of(text) + " " * entry.start_mark.column).join(items) + text[end:]


def sources_of(text: str, section: Section) -> dict[str, SourceText]:
    key, value = _section(text, section)
    if key is None or not isinstance(value, yaml.MappingNode) or value.flow_style:
        return {}
    lines = text.splitlines(keepends=True)
    refers = [0, *accumulate(_references(text, len(lines)))]
    return {
        entry.name: SourceText("".join(lines[entry.own : entry.key]), "".join(lines[entry.key : entry.end]))
        for entry in _entries(text, key.start_mark.line, value)
        if refers[entry.own] == refers[entry.end]
    }


def render(head: Mapping[str, str], section: Section, entries: Mapping[str, Any]) -> str:
    return _lines({**head, section[0]: dict(entries)}, 0, "\n")


# --- reading ------------------------------------------------------------------------------------------


def _section(text: str, section: Section) -> tuple[yaml.Node | None, yaml.Node | None]:
    """The key and the value of the section; None where there is none. `section` is one key."""
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        raise EditError(f"not YAML: {error}") from error
    if root is None:
        return None, None
    if not isinstance(root, yaml.MappingNode) or root.flow_style:
        raise EditError("the text is no mapping of lines")
    return next(((key, value) for key, value in root.value if key.value == section[0]), (None, None))


def _child(node: yaml.Node | None, name: str) -> yaml.Node | None:
    pairs = node.value if isinstance(node, yaml.MappingNode) else ()
    return next((value for key, value in pairs if key.value == name), None)


def _references(text: str, lines: int) -> list[int]:
    """For each line, how many aliases stand in it, and texts that others are aliases of."""
    found = [0] * (lines + 1)
    for token in yaml.scan(text, Loader=yaml.SafeLoader):
        if isinstance(token, yaml.AliasToken | yaml.AnchorToken):
            found[min(token.start_mark.line, lines)] += 1
    return found


def _entries(text: str, key_line: int, section: yaml.MappingNode) -> list[_Entry]:
    """`key_line`: where the section's own key is."""
    lines = text.splitlines(keepends=True)
    starts = [key.start_mark.line for key, _ in section.value]
    last = section.end_mark.line if section.end_mark.column == 0 else section.end_mark.line + 1
    found: list[_Entry] = []
    for at, (key, value) in enumerate(section.value):
        indent = key.start_mark.column
        end = starts[at + 1] if at + 1 < len(starts) else min(last, len(lines))
        while end > starts[at] + 1 and _is_between(lines[end - 1], indent):
            end -= 1
        own = starts[at]
        floor = found[-1].end if found else key_line + 1
        while own > floor and lines[own - 1].lstrip().startswith("#"):
            own -= 1
        found.append(_Entry(key.value, own, starts[at], end, indent, value))
    return found


def _is_between(line: str, indent: int) -> bool:
    """A blank line, or a comment that is no deeper than the entries' names: it belongs to no entry's end."""
    bare = line.strip()
    return not bare or (bare.startswith("#") and len(line) - len(line.lstrip(" ")) <= indent)


# --- writing ------------------------------------------------------------------------------------------


def _block(text: str, entries: list[_Entry], remove: Collection[str], add: Sequence[Addition]) -> str:
    nl = newline_of(text)
    lines = text.splitlines(keepends=True)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += nl
    gone = [entry for entry in entries if entry.name in remove]
    place = gone[0].own if gone else entries[-1].end
    made = "".join(_added(one, entries[0].indent, nl) for one in add)
    kept, at = [*lines[:place], made], place
    for entry in gone:
        start = entry.own
        while entry is not gone[0] and start > at and not lines[start - 1].strip():
            start -= 1
        kept += lines[at:start]
        at = entry.end
    return "".join([*kept, *lines[at:]])


def _added(one: Addition, indent: int, nl: str) -> str:
    if one.source is not None:
        shift = indent - (len(one.source.body) - len(one.source.body.lstrip(" ")))
        if shift == 0:
            source = one.source.lead + one.source.body
            return source if source.endswith("\n") else source + nl
    return _lines({one.name: one.value}, indent, nl)


def _flow(text: str, section: yaml.MappingNode, remove: Collection[str], add: Sequence[Addition]) -> str:
    """Written anew in one line: the comments that braces may hold are rare."""
    pairs = [(key, value) for key, value in section.value if key.value not in remove]
    parts = [text[key.start_mark.index : value.end_mark.index] for key, value in pairs]
    first = next((at for at, (key, _) in enumerate(section.value) if key.value in remove), len(parts))
    parts[first:first] = [_flow_text({one.name: one.value})[1:-1] for one in add]
    return text[: section.start_mark.index] + "{" + ", ".join(parts) + "}" + text[section.end_mark.index :]


def _flow_text(value: object) -> str:
    plain = yaml.safe_dump(value, default_flow_style=True, width=1 << 20, sort_keys=False, allow_unicode=True)
    return plain.rstrip("\n")


def _lines(value: Mapping[str, Any], indent: int, nl: str) -> str:
    block = yaml.safe_dump(
        dict(value), default_flow_style=False, width=1 << 20, sort_keys=False, allow_unicode=True
    )
    return textwrap.indent(block, " " * indent).replace("\n", nl)
