"""Parsed files → the desired servers: entries that mean the same are one server, one name is one meaning.

Order: the files in `sources` order, entries in file order, then the daemon's own `servers:`. The order in
which files were read or changed never matters.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from pathlib import PurePosixPath

import msgspec

from toolsearchd.config.document import NOWHERE, problem_at
from toolsearchd.config.entry import NOT_STARTED, EntryReader
from toolsearchd.config.expand import RULES, ExpandContext
from toolsearchd.config.model import Desired, Origin, Problem, ServerSpec
from toolsearchd.config.needs import mend_of
from toolsearchd.config.restrictions import OWN, restrictions_of
from toolsearchd.config.settings import Settings
from toolsearchd.config.sources import Parsed

_OWN_FIELDS = (
    *("timeout_s", "connect_timeout_s", "include", "exclude", "supports_parallel_tool_calls"),
    *("max_concurrency", "sharing", "start", "idle_timeout_s", "trust", "pins", "approval", "pass_env"),
    *("validate", "unvalidatable", "protocol", "breaker"),
)
_KEYS = {
    "timeout_s": "timeout",
    "connect_timeout_s": "connect_timeout",
    "idle_timeout_s": "idle_timeout",
    "include": "tools",
    "exclude": "tools",
}
_PLAIN = ServerSpec(name="", transport="stdio")


def desired_state(
    settings: Settings,
    parsed: Sequence[Parsed],
    context: ExpandContext,
    key: bytes,
    config_file: str,
    environment: Mapping[str, str] | None = None,
    env_files: Mapping[str, Mapping[str, str] | None] | None = None,
) -> Desired:
    """`parsed`: one per file, in sources order, the last good parse of each. `key`: keys the spec digests.
    `environment`: of `environment.file`, beneath each entry's own env (so a changed value restarts).
    `env_files`: what stands in those that entries name, by path; None: it is not there."""
    problems: list[Problem] = [problem for one in parsed for problem in one.problems]
    files = env_files or {}
    specs = _restricted(
        [
            msgspec.structs.replace(one, servers=tuple(_with_env_file(spec, files) for spec in one.servers))
            for one in parsed
        ]
    )
    problems += _missing_files(specs)
    own = _own_servers(settings, context, config_file)
    specs += own.servers
    problems += own.problems
    alike: dict[str, list[ServerSpec]] = {}
    for given in specs:
        spec = given
        if environment and spec.transport == "stdio":
            spec = msgspec.structs.replace(given, env={**environment, **given.env})
        digest = spec_digest(spec, key)
        alike.setdefault(digest, []).append(spec)
    merged = [_joined(digest, specs) for digest, specs in alike.items()]
    problems += [
        problem
        for joined, (_, *others) in zip(merged, alike.values(), strict=True)
        for one in others
        for problem in _unheard(joined, one)
    ]
    return Desired(servers=tuple(_named_apart(merged)), problems=tuple(problems))


def spec_digest(spec: ServerSpec, key: bytes) -> str:
    """Keyed, since env and header values may be secrets and the digest is stored and logged."""
    meaning = (
        spec.transport,
        spec.command,
        sorted(spec.env.items()),
        spec.cwd,
        spec.url,
        sorted(spec.headers.items()),
        spec.headers_helper,
        spec.project,
    )
    return blake2b(msgspec.json.encode(meaning), key=key[:64], digest_size=16).hexdigest()


def _with_env_file(spec: ServerSpec, files: Mapping[str, Mapping[str, str] | None]) -> ServerSpec:
    if not spec.env_file:
        return spec
    found = files.get(spec.env_file)
    if found is not None:
        return msgspec.structs.replace(spec, env={**found, **spec.env})
    return msgspec.structs.replace(spec, needs=spec.needs or _file_need(spec))


def _file_need(spec: ServerSpec) -> str:
    return f"file {PurePosixPath(spec.env_file).name}"  # models read it too: no path of this machine


def _missing_files(specs: Iterable[ServerSpec]) -> list[Problem]:
    found = []
    for spec in specs:
        if spec.env_file and spec.enabled and spec.needs == _file_need(spec):
            origin = spec.origins[0]
            words = f"the file is not there; the server needs {spec.needs} and {NOT_STARTED}"
            path = (origin.entry, "envFile")
            found.append(problem_at("warning", words, origin.file, path, mend=mend_of(spec.needs)))
    return found


def _own_servers(settings: Settings, context: ExpandContext, config_file: str) -> Parsed:
    reader = EntryReader(
        config_file, ("servers",), RULES["shell"], context, place=lambda _path: NOWHERE, strict=True
    )
    found = []
    for name, entry in settings.servers.items():
        spec = reader.read(name, entry, Origin(file=config_file, format=OWN, entry=name))
        if spec is not None:
            found.append(spec)
    # Everything else was said, with its line, when the file was read.
    still_odd = [
        problem
        for problem in reader.problems
        if problem.level == "error" or problem.message.endswith(NOT_STARTED)
    ]
    return Parsed(servers=tuple(found), problems=tuple(still_odd))


def _restricted(parsed: Sequence[Parsed]) -> list[ServerSpec]:
    """Each entry with what its client's files say beside it, and whether it stays with that client."""
    rules = [rule for one in parsed for rule in one.rules]
    kept = {place for one in parsed for place in one.kept}
    specs = []
    for one in parsed:
        for spec in one.servers:
            (origin,), (said,) = spec.origins, spec.restrictions
            said = restrictions_of(
                said, origin.entry, [rule for rule in rules if rule.client == origin.format]
            )
            stays = not origin.kept_in and (origin.file, origin.entry) in kept
            if stays or spec.needs:  # its sessions have it from the client, or not at all
                said = msgspec.structs.replace(said, enabled=False)
            specs.append(
                msgspec.structs.replace(
                    spec,
                    enabled=spec.enabled and (said.enabled or stays or bool(spec.needs)),
                    kept_by=origin.format if stays else "",
                    restrictions=(said,),
                )
            )
    return specs


