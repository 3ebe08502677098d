"""The last good state of a file that people and programs write while we read it."""

from __future__ import annotations

import math
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from typing import Generic, TypeVar

from toolsearchd.config.document import problem_at
from toolsearchd.config.model import Problem
from toolsearchd.system.files import NoRoomError, UnreadableError
from toolsearchd.system.guard import guarded
from toolsearchd.watching.files import is_blank, read_config

T = TypeVar("T")
Parse = Callable[[str], tuple[T | None, tuple[Problem, ...]]]
"""text → (what it says, None where it can't be used; every problem)."""

_GONE = "does not exist"
_EMPTY = "is empty"
_WHERE_MEANT = "write it again, or `toolsearchctl reload --accept-missing` where that is meant"


class WatchedFile(Generic[T]):
    """`value` is in force: what the file said when it last made sense. What can't be used changes nothing.

    No file, or an empty one, is a failure like any other: whoever means that nothing shall be in force writes
    a document that says so, or tells us (`accept`). It is told after a grace, since editors write that way.
    A file that never said anything and that nobody wants is simply not there.
    """

    def __init__(self, path: Path, nothing: T, *, wanted: bool) -> None:
        self.path = path
        self.value = nothing
        self.problems: tuple[Problem, ...] = ()
        self.error = ""  # why what stands there now is not in force
        self.is_known = False  # `value` came from the file
        self.is_accepted = False  # that there is nothing is meant
        self.is_wanted = wanted  # a person named it: it is a problem when it never existed, too
        self.instead = "nothing of it is in force"  # what holds while no state of it is known
        self.is_fading = False  # there is nothing, and the grace before that is told runs
        self.must_retry = False  # it could not be looked at for want of descriptors
        self._nothing = nothing
        self._seen: tuple[bytes, object] | None = None
        self._absence: str | None = (
            None  # how there is nothing, "" while there is something, None: not looked
        )
        self._absent_since = -math.inf  # at the first look no editor is at work

    @property
    def is_missed(self) -> bool:
        """There is nothing where something should be."""
        is_failure = self.is_known or self.is_wanted or self._absence == _EMPTY
        return bool(self._absence) and is_failure and not self.is_accepted

    def look(self, parse: Parse[T], *, max_bytes: int, grace_s: float, now: float, context: object) -> None:
        """Reads the file; parses it where its content, or `context`, is another than last time."""
        self.must_retry = False
        try:
            text = read_config(self.path, max_bytes)
        except NoRoomError:
            self.must_retry = True  # that is no word about the file: everything stays as it is
            return
        except UnreadableError as error:
            self._note_presence()
            self._seen = None
            self._fail(str(error), ())
            return
        if text is None or is_blank(text):
            self._note_absence(_GONE if text is None else _EMPTY, grace_s=grace_s, now=now)
            return
        self._note_presence()
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

    def accept(self) -> bool:
        """That there is nothing is meant: nothing is in force, until there is something again. False where
        nothing was missed."""
        if not self.is_missed:
            return False
        self.value, self.is_known, self.is_accepted = self._nothing, False, True
        self.problems, self.error, self.is_fading = (), "", False
        return True

    def _note_presence(self) -> None:
        self._absence, self.is_accepted, self.is_fading = "", False, False

    def _note_absence(self, how: str, *, grace_s: float, now: float) -> None:
        if self._absence is not None and how != self._absence and not self.is_fading:
            self._absent_since = now
        self._absence, self._seen = how, None
        self.is_fading = self.is_missed and now - self._absent_since < grace_s
        if self.is_fading:
            return
        self.problems, self.error = (), ""
        if self.is_missed:
            self._fail(how, ())

    def _fail(self, why: str, problems: tuple[Problem, ...]) -> None:
        kept = "its last good state is in force" if self.is_known else self.instead
        self.error = why
        if problems:  # the errors say where; the consequence is said once
            said = problem_at("warning", f"the file can't be used; {kept}", str(self.path))
        else:
            mend = _WHERE_MEANT if self._absence else ""
            said = problem_at("error", f"the file {why}; {kept}", str(self.path), mend=mend)
        self.problems = (*problems, said)
