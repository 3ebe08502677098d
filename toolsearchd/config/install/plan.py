"""What is to be written where, so that a client gets its servers through the daemon, or by itself again.

A plan is made from texts alone and has read its own text back: what it says beside the section of servers is
what the client's file said, and what the daemon reads from the moved entries is what it read before.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import pairwise
from typing import Any

import msgspec

from toolsearchd.config.document import dotted
from toolsearchd.config.install.choice import choose, is_door, specs_of
from toolsearchd.config.install.clients import Client
from toolsearchd.config.install.editing import Addition, EditError, Section, Source
from toolsearchd.config.install.moved import MOVED_FROM
from toolsearchd.errors import ToolsearchdError

DOOR = "toolsearchd"
_BOM = "\ufeff"


class Record(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What an installation remembers. Digests are of whole files, empty for one that did not exist.

    `installed`: of the client's file as this program left it (a change of disclosure leaves another one)."""

    version: int = 1
    client: str
    file: str
    original: str
    installed: tuple[str, ...]
    moved: str


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """The files as they are; None: not there. `original`: the copy made by the installation."""

    file: str
    text: bytes | None
    record: Record | None = None
    original: bytes | None = None
    moved: bytes | None = None

    @property
    def is_as_before(self) -> bool:
        """Nothing of an installation is in the client's file: none was made, or it ended half-way."""
        return self.record is None or digest(self.text) == self.record.original


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """The four files as they shall be (None: gone), and what to tell a person. `between`: what the moved
    entries are while the client's file still is the old one, so that each is somewhere at every moment."""

    text: bytes | None
    original: bytes | None
    moved: bytes | None
    record: bytes | None
    names: tuple[str, ...] = ()  # of the entries that go, or come back
    kept: Mapping[str, str] = {}  # name → why it stays
    variables: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    between: bytes | None = None
    door: str = ""
    entry: Mapping[str, Any] = {}  # of the door


class Door(msgspec.Struct, frozen=True, kw_only=True):
    """How the daemon's entry starts it."""

    command: str
    before: tuple[str, ...] = ()  # words before `mcp`
    profile: str | None = None


def digest(data: bytes | None) -> str:
    return "" if data is None else sha256(data).hexdigest()


def plan_install(
    client: Client, found: Found, door: Door, *, keep: Collection[str] = (), move: Collection[str] = ()
) -> Plan:
    """Also where it is installed: then what came into the file since moves too. Raises BAD_CONFIG, and
    BAD_ARGUMENTS for a name in `keep` or `move` that no entry has."""
    before = _restored(client, found)
    text, mark = _decoded(before, found.file)
    value = _loaded(client, text, found.file)
    entries = _entries(client, value)
    for name in (*keep, *move):
        if name not in entries:
            raise ToolsearchdError(
                "BAD_ARGUMENTS", f"{found.file} has no server {name!r}; it has {', '.join(entries) or 'none'}"
            )
    choice = choose(client, text, found.file, entries, keep, move)
    name = next(iter(choice.doors), DOOR if DOOR not in entries else f"{DOOR}-door")
    entry = choice.doors.get(name) or _door_entry(client, found, name, door, choice.moved)
    left = {key: one for key, one in entries.items() if key not in choice.moved}
    said = Plan(
        text=found.text,
        original=found.original,
        moved=found.moved,
        record=_encoded(found.record) if found.record is not None else None,
        names=tuple(choice.moved),
        kept=choice.kept,
        variables=tuple(choice.variables),
        notes=tuple(_notes(client, value, name)),
        door=name,
        entry=entry,
    )
    if choice.doors and not choice.moved and found.record is None:
        return said  # a person has written it, and there is nothing to move
    new = _edited(
        client, found.file, text, value, remove=choice.moved, add=[Addition(name, entry)], left=left
    )
    moved = _rendered(client, found.file, choice.moved)
    _check_moved(client, found.file, text, moved.decode(), choice.moved)
    installed = (mark + new).encode()
    record = Record(
        client=client.name,
        file=found.file,
        original=digest(before),
        installed=(digest(installed),),
        moved=digest(moved),
    )
    return msgspec.structs.replace(
        said,
        text=installed,
        original=before,
        moved=moved,
        record=_encoded(record),
        between=_rendered(client, found.file, {**_moved_entries(client, found), **choice.moved}),
    )


def plan_uninstall(client: Client, found: Found) -> Plan:
    """The bytes from before the installation where nobody else wrote the file since; else the entries come
    back and all other edits stay. Raises NOT_INSTALLED and BAD_CONFIG."""
    if found.record is None:
        raise ToolsearchdError(
            "NOT_INSTALLED", f"`toolsearchctl install {client.name}` has put nothing into {found.file}"
        )
    return Plan(
        text=_restored(client, found),
        original=None,
        moved=None,
        record=None,
        names=tuple(_moved_entries(client, found)),
    )


