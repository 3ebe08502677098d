"""An installation's four files as they are and as they shall be, and what it remembers of them."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

import msgspec


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """What an installation remembers. Digests are of whole files, empty for one that did not exist.

    `installed`: of the client's file as this program left it (a change of disclosure leaves another one)."""

    version: int = 1
    client: str
    file: str
    original: str
    installed: tuple[str, ...]
    moved: str

    def encoded(self) -> bytes:
        return msgspec.json.format(msgspec.json.encode(self), indent=2) + b"\n"


class FoundFiles(msgspec.Struct, frozen=True, kw_only=True):
    """The files as they are; None: not there. `original`: the copy made by the installation. `beside`: (path,
    bytes) of the client's further files, which say what it permits and stay as they are."""

    file: str
    text: bytes | None
    record: Record | None = None
    original: bytes | None = None
    moved: bytes | None = None
    beside: tuple[tuple[str, bytes], ...] = ()

    @property
    def is_as_before(self) -> bool:
        """Nothing of an installation is in the client's file: none was made, or it ended half-way."""
        return self.record is None or digest(self.text) == self.record.original

    @property
    def is_untouched(self) -> bool:
        """All is as the installation left it; the client's file may be gone."""
        record = self.record
        return (
            record is not None
            and (self.text is None or digest(self.text) in record.installed)
            and (digest(self.moved), digest(self.original)) == (record.moved, record.original)
        )


class InstallPlan(msgspec.Struct, frozen=True, kw_only=True):
    """The four files as they shall be (None: gone), and what to tell a person. `between`: what the moved
    entries are while the client's file still is the old one, so that each is somewhere at every moment."""

    text: bytes | None
    original: bytes | None = None
    moved: bytes | None = None
    record: bytes | None = None
    between: bytes | None = None
    names: tuple[str, ...] = ()  # of the entries that go, or come back
    kept: Mapping[str, str] = {}  # name → why it stays
    variables: tuple[str, ...] = ()  # places in moved entries that hold one
    notes: tuple[str, ...] = ()
    door: str = ""
    entry: Mapping[str, Any] = {}  # of the door


def unchanged(found: FoundFiles) -> InstallPlan:
    return InstallPlan(
        text=found.text,
        original=found.original,
        moved=found.moved,
        record=found.record.encoded() if found.record is not None else None,
    )


def digest(data: bytes | None) -> str:
    return "" if data is None else sha256(data).hexdigest()
