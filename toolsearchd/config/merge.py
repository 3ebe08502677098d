"""Parsed files → the desired servers: entries that mean the same are one server, one name is one meaning.

Order: the files in `sources` order, entries in file order, then the daemon's own `servers:`. The order in
which files were read or changed never matters.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

import msgspec

from toolsearchd.config.entry import EntryReader
from toolsearchd.config.expand import RULES, ExpandContext
from toolsearchd.config.model import Desired, Origin, Problem, ServerSpec
from toolsearchd.config.settings import Settings
from toolsearchd.config.sources import Parsed


def desired_state(
    settings: Settings, parsed: Sequence[Parsed], context: ExpandContext, key: bytes, config_file: str
) -> Desired:
    """`parsed`: one per file, in sources order, the last good parse of each. `key`: keys the spec digests."""
    problems: list[Problem] = [problem for one in parsed for problem in one.problems]
    specs: list[ServerSpec] = [spec for one in parsed for spec in one.servers]
    own = _own_servers(settings, context, config_file)
    specs += own.servers
    problems += own.problems
    merged: dict[str, ServerSpec] = {}
    for spec in specs:
        digest = spec_digest(spec, key)
        found = merged.get(digest)
        if found is None:
            merged[digest] = msgspec.structs.replace(spec, digest=digest)
        else:
            merged[digest] = _joined(found, spec)
    return Desired(servers=tuple(_named_apart(list(merged.values()))), problems=tuple(problems))


def spec_digest(spec: ServerSpec, key: bytes) -> str:
    """Keyed, since env and header values may be secrets and the digest is stored and logged."""
    meaning = (
        spec.transport,
        spec.command,
        sorted(spec.env.items()),
        spec.cwd,
        spec.url,
        sorted(spec.headers.items()),
        spec.project,
    )
    return blake2b(msgspec.json.encode(meaning), key=key[:64], digest_size=16).hexdigest()


def _own_servers(settings: Settings, context: ExpandContext, config_file: str) -> Parsed:
    reader = EntryReader(config_file, "servers", RULES["shell"], context)
    found = []
    for name, entry in settings.servers.items():
        spec = reader.read(name, entry, Origin(file=config_file, format="toolsearchd", entry=name))
        if spec is not None:
            found.append(spec)
    return Parsed(servers=tuple(found), problems=tuple(reader.problems))


def _joined(first: ServerSpec, other: ServerSpec) -> ServerSpec:
    """One server that two entries name: the first one's keys hold; it runs if either wants it."""
    return msgspec.structs.replace(
        first, origins=first.origins + other.origins, enabled=first.enabled or other.enabled
    )


def _named_apart(specs: list[ServerSpec]) -> list[ServerSpec]:
    """Where one name has several meanings, each gets a suffix of its place: arrival order decides nothing."""
    meanings: dict[str, int] = {}
    for spec in specs:
        meanings[spec.name] = meanings.get(spec.name, 0) + 1
    return [
        spec
        if meanings[spec.name] == 1
        else msgspec.structs.replace(spec, name=f"{spec.name}-{_stable_suffix(spec)}")
        for spec in specs
    ]


def _stable_suffix(spec: ServerSpec) -> str:
    """From where the entry stands, and never from its values: a rotated secret must not rename tools."""
    places = sorted((origin.file, origin.format, origin.entry, origin.project) for origin in spec.origins)
    return blake2b(msgspec.json.encode(places[0]), digest_size=3).hexdigest()
