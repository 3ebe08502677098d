"""What is to be written where, so that a client gets its servers through the daemon, or by itself again.

A plan is made from texts alone, and what the daemon reads from the moved entries is what it read before.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

import msgspec

from toolsearchd.config.document import dotted
from toolsearchd.config.install.choice import choose, specs_of
from toolsearchd.config.install.client_text import ClientText
from toolsearchd.config.install.clients import InstallTarget
from toolsearchd.config.install.door import NAME, Door, door_entry, is_door, with_disclosure
from toolsearchd.config.install.editing import Addition, Section
from toolsearchd.config.install.moved import KEPT, MOVED_FROM
from toolsearchd.config.install.records import FoundFiles, InstallPlan, Record, digest, unchanged
from toolsearchd.config.sources.base import LOST
from toolsearchd.errors import ToolsearchdError


def plan_install(
    client: InstallTarget,
    found: FoundFiles,
    door: Door,
    *,
    keep: Collection[str] = (),
    move: Collection[str] = (),
) -> InstallPlan:
    """Also where it is installed: then what came into the file since moves too. Raises BAD_CONFIG, and
    BAD_ARGUMENTS for a name in `keep` or `move` that no entry has."""
    before = _restored(client, found)
    text = ClientText(client, found.file, before)
    for name in (*keep, *move):
        if name not in text.entries:
            has = ", ".join(text.entries) or "none"
            raise ToolsearchdError("BAD_ARGUMENTS", f"{found.file} has no server {name!r}; it has {has}")
    choice = choose(client, text.text, found.file, text.entries, keep, move)
    name = next(iter(choice.doors), NAME if NAME not in text.entries else f"{NAME}-door")
    entry = choice.doors.get(name)
    add = []
    if entry is None:
        entry = door_entry(client, door, _door_now(client, found, name), choice.moved.values())
        add = [Addition(name, entry)]
    said = msgspec.structs.replace(
        unchanged(found),
        names=tuple(choice.moved),
        kept=choice.kept,
        variables=tuple(choice.variables),
        notes=(*_notes(client, text.value, name), *_lost(client, found.file, text.text, found.beside)),
        door=name,
        entry=entry,
    )
    if not add and not choice.moved and not choice.kept and found.record is None:
        return said  # a person has written the door, and there is nothing to move
    installed = text.edited(choice.moved, add)
    moved = _rendered(client, found.file, choice.moved, choice.kept)
    _check_moved(client, text, found.file, moved.decode(), choice.moved)
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
        record=record.encoded(),
        between=_rendered(client, found.file, {**_moved_entries(client, found), **choice.moved}, choice.kept),
    )


def plan_uninstall(client: InstallTarget, found: FoundFiles) -> InstallPlan:
    """The bytes from before the installation where nobody else wrote the file since; else the entries come
    back and all other edits stay. Raises NOT_INSTALLED and BAD_CONFIG."""
    if found.record is None:
        raise ToolsearchdError(
            "NOT_INSTALLED", f"`toolsearchctl install {client.name}` has put nothing into {found.file}"
        )
    return InstallPlan(text=_restored(client, found), names=tuple(_moved_entries(client, found)))


def plan_disclosure(client: InstallTarget, found: FoundFiles, mode: str) -> InstallPlan:
    """`mode`: `direct` or `progressive`. Also for an entry that a person wrote. Raises NOT_INSTALLED and
    BAD_CONFIG."""
    text = ClientText(client, found.file, found.text)
    name = next((name for name, entry in text.entries.items() if is_door(entry)), None)
    if name is None:
        raise ToolsearchdError(
            "NOT_INSTALLED",
            f"{found.file} has no entry for the daemon; `toolsearchctl install {client.name}`",
        )
    args = text.entries[name].get("args")
    if not isinstance(args, list):
        raise text.bad(f"args of {name!r} is no list")
    wanted = with_disclosure(list(map(str, args)), mode)
    data = text.with_args(name, wanted)
    record = found.record
    if record is not None and digest(found.text) in record.installed:
        installed = tuple(dict.fromkeys((*record.installed, digest(data))))
        record = msgspec.structs.replace(record, installed=installed)
    return msgspec.structs.replace(
        unchanged(found),
        text=data,
        record=record.encoded() if record is not None else None,
        door=name,
        entry={**text.entries[name], "args": wanted},
    )


# --- back again ---------------------------------------------------------------------------------------


def _restored(client: InstallTarget, found: FoundFiles) -> bytes | None:
    """The client's file as it would be without the installation. Raises BAD_CONFIG."""
    if found.is_as_before:
        return found.text
    if found.is_untouched:
        return found.original
    now = ClientText(client, found.file, found.text)
    old = ClientText(client, found.file, found.original)
    add = []
    for name, entry in _moved_entries(client, found).items():
        if name not in now.entries:
            as_it_was = old.sources.get(name) if old.entries.get(name) == entry else None
            add.append(Addition(name, entry, as_it_was))
        elif now.entries[name] != entry:
            raise now.bad(f"it has a server {name!r} again, not the one that was moved; rename or remove it")
    doors = [name for name, entry in now.entries.items() if is_door(entry) and name not in old.entries]
    return now.edited(doors, add, with_comments=False, drop=not old.has_section)


