"""What is told on a wire: structs that read as the maps that they become there. Pure.

Here is what every room may tell of; the replies and events of the sockets are in `protocol/`.
"""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, KeysView, Mapping
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType


class WireRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A struct with the reading side of a map: `record["key"]`, `get`, `in`, `dict(record)`; equal to its
    map. A field that is UNSET is not there."""

    def members(self) -> dict[str, Any]:
        """A fresh map of it, one level deep: what it holds are records still."""
        config = self.__struct_config__
        found: dict[str, Any] = {} if config.tag_field is None else {config.tag_field: config.tag}
        for name in self.__struct_fields__:
            if (value := getattr(self, name)) is not UNSET:
                found[name] = value
        return found

    def as_map(self) -> dict[str, Any]:
        """Its map, without a record in it. Raises TypeError for what is no JSON value, nor bytes."""
        found: dict[str, Any] = msgspec.to_builtins(self.members(), builtin_types=(bytes,))
        return found

    def __eq__(self, other: object) -> bool:
        return self.as_map() == other if isinstance(other, dict) else super().__eq__(other)

    def __hash__(self) -> int:
        return super().__hash__()

    def __getitem__(self, key: str) -> Any:
        return self.members()[key]

    def __contains__(self, key: object) -> bool:
        return key in self.members()

    def __iter__(self) -> Iterator[str]:
        return iter(self.members())

    def __len__(self) -> int:
        return len(self.members())

    def get(self, key: str, default: Any = None) -> Any:
        return self.members().get(key, default)

    def keys(self) -> KeysView[str]:
        return self.members().keys()

    def items(self) -> ItemsView[str, Any]:
        return self.members().items()


Mapping.register(WireRecord)


class Open(WireRecord, frozen=True):
    """A map whose shape is a dialect's, a tool's or a later version's."""

    fields: dict[str, Any]

    def members(self) -> dict[str, Any]:
        return dict(self.fields)


class Finding(WireRecord, frozen=True):
    """Something odd, for `doctor`: what it is about, in words, and what mends it."""

    level: str  # "error" | "warning" | "info"
    about: str  # a place: a file, a path of the config, a server, server/tool
    message: str
    mend: str
    kind: str  # stable: "hard-to-find", "left-behind", "missing-module", …
    fix: list[str] | UnsetType = UNSET  # words of a `toolsearchctl` that may mend it and can do no harm
    query: str | UnsetType = UNSET  # of a tool that is hard to find: what was searched for,
    before: list[str] | UnsetType = UNSET  # what it found first,
    words: list[str] | UnsetType = UNSET  # words that would help