def plan_disclosure(client: Client, found: Found, mode: str) -> Plan:
    """`mode`: `direct` or `progressive`. Also for an entry that a person wrote. Raises NOT_INSTALLED and
    BAD_CONFIG."""
    text, mark = _decoded(found.text, found.file)
    value = _loaded(client, text, found.file)
    entries = _entries(client, value)
    doors = [name for name, entry in entries.items() if is_door(entry)]
    if not doors:
        raise ToolsearchdError(
            "NOT_INSTALLED",
            f"{found.file} has no entry for the daemon; `toolsearchctl install {client.name}`",
        )
    name = doors[0]
    args = entries[name].get("args")
    if not isinstance(args, list):
        raise _bad(found.file, f"args of {name!r} is no list")
    wanted = with_disclosure(list(map(str, args)), mode)
    entry = {**entries[name], "args": wanted}
    try:
        new = client.editor.replace(text, client.section, name, "args", wanted) if wanted != args else text
    except EditError as error:
        raise _bad(found.file, str(error)) from error
    _check(client, found.file, new, _with_entries(client.section, value, {**entries, name: entry}))
    data = (mark + new).encode()
    record = found.record
    if record is not None and digest(found.text) in record.installed:
        installed = tuple(dict.fromkeys((*record.installed, digest(data))))
        record = msgspec.structs.replace(record, installed=installed)
    return Plan(
        text=data if found.text is not None else None,
        original=found.original,
        moved=found.moved,
        record=_encoded(record) if record is not None else None,
        door=name,
        entry=entry,
    )


def with_disclosure(args: Sequence[str], mode: str) -> list[str]:
    """The door's words with `--disclosure direct`, or without it."""
    words: list[str] = []
    for word in args:
        if words[-1:] == ["--disclosure"]:
            words.pop()
        elif not word.startswith("--disclosure="):
            words.append(word)
    return [*words, "--disclosure", "direct"] if mode == "direct" else words


def disclosure_of(args: object) -> str:
    words = args if isinstance(args, list) else []
    pairs = pairwise(words)
    return (
        "direct" if ("--disclosure", "direct") in pairs or "--disclosure=direct" in words else "progressive"
    )


# --- back again ---------------------------------------------------------------------------------------


def _restored(client: Client, found: Found) -> bytes | None:
    """The client's file as it would be without the installation."""
    record = found.record
    if record is None or found.is_as_before:
        return found.text
    untouched = found.text is None or digest(found.text) in record.installed
    if untouched and digest(found.moved) == record.moved and digest(found.original) == record.original:
        return found.original
    text, mark = _decoded(found.text, found.file)
    value = _loaded(client, text, found.file)
    now = _entries(client, value)
    old_text, _ = _decoded(found.original, found.file)
    old_value = _loaded(client, old_text, found.file)
    old = _entries(client, old_value)
    moved = _moved_entries(client, found)
    for name, entry in moved.items():
        if name in now and now[name] != entry:
            raise _bad(
                found.file, f"it has a server {name!r} again, not the one that was moved; rename or remove it"
            )
    add = [
        Addition(name, entry, _source(client, old_text, name) if old.get(name) == entry else None)
        for name, entry in moved.items()
        if name not in now
    ]
    doors = [name for name, entry in now.items() if is_door(entry) and name not in old]
    left = {name: entry for name, entry in now.items() if name not in doors}
    new = _edited(
        client,
        found.file,
        text,
        value,
        remove=doors,
        add=add,
        left=left,
        drop=not _has_section(client, old_value),
    )
    return (mark + new).encode()


def _source(client: Client, text: str, name: str) -> Source | None:
    return client.editor.source_of(text, client.section, name)


def _moved_entries(client: Client, found: Found) -> dict[str, Any]:
    """What a person may have edited since: the daemon reads it from there."""
    if found.moved is None:
        return {}
    text, _ = _decoded(found.moved, found.file)
    return _entries(client, _loaded(client, text, f"the moved entries of {found.file}"))


def _rendered(client: Client, file: str, entries: Mapping[str, Any]) -> bytes:
    return client.editor.render({MOVED_FROM: file}, client.section, entries).encode()


def _notes(client: Client, value: Mapping[str, Any], door: str) -> Iterator[str]:
    here: Any = value
    for key in client.allowed:
        here = here.get(key) if isinstance(here, Mapping) else None
    if client.allowed and isinstance(here, list) and door not in here:
        where = dotted(client.allowed)
        yield f"{where} does not name {door!r}: {client.title} will not start it before you add it there"


