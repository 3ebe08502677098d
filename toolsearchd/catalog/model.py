"""The catalog's nouns: a definition as its server wrote it, a source, a tool under its public name.

All are immutable. Schemas stay the JSON text that came (100,000 of them must fit in memory); whoever needs
one decoded decodes it.
"""

from __future__ import annotations

from typing import Literal

import msgspec

SourceState = Literal["starting", "ready", "failed", "parked", "disabled", "not_started", "stopped"]
SourceKind = Literal["mcp", "plugin", "connectors"]

OPEN_SCHEMA = b'{"type":"object"}'


class Definition(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One tool as its server defines it, normalised (see `definition.decode_definition`)."""

    name: str
    title: str = ""
    description: str = ""
    input_schema: bytes = OPEN_SCHEMA  # JSON object, compact
    output_schema: bytes = b""  # JSON object, or empty where the tool has none
    annotations: bytes = b""  # JSON object as it came, or empty
    read_only: bool | None = None  # readOnlyHint
    destructive: bool | None = None  # destructiveHint
    unvalidatable: str = ""  # why the input schema can't be used to validate; empty: it can
    extras: bytes = b""  # JSON object of `_meta` and `icons` as they came, or empty: for clients, not models
    digest: str  # over everything above that a model or a validator sees

    @property
    def identity(self) -> tuple[str, bytes]:
        """Equal where nobody sees a difference."""
        return self.digest, self.extras


class Source(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A server as search sees it, in catalog order (config order)."""

    name: str
    state: SourceState = "ready"
    reason: str = ""  # why it is not ready, for people and models
    stale: bool = False  # definitions come from the disk, the server has not confirmed them yet
    definitions: tuple[Definition, ...] = ()
    withheld: tuple[tuple[int, Definition], ...] = ()
    """What else the server listed, each with its place in the list: the entry's filters keep it back, and an
    edit of them brings it out without the server being asked again."""
    instructions: str = ""  # the server's own words on how to use it, as they came, clipped
    declared_tools: int = 0  # last known number of tools; shown while the server is unavailable
    truncated: int = 0  # tools left out over `Limits.tools_per_server`
    rejected: tuple[str, ...] = ()  # tools left out for their own faults: "name: reason"
    mended: tuple[str, ...] = ()  # tools that are offered with a part of theirs replaced: "name: what"
    kind: SourceKind = "mcp"
    project: str = ""  # root of the project whose config named it; empty: the user's own
    pins: tuple[str, ...] = ()  # globs of its tools that stay direct for everyone
    spec_digest: str = ""  # identity of the server behind it
    aliases: tuple[tuple[str, tuple[str, ...]], ...] = ()  # (tool glob, extra words to index)

    @property
    def available(self) -> bool:
        """True while calls can be sent, or will start the server."""
        return self.state == "ready"


class Tool(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A definition under its public name."""

    definition: Definition
    server: str  # Source.name
    public_name: str
    kind: SourceKind = "mcp"

    @property
    def name(self) -> str:
        """The tool's own name, as its server knows it."""
        return self.definition.name
