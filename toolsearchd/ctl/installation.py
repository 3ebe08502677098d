"""An installation into one client: its files, read and written under one lock."""

from __future__ import annotations

import contextlib
import difflib
import fcntl
import os
import shutil
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from toolsearchd.config.install.clients import CLIENTS, InstallTarget
from toolsearchd.config.install.door import Door
from toolsearchd.config.install.moved import FOLDER, moved_file
from toolsearchd.config.install.records import FoundFiles, InstallPlan, Record
from toolsearchd.config.profile import DEFAULT_PROFILE
from toolsearchd.config.secret_values import secrets_in
from toolsearchd.config.settings import load_settings
from toolsearchd.config.sources.base import Homes
from toolsearchd.ctl.client_lock import held
from toolsearchd.ctl.connect import control
from toolsearchd.ctl.file_changes import Change, apply, read, sweep
from toolsearchd.ctl.output import complain, say
from toolsearchd.errors import ToolsearchdError
from toolsearchd.places import config_file
from toolsearchd.system.files import named_by


def arguments(parser: ArgumentParser) -> None:
    """What the three verbs have in common."""
    parser.add_argument("client", metavar="CLIENT", choices=tuple(CLIENTS), help=", ".join(CLIENTS))
    parser.add_argument("--file", metavar="FILE", help="the client's config, where it is not at its place")
    parser.add_argument("--config", metavar="FILE", help="the daemon's config; default: the running daemon's")
    parser.add_argument("--dry-run", action="store_true", help="print the difference and write nothing")


