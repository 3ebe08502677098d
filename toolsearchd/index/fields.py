"""The fields of the daemon's own index, a row each: what is read of a tool, what a word there is worth."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from toolsearchd.index.document import IndexDocument


class Field(NamedTuple):
    name: str
    weight: float  # of one occurrence, in BM25F
    b: float  # how far length counts against it, 0 to 1
    text_of: Callable[[IndexDocument], str]
    in_sight: bool = True  # what a person or a model reads first
    keeps_stop_words: bool = False


def _parameters(document: IndexDocument) -> str:
    return "\n".join([name for name, _ in (*document.parameters, *document.nested)])


def _parameter_descriptions(document: IndexDocument) -> str:
    return "\n".join([words for _, words in (*document.parameters, *document.nested) if words])


# The weights are measured: `tests/bench/README.md`. A tool may be named by nothing but stop words: who_am_i.
FIELDS = (
    Field("name", 3.0, 0.3, lambda document: document.name, keeps_stop_words=True),
    Field("server", 3.0, 0.3, lambda document: document.server),
    Field("description", 1.0, 0.6, lambda document: f"{document.title}\n{document.description}"),
    Field("parameters", 1.0, 0.6, _parameters, in_sight=False),
    Field("parameter_descriptions", 0.5, 0.6, _parameter_descriptions, in_sight=False),
    Field("aliases", 3.0, 0.3, lambda document: "\n".join(document.aliases)),
    Field("instructions", 0.3, 0.6, lambda document: document.instructions, in_sight=False),
)
NAMES = tuple(field.name for field in FIELDS)
NAME = NAMES.index("name")  # by which a match in a tool's name is told
DESCRIPTION = NAMES.index("description")
IN_SIGHT = tuple(at for at, field in enumerate(FIELDS) if field.in_sight)