def _moved_entries(client: InstallTarget, found: FoundFiles) -> dict[str, Any]:
    """What a person may have edited since: the daemon reads it from there."""
    return ClientText(client, f"what was moved out of {found.file}", found.moved).entries


def _door_now(client: InstallTarget, found: FoundFiles, name: str) -> Mapping[str, Any]:
    """The entry that an installation has put there before."""
    if found.is_as_before:
        return {}
    entry = ClientText(client, found.file, found.text).entries.get(name)
    return entry if isinstance(entry, Mapping) and is_door(entry) else {}


# --- what was moved -----------------------------------------------------------------------------------


def _rendered(
    client: InstallTarget, file: str, entries: Mapping[str, Any], kept: Collection[str] = ()
) -> bytes:
    head: dict[str, Any] = {MOVED_FROM: file}
    if kept:
        head[KEPT] = list(kept)
    return client.editor.render(head, client.section, entries).encode()


def _check_moved(
    client: InstallTarget, text: ClientText, file: str, moved: str, names: Collection[str]
) -> None:
    then, _ = specs_of(client, text.text, file)
    now, _ = specs_of(client, moved, file)
    if now != {name: spec for name, spec in then.items() if name in names}:
        raise text.bad("its entries would not be the same elsewhere")


def _notes(client: InstallTarget, value: Mapping[str, Any], door: str) -> Iterator[str]:
    """What in the client's config would keep the door from being of use."""
    allowed = _at(value, client.allowed)
    if client.allowed and isinstance(allowed, list) and door not in allowed:
        where = dotted(client.allowed)
        yield f"{where} does not name {door!r}: {client.title} will not start it before you add it there"
    search = _at(value, client.search)
    enabled = search.get("enabled", True) if isinstance(search, Mapping) else search
    if client.search and str(enabled).lower() not in ("false", "off"):
        where = dotted(client.search)
        yield (
            f"{client.title} has a tool search of its own, which may hide the bridge: turn {where} off, or "
            f"`toolsearchctl disclosure {client.name} direct` and leave the search to it"
        )


def _lost(client: InstallTarget, file: str, text: str, beside: Iterable[tuple[str, bytes]]) -> Iterator[str]:
    """Rules of the client that can't bind what is behind the daemon."""
    texts = [(file, text), *((path, data.decode("utf-8", "replace")) for path, data in beside)]
    for path, one in texts:
        for problem in client.format.parse_rules(one, path).problems if one.strip() else ():
            if problem.message.startswith(LOST):
                yield f"{problem.place}: {problem.message}; {problem.mend}"


def _at(value: Any, keys: Section) -> Any:
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value
