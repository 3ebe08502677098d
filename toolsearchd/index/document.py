"""What the index is told about a tool: plain texts by field, no schema, no server connection."""

from __future__ import annotations

from array import array
from collections.abc import Iterator

import msgspec


class IndexDocument(msgspec.Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
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
    instructions: str = ""  # its server's words on how to use it
    kind: str = "mcp"


class Analysis(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """A document reduced to terms and counts: what a compile needs of it, and what a cache keeps."""

    key: str  # ties, and the exact name of a query, case folded by `names.fold`
    bare: str  # the tool's own name
    lengths: tuple[int, ...]  # tokens per field
    terms: str  # joined by newlines: 100,000 of these must fit in memory
    frequencies: bytes  # a row of fields per term; see `frequencies_type`
    sketch: bytes = b""  # as long for every document of an analyzer; see `index.sketch`

    def rows(self, frequencies_type: str) -> Iterator[tuple[str, bytes]]:
        """Each term and its row, as bytes."""
        if not self.terms:
            return
        terms = self.terms.split("\n")
        size = len(self.frequencies) // len(terms)
        assert size == len(self.lengths) * array(frequencies_type).itemsize
        for at, term in enumerate(terms):
            yield term, self.frequencies[at * size : (at + 1) * size]
