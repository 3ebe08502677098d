"""Owns the last good parse of every config file, the settings in force and the desired state.

File events only mark dirty: after `settle_s` of quiet the files are read again and compared by content, so a
touch publishes nothing. A file that can't be parsed keeps its last good parse in force and is reported; a
deleted one keeps it for `deleted_grace_s`. A stat sweep every `sweep_s` catches what inotify misses.
Emits: `on_change` callbacks after `settings` or `desired` changed.
"""

from __future__ import annotations

import logging
import os
import secrets
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec
import trio
import watchfiles

from toolsearchd.actors.files import UnreadableError, read_config
from toolsearchd.config.expand import ExpandContext
from toolsearchd.config.merge import desired_state
from toolsearchd.config.model import Desired, Problem
from toolsearchd.config.settings import Settings, dump_settings, load_settings
from toolsearchd.config.sources import FORMATS, Format, Parsed

log = logging.getLogger(__name__)

_DIGEST_KEY_FILE = "digest.key"


class _File:
    """One source file: its format, what was read last and what of it is in force."""

    def __init__(self, path: Path, format_: Format, *, named: bool) -> None:
        self.path = path
        self.format = format_
        self.named = named  # by the person, in `sources`: trusted, whatever it is
        self.text: str | None = None
        self.parsed = Parsed()
        self.error = ""
        self.missing_since: float | None = None

    def read(self, max_bytes: int, context: ExpandContext, grace_s: float) -> None:
        """Brings `parsed` up to date. What can't be used leaves the last good parse in force."""
        try:
            text = read_config(self.path, max_bytes)
        except UnreadableError as error:
            self.error = str(error)
            return
        if text is None:
            self._missing(grace_s)
            return
        self.missing_since = None
        if text == self.text and not self.error:
            return
        self.text = text
        parsed = self.format.parse(text, str(self.path), context)
        self.error = "" if parsed.usable else "; ".join(str(p) for p in parsed.problems if p.level == "error")
        if parsed.usable:
            self.parsed = parsed if self.named else _without_projects(parsed)

    def _missing(self, grace_s: float) -> None:
        if self.missing_since is None:
            self.missing_since = time.monotonic()
        if self.text is None or time.monotonic() - self.missing_since >= grace_s:
            self.text, self.parsed = None, Parsed()
            self.error = "does not exist" if self.named else ""

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What is wrong with the file as it stands now; its entries' problems come with its parse."""
        if not self.error:
            return ()
        return (
            Problem(
                level="error", file=str(self.path), message=f"{self.error}; the last good state is in force"
            ),
        )


def _without_projects(parsed: Parsed) -> Parsed:
    """Project entries that nobody named stay inert: they start nothing."""
    kept = tuple(spec for spec in parsed.servers if not spec.project)
    return msgspec.structs.replace(parsed, servers=kept)


