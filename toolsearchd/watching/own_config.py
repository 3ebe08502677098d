"""Owns the settings in force: what the daemon's own config file said when it was last good.

As long as it can't be used and never could in this run, nothing is in force: no server is named, and every
call is to be refused (`refusal`), since what nobody can read may forbid it. A good file ends that, or a
person's word that nothing is meant; it never begins again in a run.
"""

from __future__ import annotations

from pathlib import Path

from toolsearchd.config.dialect_options import DialectOptionsByName
from toolsearchd.config.model import MEND, Problem
from toolsearchd.config.settings import Settings, load_settings
from toolsearchd.disclosure.sanitise import excerpt
from toolsearchd.errors import ToolsearchdError
from toolsearchd.watching.remembered import ConfigMemory, Word
from toolsearchd.watching.watched_file import WatchedFile

_NOTHING = Settings(sources=())
_REFUSED = "nothing of it is in force: no server is started, every call is refused"
_MESSAGE_CHARS = 1_000  # of a problem, in a refusal: a model reads it


class OwnConfig:
    """`look`, then `settings`. `memory`: of earlier runs, None where nothing is remembered."""

    def __init__(
        self, path: Path, memory: ConfigMemory | None, dialect_options: DialectOptionsByName
    ) -> None:
        self._dialect_options = dialect_options
        self._memory = memory
        self.file: WatchedFile[Settings] = WatchedFile(path, Settings(), wanted=False)
        self.file.instead = _REFUSED
        if memory is not None:
            self.file.is_wanted = memory.word == "good"
            self.file.is_accepted = memory.word == "accepted"
        self._is_settled = False

    @property
    def path(self) -> Path:
        return self.file.path

    @property
    def settings(self) -> Settings:
        return self.file.value if self._is_settled else _NOTHING

    def look(self, *, grace_s: float, now: float) -> None:
        """Reads the file again if it changed."""
        file = self.file
        file.look(
            self._parse,
            # What it sets must not keep it from being mended.
            max_bytes=max(file.value.limits.user_file_bytes, _NOTHING.limits.user_file_bytes),
            grace_s=grace_s,
            now=now,
            context=None,
        )
        if file.is_known:
            self._keep("good")
        if file.is_known or not file.error:
            self._is_settled, file.instead = True, "every key has its default"
        elif not self._is_settled:
            file.is_wanted = True  # somebody wrote something: that it goes then is no word of a person's

    def accept(self) -> bool:
        """See `WatchedFile.accept`."""
        if not self.file.accept():
            return False
        self._keep("accepted")
        return True

    def refusal(self) -> ToolsearchdError | None:
        """BAD_CONFIG with what is wrong and the mend, where no call may be let through."""
        if self._is_settled:
            return None
        first = next((problem for problem in self.file.problems if problem.level == "error"), None)
        what = excerpt(str(first), _MESSAGE_CHARS) if first else f"{self.file.path} {self.file.error}"
        mend = "" if first is not None and first.mend else f"; {MEND}"
        return ToolsearchdError("BAD_CONFIG", f"nothing is called without the config: {what}{mend}")

    def _parse(self, text: str) -> tuple[Settings | None, tuple[Problem, ...]]:
        settings, problems = load_settings(text, str(self.file.path), self._dialect_options)
        return settings, tuple(problems)

    def _keep(self, word: Word) -> None:
        if self._memory is not None:
            self._memory.keep(word)
