"""A client's config file as the watcher keeps it, or the file that its entries were moved to."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec

from toolsearchd.config.expand import ExpandContext
from toolsearchd.config.install.moved import read_moved
from toolsearchd.config.model import Problem, ServerSpec
from toolsearchd.config.sources import Format, Parsed
from toolsearchd.watching.watched_file import WatchedFile


class ClientFile:
    """What it says. `named`: a person named it, so it is trusted and missed. `moved`: it is the daemon's own,
    written by `toolsearchctl install`. `rules`: of it only what narrows the client's entries counts."""

    def __init__(
        self,
        path: Path,
        format_: Format,
        *,
        named: bool = False,
        moved: bool = False,
        rules: bool = False,
        project: str = "",
    ) -> None:
        self.format = format_
        self.named = named
        self.moved = moved
        self.rules = rules
        self.project = project
        self.file: WatchedFile[Parsed] = WatchedFile(path, Parsed(), wanted=named)

    def parse(self, text: str, context: ExpandContext) -> tuple[Parsed | None, tuple[Problem, ...]]:
        file = str(self.file.path)
        if self.rules:
            parsed = self.format.parse_rules(text, file)
        elif self.moved:
            parsed = read_moved(self.format, text, file, context)
        else:
            parsed = self.format.parse(text, file, context, projects=self.named)
        return (parsed if parsed.usable else None), parsed.problems

    def is_held_by(self, files: Iterable[ClientFile]) -> bool:
        """Of a file of moved entries: stands each of them in its client's own file too, in the same words?"""
        held = {
            (one.format.name, str(one.file.path)): list(map(_plain, one.file.value.servers))
            for one in files
            if not one.moved
        }
        return all(
            _plain(spec) in held.get((self.format.name, origin.file), ())
            for spec in self.file.value.servers
            for origin in spec.origins
        )

    def servers(self) -> Parsed:
        """What it contributes; its problems are told by the file."""
        return msgspec.structs.replace(self.file.value, problems=())


def _plain(spec: ServerSpec) -> ServerSpec:
    return msgspec.structs.replace(spec, origins=())
