"""The person's own word lists, for the watcher: read again when saved, the last good text in force."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from toolsearchd.config.model import Problem
from toolsearchd.config.tool_search import LISTS, LexiconFiles
from toolsearchd.config.word_list import parse_word_list
from toolsearchd.index.lexicon import Lexicon, default_lexicon, own_lexicon
from toolsearchd.limits import Limits
from toolsearchd.watching.watched_file import Parse, WatchedFile


class WordFiles:
    """`choose`, then `look`; `lexicon` is what is in force, the same object until something changes."""

    def __init__(self) -> None:
        self.lexicon: Lexicon = default_lexicon()
        self._files: dict[str, WatchedFile[str]] = {}
        self._replaced: tuple[str, ...] = ()
        self._composed: object = ({}, [])

    @property
    def files(self) -> list[WatchedFile[str]]:
        return list(self._files.values())

    def choose(self, named: LexiconFiles, place: Callable[[str], Path]) -> None:
        """The files that the settings name; what is known of each is kept. `place`: what a path means."""
        chosen: dict[str, WatchedFile[str]] = {}
        for name in LISTS:
            path = getattr(named, name)
            if path is not None:
                known = self._files.get(name)
                same = known is not None and known.path == place(path)
                chosen[name] = known if known and same else WatchedFile(place(path), "", wanted=True)
        self._files, self._replaced = chosen, named.replace

    def look(self, limits: Limits, *, grace_s: float, now: float) -> None:
        """Reads what changed. A file that is not there replaces nothing."""
        for name, file in self._files.items():
            file.look(
                _parser(name, str(file.path)),
                max_bytes=limits.word_list_bytes,
                grace_s=grace_s,
                now=now,
                context=None,
            )
        texts = {name: file.value for name, file in self._files.items() if file.is_known}
        replaced = [name for name in self._replaced if name in texts]
        if (texts, replaced) != self._composed:
            self._composed = (texts, replaced)
            self.lexicon = own_lexicon(texts, replaced)


def _parser(name: str, path: str) -> Parse[str]:
    def parse(text: str) -> tuple[str, tuple[Problem, ...]]:
        kept, problems = parse_word_list(name, text, path)
        return kept, tuple(problems)

    return parse