class Watcher:
    """`load_now` before anything else; then `settings`, `desired` and `problems` are the newest values."""

    def __init__(
        self, config_file: Path, *, environ: Mapping[str, str], state_dir: Path | None = None
    ) -> None:
        self.config_file = config_file
        self._environ = environ
        self._home = environ.get("HOME") or str(Path("~").expanduser())
        self._key = _digest_key(state_dir) if state_dir is not None else secrets.token_bytes(32)
        self._config_text: str | None = None
        self._config_problems: list[Problem] = []
        self._files: dict[tuple[str, str], _File] = {}
        self._watch_problem: Problem | None = None
        self._dirty = trio.Event()
        self._rearm = trio.Event()
        self.settings = Settings()
        self.desired = Desired()
        self.on_change: list[Callable[[], None]] = []

    @property
    def problems(self) -> tuple[Problem, ...]:
        found = [*self._config_problems, *(p for file in self._files.values() for p in file.problems)]
        if self._watch_problem is not None:
            found.append(self._watch_problem)
        return (*found, *self.desired.problems)

    def files(self) -> list[dict[str, Any]]:
        """For `status`: each source file, how many servers it names, what is wrong with it."""
        return [
            {
                "file": str(file.path),
                "format": file.format.name,
                "servers": len(file.parsed.servers),
                "error": file.error,
            }
            for file in self._files.values()
            if file.named or file.text is not None
        ]

    def load_now(self) -> None:
        """Reads everything; what changed is in force when this returns. Files are local and small."""
        before = (self.settings, self.desired.servers)
        self._load_settings()
        limits, context = self.settings.limits, self._context()
        self._choose_files()
        for file in self._files.values():
            file.read(limits.user_file_bytes, context, limits.deleted_grace_s)
        self.desired = desired_state(
            self.settings,
            [file.parsed for file in self._files.values()],
            context,
            self._key,
            str(self.config_file),
        )
        if (self.settings, self.desired.servers) != before:
            for tell in self.on_change:
                tell()

    def reload_nowait(self) -> None:
        """For SIGHUP and `reload`: reads again now; inotify watches are set up anew."""
        self.load_now()
        self._rearm.set()

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Watches until cancelled."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._watch_directories)
            nursery.start_soon(self._sweep)
            task_status.started()
            while True:
                await self._dirty.wait()
                while self._dirty.is_set():  # until it has been quiet for a while
                    self._dirty = trio.Event()
                    with trio.move_on_after(self.settings.limits.settle_s):
                        await self._dirty.wait()
                self.load_now()
                if any(file.missing_since is not None and file.text for file in self._files.values()):
                    nursery.start_soon(self._mark_dirty_after, self.settings.limits.deleted_grace_s)

    # --- what to read -----------------------------------------------------------------------------

    def _load_settings(self) -> None:
        try:
            text = read_config(self.config_file, self.settings.limits.user_file_bytes)
        except UnreadableError as error:
            self._config_problems = [Problem(level="error", file=str(self.config_file), message=str(error))]
            return
        if text == self._config_text and self._config_text is not None:
            return
        self._config_text = text
        loaded, self._config_problems = load_settings(text or "", str(self.config_file))
        if loaded is not None:
            self.settings = loaded
        else:
            log.error("%s is not in force: %s", self.config_file, "; ".join(map(str, self._config_problems)))

    def _choose_files(self) -> None:
        """The files that the settings name, in their order; what is known of each is kept."""
        chosen: dict[tuple[str, str], _File] = {}
        if self.settings.sources == "auto":
            config_home = self._environ.get("XDG_CONFIG_HOME") or f"{self._home}/.config"
            for format_ in FORMATS.values():
                for path in format_.paths(self._home, config_home):
                    self._keep(chosen, Path(path), format_, named=False)
        else:
            for at, source in enumerate(self.settings.sources):
                home = source.path.startswith("~")
                place = Path(source.path.replace("~", self._home, 1) if home else source.path)
                place = self.config_file.parent / place  # what is absolute stays so
                format_named = FORMATS.get(source.format) or _format_of(place)
                if format_named is None:
                    self._report_format(at, source.format)
                else:
                    self._keep(chosen, place, format_named, named=True)
        self._files = chosen

    def _keep(
        self, chosen: dict[tuple[str, str], _File], path: Path, format_: Format, *, named: bool
    ) -> None:
        key = (str(path), format_.name)
        known = self._files.get(key)
        chosen[key] = (
            known if known is not None and known.named == named else _File(path, format_, named=named)
        )

    def _report_format(self, at: int, name: str) -> None:
        problem = Problem(
            level="error",
            file=str(self.config_file),
            path=f"sources[{at}].format",
            message=f"no format {name!r}; there are {', '.join(FORMATS)}; the file is not read",
        )
        if problem not in self._config_problems:
            self._config_problems = [*self._config_problems, problem]

    def _context(self) -> ExpandContext:
        return ExpandContext(environ=self._environ, home=self._home)

    # --- when to read -----------------------------------------------------------------------------

    async def _mark_dirty_after(self, seconds: float) -> None:
        await trio.sleep(seconds)
        self._dirty.set()

    async def _sweep(self) -> None:
        """Safety net: a directory removed and made again, a symlink's directory swapped, an overflow."""
        seen = self._stats()
        while True:
            await trio.sleep(self.settings.limits.sweep_s)
            now = self._stats()
            if now != seen:
                seen = now
                self._dirty.set()
            if self._directories() != self._watched:
                self._rearm.set()

    def _stats(self) -> list[tuple[int, ...]]:
        found: list[tuple[int, ...]] = []
        for path in (self.config_file, *(file.path for file in self._files.values())):
            try:
                stat = path.stat()
                found.append((stat.st_mtime_ns, stat.st_size, stat.st_ino))
            except OSError:
                found.append(())
        return found

    def _directories(self) -> frozenset[str]:
        """The directory of each file and of what it links to; the nearest one above where it is missing."""
        found = set()
        for path in (self.config_file, *(file.path for file in self._files.values())):
            for place in {path.parent, Path(os.path.realpath(path)).parent}:
                directory = place
                while not directory.is_dir() and directory != directory.parent:
                    directory = directory.parent
                found.add(str(directory))
        return frozenset(found - {"/"})

    async def _watch_directories(self) -> None:
        """One watch after another: it is set up anew whenever the set of directories changes."""
        while True:
            self._rearm = stop = trio.Event()
            self._watched = self._directories()
            self._dirty.set()  # what changed while no watch was up
            try:
                async for _ in watchfiles.awatch(
                    *self._watched,
                    watch_filter=self._concerns,
                    recursive=False,
                    step=20,
                    rust_timeout=200,
                    stop_event=stop,
                    raise_interrupt=False,
                ):
                    self._dirty.set()
                    if self._directories() != self._watched:
                        break
                self._watch_problem = None
            except (OSError, RuntimeError) as error:
                self._watch_problem = Problem(
                    level="warning",
                    message=f"file watching is off ({error}); files are looked at every "
                    f"{self.settings.limits.sweep_s:g} s; raise fs.inotify.max_user_watches or _instances",
                )
                log.warning("%s", self._watch_problem)
                await trio.sleep(self.settings.limits.sweep_s)

    def _concerns(self, _change: watchfiles.Change, path: str) -> bool:
        """Exact names only (an editor's backup is not the file), and directories on the way to one."""
        for file in (self.config_file, *(file.path for file in self._files.values())):
            if path in (str(file), os.path.realpath(file)) or str(file).startswith(path + "/"):
                return True
        return False

    _watched: frozenset[str] = frozenset()