def _joined(digest: str, specs: Sequence[ServerSpec]) -> ServerSpec:
    """One server that several entries name: it runs if any wants it and can, and the first one's keys hold.
    A filter holds where the daemon's own entry has it, or all entries that want it; else each for its
    client's sessions. The stricter words on trust and approval hold."""
    wanting = [spec for spec in specs if spec.enabled]
    able = [spec for spec in wanting if not spec.idle]
    first, own = specs[0], [spec for spec in specs if spec.origins[0].format == OWN]
    speaking = own or able or specs
    include, exclude = speaking[0].include, speaking[0].exclude
    if any((spec.include, spec.exclude) != (include, exclude) for spec in speaking):
        include, exclude = None, ()
    idle = wanting[0] if wanting and not able else None
    words = {spec.approval for spec in able or specs}
    return msgspec.structs.replace(
        first,
        digest=digest,
        origins=tuple(origin for spec in specs for origin in spec.origins),
        enabled=bool(wanting),
        needs=idle.needs if idle else "",
        kept_by=idle.kept_by if idle else "",
        include=include,
        exclude=exclude,
        trust="untrusted" if any(spec.trust == "untrusted" for spec in able or specs) else "full",
        approval="deny" if "deny" in words else "ask" if "ask" in words else first.approval,
        restrictions=tuple(said for spec in specs for said in spec.restrictions),
    )


def _unheard(joined: ServerSpec, other: ServerSpec) -> list[Problem]:
    """What an entry of our own says in vain, since another names the same server. Of those of clients
    nothing is said: theirs come with the client."""
    (origin, *_), (holds, *_) = other.origins, joined.origins
    said = dict.fromkeys(
        _KEYS.get(field, field)
        for field in _OWN_FIELDS
        if getattr(other, field) not in (getattr(joined, field), getattr(_PLAIN, field))
    )
    if origin.format != OWN or not said:
        return []
    message = f"the same server as the entry {holds.entry} of {holds.file}, which holds"
    return [
        Problem(
            level="warning",
            message=f"{message}; not in force: {', '.join(said)}",
            file=origin.file,
            path=f"servers.{origin.entry}",
            mend="say it there, or take one of the two out",
        )
    ]


def _named_apart(specs: list[ServerSpec]) -> list[ServerSpec]:
    """Where one name has several meanings, each gets a suffix of its place: arrival order decides nothing."""
    meanings: dict[str, int] = {}
    for spec in specs:
        meanings[spec.name] = meanings.get(spec.name, 0) + 1
    taken = {name for name, count in meanings.items() if count == 1}
    names: dict[str, str] = {}  # digest → name
    for spec in sorted(specs, key=_first_place):
        if meanings[spec.name] > 1:
            place = blake2b(msgspec.json.encode(_first_place(spec)), digest_size=16).hexdigest()
            # Someone may have called a server just that: then the suffix is longer.
            name = next(name for n in (6, 12, 32) if (name := f"{spec.name}-{place[:n]}") not in taken)
            taken.add(name)
            names[spec.digest] = name
    return [msgspec.structs.replace(spec, name=names.get(spec.digest, spec.name)) for spec in specs]


def _first_place(spec: ServerSpec) -> tuple[str, str, str, str]:
    """Where the entry stands, and never its values: a rotated secret must not rename tools."""
    return min((origin.file, origin.format, origin.entry, origin.project) for origin in spec.origins)