class Installation:
    """`file`: the client's config. The three others lie beside the daemon's config, for its owner only."""

    def __init__(self, args: Namespace, environ: Mapping[str, str]) -> None:
        self.client = CLIENTS[args.client]
        self._config = _daemon_config(args)
        self._home = self._config.parent
        folder = self._home / FOLDER
        self.original = folder / f"{self.client.name}.original"
        self.record = folder / f"{self.client.name}.record"
        self.moved = folder / moved_file(self.client.name)
        self.file = self._file(args.file, environ)

    def found(self) -> FoundFiles:
        """Raises BAD_CONFIG."""
        return FoundFiles(
            file=str(self.file),
            text=read(self.file),
            record=self._record(),
            original=read(self.original),
            moved=read(self.moved),
            beside=tuple((str(path), data) for path in self._beside() if (data := read(path)) is not None),
        )

    def _beside(self) -> list[Path]:
        homes = _homes(os.environ)
        patterns = self.client.format.rule_paths(homes)
        paths = [Path(path) for pattern in patterns for path in named_by(pattern)]
        return [path for path in paths if path != self.file]

    def profiles(self) -> set[str]:
        """Those of the daemon's config; nothing more where it can't be used."""
        from toolsearchd.dialects.registry import OPTIONS  # with the index, which no verb needs at its start

        data = read(self._config)
        settings, _ = load_settings((data or b"").decode(errors="replace"), str(self._config), OPTIONS)
        return {DEFAULT_PROFILE, *(settings.profiles if settings is not None else ())}

    def install(self, found: FoundFiles, plan: InstallPlan) -> None:
        """What goes is kept before it goes. Raises CONFIG_CHANGED and WRITE_FAILED."""
        between = plan.between if plan.between is not None else plan.moved
        self._apply(
            Change(self.record, read(self.record), plan.record),
            Change(self.original, found.original, plan.original),
            Change(self.moved, found.moved, between),
            Change(self.file, found.text, plan.text),
            Change(self.moved, between, plan.moved),
        )

    def uninstall(self, found: FoundFiles, plan: InstallPlan) -> None:
        """What comes back is there before it is dropped. Raises CONFIG_CHANGED and WRITE_FAILED."""
        self._apply(
            Change(self.file, found.text, plan.text),
            Change(self.moved, found.moved, None),
            Change(self.original, found.original, None),
            Change(self.record, read(self.record), None),
        )

    def tell_removed(self, args: Namespace) -> None:
        """A running daemon learns that the files which are gone now, or as empty as they were before, are so
        by our own hand: else it would miss them."""
        try:
            with control(args) as daemon:
                removed = [os.fsencode(path).decode(errors="replace") for path in (self.moved, self.file)]
                daemon.reload(removed=removed)
        except ToolsearchdError as error:
            if error.code != "NO_DAEMON":
                complain(
                    f"the daemon was not told, `toolsearchctl reload --accept-missing` does: {error.message}"
                )

    @contextlib.contextmanager
    def locked(self, *, dry_run: bool) -> Iterator[None]:
        """One at a time, and never while the client writes, as far as it says so. Raises WRITE_FAILED and
        CONFIG_CHANGED."""
        if dry_run:
            yield
            return
        try:
            self._home.mkdir(mode=0o700, parents=True, exist_ok=True)
            fd = os.open(self._home, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise ToolsearchdError("WRITE_FAILED", f"{self._home} can't be used: {error.strerror}") from error
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            with held(self.file) if self.client.locks else contextlib.nullcontext():
                for path in (self.file, self.moved, self.original, self.record):
                    sweep(path)
                yield
        finally:
            with contextlib.suppress(OSError):  # there is none, or files of an installation are in it
                self.record.parent.rmdir()
            os.close(fd)

    def _apply(self, *changes: Change) -> None:
        folder = self.record.parent
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise ToolsearchdError("WRITE_FAILED", f"{folder} can't be made: {error.strerror}") from error
        apply(changes)

    def _record(self) -> Record | None:
        data = read(self.record)
        try:
            return None if data is None else msgspec.json.decode(data, type=Record)
        except msgspec.DecodeError as error:
            raise ToolsearchdError(
                "BAD_CONFIG", f"{self.record}: {error}; the client's own file from before is {self.original}"
            ) from error

    def _file(self, named: str | None, environ: Mapping[str, str]) -> Path:
        record = self._record()
        if named is None:
            return Path(record.file) if record is not None else _usual_file(self.client, environ)
        path = Path(named).absolute()
        homes = _homes(environ)
        if record is not None and record.file != str(path):
            raise ToolsearchdError(
                "BAD_ARGUMENTS",
                f"{self.client.title} is installed with {record.file}; "
                f"`toolsearchctl uninstall {self.client.name}` first",
            )
        if self.client.format.project_of(str(path), homes):
            raise ToolsearchdError(
                "BAD_ARGUMENTS", f"{path} is a project's own file; its servers are for its sessions only"
            )
        return path


def door(args: Namespace, profile: str | None) -> Door:
    """How this very program is started, in words that hold in a desktop's bare environment too."""
    before = ("--runtime-dir", str(Path(args.runtime_dir).absolute())) if args.runtime_dir else ()
    beside = Path(sys.executable).parent / "toolsearchctl"
    on_path = shutil.which("toolsearchctl")
    if on_path and (not beside.exists() or os.path.samefile(on_path, beside)):
        return Door(command=os.path.abspath(on_path), before=before, profile=profile)
    if beside.exists():
        return Door(command=str(beside), before=before, profile=profile)
    return Door(command=sys.executable, before=("-m", "toolsearchd.ctl", *before), profile=profile)


def difference(client: InstallTarget, found: FoundFiles, plan: InstallPlan) -> str:
    """Of the client's file, as a unified diff in which no credential stands."""
    texts = [data.decode("utf-8", "replace") for data in (found.text, plan.text) if data]
    secrets = secrets_in(*(client.format.load(text, found.file).value for text in texts))
    old, new = (
        (data or b"").decode("utf-8", "replace").splitlines(keepends=True) for data in (found.text, plan.text)
    )
    lines = difflib.unified_diff(old, new, found.file, found.file)
    return "".join(
        line if line.endswith("\n") else line + "\n\\ No newline at end of file\n"
        for line in map(secrets.masked_source, lines)
    )


def say_difference(client: InstallTarget, found: FoundFiles, plan: InstallPlan) -> None:
    say(difference(client, found, plan).rstrip("\n") or "no difference")
    say("nothing was written")


def outcome(
    installation: Installation, found: FoundFiles, plan: InstallPlan, args: Namespace
) -> dict[str, Any]:
    """The fields of an `Installed`."""
    document = {
        "client": installation.client.name,
        "file": found.file,
        "changed": plan.text != found.text,
        "dry_run": args.dry_run,
    }
    return document | ({"diff": difference(installation.client, found, plan)} if args.dry_run else {})


def _daemon_config(args: Namespace) -> Path:
    """The daemon's own config file: as given, as the running daemon says, else at its usual place."""
    if args.config:
        return Path(args.config).absolute()
    try:
        with control(args) as daemon:
            return Path(daemon.status().config.file)
    except ToolsearchdError as error:
        if error.code != "NO_DAEMON":
            raise
        return config_file()


def _homes(environ: Mapping[str, str]) -> Homes:
    return Homes.of(environ, str(Path.home()))


def _usual_file(client: InstallTarget, environ: Mapping[str, str]) -> Path:
    """The first that exists of where the client keeps its config. Raises NO_CLIENT."""
    places = [Path(path) for path in client.format.paths(_homes(environ))]
    found = next((path for path in places if path.exists()), places[0])
    if not found.parent.is_dir():
        raise ToolsearchdError(
            "NO_CLIENT",
            f"{client.title} keeps its servers in {found}, and there is no such folder; --file names another",
        )
    return found
