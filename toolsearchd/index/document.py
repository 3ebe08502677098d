"""What the index is told about a tool: plain texts by field, no schema, no server connection."""

from __future__ import annotations

import msgspec


class Document(msgspec.Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """One tool as its analyzer reads it. Made by `catalog.snapshot.document_of`."""

    key: str  # public name: unique, and the order of equal scores
    name: str  # the tool's own name
    server: str  # source name; the reference's label
    exposed: str  # the name under which the reference's dialects show the tool
    title: str = ""
    description: str = ""
    parameters: tuple[tuple[str, str], ...] = ()  # top level: (name, description)
    nested: tuple[tuple[str, str], ...] = ()  # properties below the top level
    aliases: tuple[str, ...] = ()  # the user's own words for it
    kind: str = "mcp"


class Analysis(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """A document reduced to terms and counts: what a compile needs of it, and what a cache keeps."""

    key: str  # ties, and the exact name of a query, case folded by `names.fold`
    bare: str  # the tool's own name
    lengths: tuple[int, ...]  # tokens per field
    terms: tuple[str, ...]
    frequencies: bytes  # little-endian uint32, one row of fields per term; see `analyzer.pack`
