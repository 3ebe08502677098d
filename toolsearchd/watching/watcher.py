"""Owns the last good state of every config file, the settings in force and the desired state.

File events only mark dirty: after `settle_s` of quiet the files are read again and compared by content, so a
touch publishes nothing. A file that can't be used, is empty or is gone keeps its last good state in force and
is reported; only a person's word takes that away. A stat sweep every `sweep_s` catches what inotify misses.
Emits: `on_change` callbacks after `settings`, the lexicon or the desired servers changed.
"""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import trio

from toolsearchd.config.dialect_options import DialectOptionsByName
from toolsearchd.config.document import problem_at
from toolsearchd.config.environment import parse_environment
from toolsearchd.config.expand import ExpandContext
from toolsearchd.config.install.clients import CLIENTS
from toolsearchd.config.install.moved import FOLDER, moved_file
from toolsearchd.config.merge import desired_state
from toolsearchd.config.model import Desired, Problem
from toolsearchd.config.settings import Settings, SourceFile
from toolsearchd.config.sources import FORMATS, Format, format_of
from toolsearchd.config.sources.base import Homes
from toolsearchd.errors import ToolsearchdError
from toolsearchd.index.lexicon import Lexicon
from toolsearchd.protocol.control_replies import ReadConfig
from toolsearchd.system.files import named_by
from toolsearchd.system.signal import Signal
from toolsearchd.watching.client_file import ClientFile
from toolsearchd.watching.entry_files import EntryFiles
from toolsearchd.watching.files import WatchPoints, watch_points
from toolsearchd.watching.own_config import OwnConfig
from toolsearchd.watching.remembered import ConfigMemory, digest_key
from toolsearchd.watching.watched_file import WatchedFile
from toolsearchd.watching.word_files import WordFiles

log = logging.getLogger(__name__)

_STEP_MS = 50  # between two looks at inotify: at 20 ms an idle daemon spends twice the CPU
_RETRY_S = 0.5  # where no descriptor was left to read a file with
_LONGEST_SETTLE_S = 2.0  # a file that is written all the time is read all the same
_KEY_BYTES = 32


