"""The last good state of a file that people and programs write while we read it."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from typing import Generic, TypeVar

from toolsearchd.actors.files import NoRoomError, UnreadableError, read_config
from toolsearchd.config.document import problem_at
from toolsearchd.config.model import Problem
from toolsearchd.guard import guarded

T = TypeVar("T")
Parse = Callable[[str], tuple[T | None, tuple[Problem, ...]]]
"""text → (what it says, None where it can't be used; every problem)."""


class WatchedFile(Generic[T]):
    """`value` is in force: what the file said when it last made sense. What can't be used changes nothing;
    a file that is gone or empty counts as `nothing` only after a grace, since editors write that way."""

    def __init__(self, path: Path, nothing: T, *, wanted: bool) -> None:
        self.path = path
        self.value = nothing
        self.problems: tuple[Problem, ...] = ()
        self.error = ""  # why what stands there now is not in force
        self.is_known = False  # `value` came from the file
        self.must_retry = False  # it could not be looked at for want of descriptors
        self._nothing = nothing
        self._wanted = wanted  # a person named it: it is a problem when it does not exist
        self._seen: tuple[bytes, object] | None = None
        self._gone_since: float | None = None

    @property
    def is_fading(self) -> bool:
        """Gone, and its last good state still in force for the rest of the grace."""
        return self._gone_since is not None and self.is_known

    def look(self, parse: Parse[T], *, max_bytes: int, grace_s: float, now: float, context: object) -> None:
        """Reads the file; parses it where its content, or `context`, is another than last time."""
        self.must_retry = False
        try:
            text = read_config(self.path, max_bytes)
        except NoRoomError:
            self.must_retry = True  # that is no word about the file: everything stays as it is
            return
        except UnreadableError as error:
            self._seen, self._gone_since = None, None
            self._fail(str(error), ())
            return
        if text is None or not text.strip():
            self._gone(exists=text is not None, grace_s=grace_s, now=now)
            return
        self._gone_since = None
        seen = (blake2b(text.encode(), digest_size=16).digest(), context)
        if seen == self._seen:
            return
        self._seen = seen
        value: T | None = None
        problems: tuple[Problem, ...] = ()
        with guarded("reading a config file"):
            value, problems = parse(text)
        if value is None:
            first = next((problem for problem in problems if problem.level == "error"), None)
            self._fail(str(first.message) if first else "can't be used", problems)
        else:
            self.value, self.problems, self.error, self.is_known = value, problems, "", True

    def _gone(self, *, exists: bool, grace_s: float, now: float) -> None:
        self._seen = None
        if self._gone_since is None:
            self._gone_since = now
        if self.is_known and now - self._gone_since < grace_s:
            return
        self.value, self.is_known = self._nothing, False
        self.problems, self.error = (), ""
        if self._wanted and not exists:
            self.error = "does not exist"
            self.problems = (problem_at("error", "the file does not exist", str(self.path)),)

    def _fail(self, why: str, problems: tuple[Problem, ...]) -> None:
        kept = "its last good state is in force" if self.is_known else "nothing of it is in force"
        self.error = why
        said = problem_at("error", f"{why}; {kept}", str(self.path))
        # The errors say where; the consequence is said once.
        self.problems = (
            (*problems, problem_at("warning", f"the file can't be used; {kept}", str(self.path)))
            if problems
            else (said,)
        )