def _format_of(path: Path) -> Format | None:
    """For `format: auto`: the format whose own file has this name."""
    for format_ in FORMATS.values():
        names = [*format_.locations, format_.project_file]
        if any(name and str(path).endswith(name.split("/", 1)[-1]) for name in names):
            return format_
    return None


def _digest_key(state_dir: Path) -> bytes:
    """The key of spec digests: made once, kept 0600, so that digests stay comparable between starts."""
    path = state_dir / _DIGEST_KEY_FILE
    try:
        state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        key = path.read_bytes()
        if len(key) == 32:
            return key
    except FileNotFoundError:
        pass
    except OSError as error:
        log.warning("the state directory can't be used (%s); nothing is remembered between starts", error)
        return secrets.token_bytes(32)
    key = secrets.token_bytes(32)
    try:
        new = path.with_suffix(".new")
        new.write_bytes(key)
        new.chmod(0o600)
        new.replace(path)
    except OSError as error:
        log.warning("the digest key can't be kept (%s); nothing is remembered between starts", error)
    return key


def check_config(config_file: Path) -> tuple[str, list[Problem]]:
    """The effective config as YAML, and each problem, of the sources too. Writes nothing."""
    watcher = Watcher(config_file, environ=os.environ)
    watcher.load_now()
    return dump_settings(watcher.settings), list(watcher.problems)