# --- texts --------------------------------------------------------------------------------------------


def _decoded(data: bytes | None, file: str) -> tuple[str, str]:
    """The text, and the byte order mark before it."""
    try:
        text = (data or b"").decode()
    except UnicodeDecodeError as error:
        raise _bad(file, f"it is not UTF-8 (byte {error.start})") from error
    return text.removeprefix(_BOM), _BOM if text.startswith(_BOM) else ""


def _loaded(client: Client, text: str, file: str) -> dict[str, Any]:
    if not text.strip():
        return {}
    document = client.load(text, file)
    for problem in document.problems:
        if problem.level == "error":
            raise ToolsearchdError("BAD_CONFIG", f"{problem}; nothing was changed")
    if document.value is None:
        return {}
    if not isinstance(document.value, dict):
        raise _bad(file, "it is no mapping")
    return document.value


def _entries(client: Client, value: Mapping[str, Any]) -> dict[str, Any]:
    here: Any = value
    for key in client.section:
        here = here.get(key) if isinstance(here, Mapping) else None
    return dict(here) if isinstance(here, Mapping) else {}


def _has_section(client: Client, value: object) -> bool:
    for key in client.section:
        if not isinstance(value, Mapping) or key not in value:
            return False
        value = value[key]
    return True


def _edited(
    client: Client,
    file: str,
    text: str,
    value: Mapping[str, Any],
    *,
    remove: Collection[str],
    add: Sequence[Addition],
    left: Mapping[str, Any],
    drop: bool = False,
) -> str:
    """The text with other entries, checked. `left`: those that are neither removed nor added. `drop`: a
    section without entries goes too."""
    wanted = {**left, **{one.name: one.value for one in add if one.name not in left}}
    add = [one for one in add if one.name not in left]
    try:
        new = client.editor.edit(text, client.section, remove, add)
        dropped = client.editor.drop(new, client.section) if drop and not wanted else new
    except EditError as error:
        raise _bad(file, str(error)) from error
    _check(client, file, dropped, _with_entries(client.section, value, wanted))
    return dropped


def _check(client: Client, file: str, text: str, wanted: Mapping[str, Any]) -> None:
    """Reads the text back. A difference is a layout that the editor does not understand."""
    got = _loaded(client, text, file)
    if _with_entries(client.section, got, _entries(client, got)) != wanted:
        raise _bad(file, "it is laid out in a way that can't be edited without a loss")


def _check_moved(client: Client, file: str, text: str, moved: str, names: Collection[str]) -> None:
    then, _ = specs_of(client, text, file)
    now, _ = specs_of(client, moved, file)
    if now != {name: spec for name, spec in then.items() if name in names}:
        raise _bad(file, "its entries would not be the same elsewhere")


def _with_entries(section: Section, value: object, entries: Mapping[str, Any]) -> dict[str, Any]:
    """The document with other entries. What holds none is left out, since it says nothing."""
    made = dict(value) if isinstance(value, Mapping) else {}
    key, *below = section
    inner = _with_entries(tuple(below), made.get(key), entries) if below else dict(entries)
    made.pop(key, None)
    return {**made, key: inner} if inner else made


def _door_entry(
    client: Client, found: Found, name: str, door: Door, moved: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """A new entry; or the one that is there, brought up to date, with what else it says."""
    now: Mapping[str, Any] = {}
    if not found.is_as_before:
        now = _entries(client, _loaded(client, _decoded(found.text, found.file)[0], found.file)).get(name, {})
    old = now if is_door(now) else {}
    args = [*door.before, "mcp", *(("--profile", door.profile) if door.profile else _profile_of(old))]
    args = with_disclosure(args, disclosure_of(old.get("args")))
    entry: dict[str, Any] = {**client.door, **old, "command": door.command, "args": args}
    patience = [one[client.patience] for one in moved.values() if _is_number(one.get(client.patience))]
    if patience:
        entry[client.patience] = max(patience)
    return entry


def _profile_of(door: Mapping[str, Any]) -> tuple[str, ...]:
    words = list(map(str, door.get("args") or ()))
    at = words.index("--profile") if "--profile" in words else len(words)
    return tuple(words[at : at + 2])


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _encoded(record: Record) -> bytes:
    return msgspec.json.format(msgspec.json.encode(record), indent=2) + b"\n"


def _bad(file: str, why: str) -> ToolsearchdError:
    return ToolsearchdError("BAD_CONFIG", f"{file}: {why}; nothing was changed")