class Watcher:
    """`load_now` before anything else; then `settings`, `desired` and `problems` are the newest values."""

    def __init__(
        self,
        config_file: Path,
        *,
        environ: Mapping[str, str],
        dialect_options: DialectOptionsByName,
        state_dir: Path | None = None,
        memory: ConfigMemory | None = None,
        log_problems: bool = True,
    ) -> None:
        """`memory`: what is known of the config from before; by default what `state_dir` holds."""
        if memory is None and state_dir is not None:
            memory = ConfigMemory(state_dir, config_file)
        self.config_file = config_file
        self._environ = dict(environ)
        self._homes = Homes.of(environ, str(Path("~").expanduser()))
        self._home = self._homes.home
        self._key = digest_key(state_dir) if state_dir is not None else secrets.token_bytes(_KEY_BYTES)
        self._config = OwnConfig(config_file, memory, dialect_options)
        self._environment: WatchedFile[dict[str, str]] | None = None
        self._sources: dict[tuple[str, str], ClientFile] = {}
        self._words = WordFiles()
        self._entry_files = EntryFiles()
        self._watch_problem: Problem | None = None
        self._log_problems = log_problems
        self._told: frozenset[Problem] = frozenset()
        self._dirty = Signal()
        self._rearm = Signal()
        self._points = WatchPoints(frozenset(), frozenset())
        self._grace_s = 0.0
        self.settings = Settings()
        self.desired = Desired()
        self.on_change: list[Callable[[], None]] = []

    @property
    def lexicon(self) -> Lexicon:
        """The word lists in force, the person's own included."""
        return self._words.lexicon

    @property
    def problems(self) -> tuple[Problem, ...]:
        found = [problem for file in self._files() for problem in file.problems]
        if self._watch_problem is not None:
            found.append(self._watch_problem)
        return (*found, *self.desired.problems)

    @property
    def looked_for(self) -> list[str]:
        """Where clients keep their entries."""
        return [path for format_ in FORMATS.values() for path in format_.paths(self._homes)]

    def files(self) -> list[ReadConfig]:
        """For `status`: each source file, how many servers it names, what is wrong with it. `inert`: entries
        of projects, which start nothing while nobody named the file."""
        return [
            ReadConfig(
                file=str(source.file.path),
                format=source.format.name,
                servers=len(source.file.value.servers),
                inert=source.file.value.inert,
                error=source.file.error,
            )
            for source in self._sources.values()
            if not source.rules and (source.named or source.file.is_known or source.file.error)
        ]

    def failed(self) -> list[str]:
        """The files whose newest text, or whose absence, is not in force."""
        return [str(file.path) for file in self._files() if file.error]

    def refusal(self) -> ToolsearchdError | None:
        """What every call is to be refused with, while no config is in force; see `OwnConfig`."""
        return self._config.refusal()

    # --- reading ----------------------------------------------------------------------------------

    def load_now(self, *, grace_s: float | None = None) -> None:
        """Reads everything; what changed is in force when this returns. Files are local and small. `grace_s`:
        how long a file may be missing before that is told; by default as the config has it."""
        before = (self.settings, self.lexicon, self.desired.servers)
        now = time.monotonic()
        self._grace_s = self._config.settings.limits.deleted_grace_s if grace_s is None else grace_s
        self._config.look(grace_s=self._grace_s, now=now)
        self.settings = self._config.settings
        self._choose_environment()
        self._words.choose(self.settings.tool_search.lexicon, self._place)
        self._words.look(self.settings.limits, grace_s=self._grace_s, now=now)
        self._choose_sources()
        for source in self._sources.values():
            context = self._context(source.project)
            self._look(source.file, partial(source.parse, context=context), context)
        self._let_go_of_what_is_back()
        parsed = [source.servers() for source in self._sources.values()]
        self._entry_files.choose(spec for one in parsed for spec in one.servers)
        self._entry_files.look(self.settings.limits, grace_s=self._grace_s, now=now)
        self.desired = desired_state(
            self.settings,
            parsed,
            self._context(""),
            self._key,
            str(self.config_file),
            self._environment.value if self._environment is not None else {},
            self._entry_files.values,
        )
        self._tell_problems()
        if (self.settings, self.lexicon, self.desired.servers) != before:
            for tell in self.on_change:
                tell()

    def reload_nowait(self, *, accept_missing: bool = False, removed: Iterable[str] = ()) -> tuple[Path, ...]:
        """For SIGHUP and `reload`: reads again now; inotify watches are set up anew.

        `accept_missing`: where there is no file, or an empty one, nothing is meant, and in force from now on;
        returns those. `removed`: so it is with these paths.
        """
        self.load_now(grace_s=0.0)
        meant = set(map(Path, removed))
        files: list[OwnConfig | WatchedFile[Any]] = [self._config, *self._named_files()]
        accepted = tuple(
            file.path for file in files if (accept_missing or file.path in meant) and file.accept()
        )
        if accepted:
            self.load_now(grace_s=0.0)
        self._rearm.set()
        return accepted

    def _look(self, file: WatchedFile[Any], parse: Callable[[str], Any], context: object) -> None:
        limits = self.settings.limits
        project = isinstance(context, ExpandContext) and context.workspace
        file.look(
            parse,
            max_bytes=limits.project_file_bytes if project else limits.user_file_bytes,
            grace_s=self._grace_s,
            now=time.monotonic(),
            context=context,
        )

    def _let_go_of_what_is_back(self) -> None:
        """A file of moved entries that is gone is no loss where each of them stands in its client's own file
        again, as after `uninstall`. Else it is missed: the client's file does not name them."""
        for source in self._sources.values():
            if source.moved and source.file.is_missed and source.is_held_by(self._sources.values()):
                source.file.accept()

    def _choose_environment(self) -> None:
        named = self.settings.environment.file
        if named is None:
            self._environment = None
            return
        path = self._place(named)
        if self._environment is None or self._environment.path != path:
            self._environment = WatchedFile(path, {}, wanted=True)

        def parse(text: str) -> tuple[dict[str, str], tuple[Problem, ...]]:
            found, problems = parse_environment(text, str(path))
            return found, tuple(problems)

        self._look(self._environment, parse, None)

    def _choose_sources(self) -> None:
        """The files that the settings name, in their order; before the first of a format, what was moved out
        of it. What is known of each is kept."""
        wanted: list[ClientFile] = []
        if self._config.refusal() is not None:
            self._sources = {}
            return
        if self.settings.sources == "auto":
            wanted += [
                ClientFile(Path(path), format_)
                for format_ in FORMATS.values()
                for path in format_.paths(self._homes)
            ]
        else:
            for source in self.settings.sources:
                place = self._place(source.path)
                named = _format(source, place)
                if named is not None:  # else load_settings has refused it
                    project = named.project_of(str(place), self._homes)
                    wanted.append(ClientFile(place, named, named=True, project=project))
        folder = self.config_file.parent / FOLDER
        for client in CLIENTS.values():
            first = (at for at, one in enumerate(wanted) if one.format is client.format)
            moved = ClientFile(folder / moved_file(client.name), client.format, moved=True)
            wanted.insert(next(first, len(wanted)), moved)
        wanted += self._rule_files(wanted)
        chosen: dict[tuple[str, str], ClientFile] = {}
        for one in wanted:
            key = (str(one.file.path), one.format.name)
            known = self._sources.get(key)
            same = known is not None and (known.named, known.rules) == (one.named, one.rules)
            chosen[key] = known if known is not None and same else one
        self._sources = chosen

    def _rule_files(self, wanted: list[ClientFile]) -> list[ClientFile]:
        """Where the clients whose entries are read say what narrows them, as far as it is not read anyway."""
        read = {(str(one.file.path), one.format.name) for one in wanted}
        clients = {one.format.name for one in wanted if not one.moved or one.file.path.exists()}
        return [
            ClientFile(Path(path), format_, rules=True)
            for format_ in FORMATS.values()
            if format_.name in clients
            for pattern in format_.rule_paths(self._homes)
            for path in named_by(pattern)
            if (path, format_.name) not in read
        ]

    def _place(self, path: str) -> Path:
        """`~` is the person's home; what is relative begins beside the config file."""
        is_home = path == "~" or path.startswith("~/")
        return self.config_file.parent / (self._home + path[1:] if is_home else path)

    def _context(self, workspace: str) -> ExpandContext:
        extra = self._environment.value if self._environment is not None else {}
        return ExpandContext(environ={**self._environ, **extra}, home=self._home, workspace=workspace)

    def _files(self) -> list[WatchedFile[Any]]:
        return [self._config.file, *self._named_files()]

    def _named_files(self) -> list[WatchedFile[Any]]:
        environment = [self._environment] if self._environment is not None else []
        sources = [source.file for source in self._sources.values()]
        return [*environment, *self._words.files, *self._entry_files.files, *sources]

    def _tell_problems(self) -> None:
        """Each problem once in the log, when it appears."""
        now = frozenset(self.problems)
        for problem in self.problems:
            if self._log_problems and problem not in self._told:
                log.log(logging.ERROR if problem.level == "error" else logging.WARNING, "%s", problem)
        self._told = now

    # --- when to read -----------------------------------------------------------------------------

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Watches until cancelled; then nothing is left running."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._watch_directories)
            nursery.start_soon(self._sweep)
            task_status.started()
            while True:
                await self._dirty.wait()
                await self._wait_quiet()
                self.load_now()
                if watch_points(self._paths()) != self._points:
                    self._rearm.set()
                if any(file.must_retry for file in self._files()):
                    nursery.start_soon(self._mark_dirty_after, _RETRY_S)
                if any(file.is_fading for file in self._files()):
                    nursery.start_soon(self._mark_dirty_after, self.settings.limits.deleted_grace_s)

    async def _wait_quiet(self) -> None:
        with trio.move_on_after(_LONGEST_SETTLE_S):
            while self._dirty.is_set():
                self._dirty.clear()
                with trio.move_on_after(self.settings.limits.settle_s):
                    await self._dirty.wait()
        self._dirty.clear()

    async def _mark_dirty_after(self, seconds: float) -> None:
        await trio.sleep(seconds)
        self._dirty.set()

    async def _sweep(self) -> None:
        """Safety net: a directory moved away and made again, an overflow, no inotify at all."""
        seen = self._stats()
        while True:
            await trio.sleep(self.settings.limits.sweep_s)
            now = self._stats()
            if now != seen:
                seen = now
                self._dirty.set()
            if watch_points(self._paths()) != self._points:
                self._rearm.set()

    def _paths(self) -> list[Path]:
        return [file.path for file in self._files()]

    def _stats(self) -> list[tuple[object, ...]]:
        found: list[tuple[object, ...]] = []
        for path in self._paths():
            try:
                stat = path.stat()
                found.append((path, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_size, stat.st_ino))
            except (OSError, ValueError):
                found.append((path,))
        return found

    async def _watch_directories(self) -> None:
        """One watch after another: it is set up anew whenever the set of directories changes."""
        watchfiles = await trio.to_thread.run_sync(_load_watchfiles)
        while True:
            self._rearm.clear()
            self._points = watch_points(self._paths())
            self._dirty.set()  # what changed while no watch was up
            try:
                await self._watch_until_rearmed(watchfiles)
            except FileNotFoundError:
                await trio.sleep(self.settings.limits.settle_s)  # a directory went just now: look again
            except (OSError, RuntimeError) as error:
                sweep_s = self.settings.limits.sweep_s
                self._watch_problem = problem_at(
                    "warning",
                    f"file watching is off ({error}); files are looked at every {sweep_s:g} s instead; raise "
                    "fs.inotify.max_user_watches or fs.inotify.max_user_instances (sysctl)",
                    "",
                )
                self._tell_problems()
                with trio.move_on_after(sweep_s):
                    await self._rearm.wait()

    async def _watch_until_rearmed(self, watchfiles: Any) -> None:
        directories = self._points.paths
        async for changes in watchfiles.awatch(
            *directories,
            watch_filter=self._concerns,
            recursive=False,
            step=_STEP_MS,
            rust_timeout=200,  # how long a cancel may take
            yield_on_timeout=True,
            stop_event=self._rearm,
            ignore_permission_denied=True,
        ):
            self._watch_problem = None
            if changes:
                self._dirty.set()
            # A directory that was removed, even if it is there again, is no longer watched. The generator
            # ends by the event: one that is left half-way would be closed by the garbage collector.
            if any(path in directories for _, path in changes):
                self._rearm.set()

    def _concerns(self, _change: object, path: str) -> bool:
        """Exact names only: an editor's backup is not the file."""
        return path in self._points.names or path in self._points.paths


def _load_watchfiles() -> Any:
    """Imported off the loop, when the first answers have gone out, and before anything is armed: a change
    while it loads is seen by the look that follows the arming."""
    import watchfiles

    return watchfiles


def _format(source: SourceFile, path: Path) -> Format | None:
    return format_of(str(path)) if source.format == "auto" else FORMATS.get(source.format)
