"""The files of variables that entries name (`envFile`), for the watcher: a change restarts who named it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from toolsearchd.config.environment import parse_environment
from toolsearchd.config.model import Problem, ServerSpec
from toolsearchd.limits import Limits
from toolsearchd.watching.watched_file import Parse, WatchedFile


class EntryFiles:
    """`choose`, then `look`; `values` is what is in force."""

    def __init__(self) -> None:
        self._files: dict[str, WatchedFile[dict[str, str]]] = {}

    @property
    def files(self) -> list[WatchedFile[dict[str, str]]]:
        return list(self._files.values())

    @property
    def values(self) -> Mapping[str, Mapping[str, str] | None]:
        """By path; None where it is not there, or can't be read, and never was."""
        return {path: file.value if file.is_known else None for path, file in self._files.items()}

    def choose(self, specs: Iterable[ServerSpec]) -> None:
        paths = dict.fromkeys(spec.env_file for spec in specs if spec.env_file and spec.enabled)
        self._files = {
            path: self._files.get(path) or WatchedFile(Path(path), {}, wanted=False) for path in paths
        }

    def look(self, limits: Limits, *, grace_s: float, now: float) -> None:
        """Reads what changed. A file that was there and is gone stays in force, as a config does."""
        for path, file in self._files.items():
            most = limits.project_file_bytes
            file.look(_parser(path), max_bytes=most, grace_s=grace_s, now=now, context=None)


def _parser(path: str) -> Parse[dict[str, str]]:
    def parse(text: str) -> tuple[dict[str, str], tuple[Problem, ...]]:
        found, problems = parse_environment(text, path)
        return found, tuple(problems)

    return parse
