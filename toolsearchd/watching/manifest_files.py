"""Model manifests of the person's own, beside the config file: looked at whenever a session opens."""

from __future__ import annotations

import logging
from pathlib import Path

from toolsearchd.disclosure.manifest import Manifest, decode_manifest, shipped_manifests
from toolsearchd.records import Finding
from toolsearchd.system.files import UnreadableError
from toolsearchd.watching.files import read_config

log = logging.getLogger(__name__)

FOLDER = "manifests"
_FILE_BYTES = 1024 * 1024  # a manifest is a page; what is larger is something else
_FILES = 1_000


class ManifestFiles:
    """The package's manifests, then those of `manifests/*.json` beside the config file, by name."""

    def __init__(self, config_file: Path) -> None:
        self._folder = config_file.parent / FOLDER
        self._seen: list[tuple[Path, int, int]] = []
        self._all = shipped_manifests()
        self._problems: dict[Path, str] = {}

    def current(self) -> tuple[Manifest, ...]:
        """What is wrong with a file costs that file. Reads only what changed since the last time."""
        seen = self._look()
        if seen != self._seen:
            self._seen, self._problems = seen, {}
            own = [found for path, _, _ in seen if (found := self._manifest(path)) is not None]
            self._all = (*shipped_manifests(), *own)
            for path, problem in self._problems.items():
                log.warning("%s: %s; it is ignored", path, problem)
        return self._all

    def findings(self) -> list[Finding]:
        self.current()
        return [
            Finding(
                level="error",
                about=str(path),
                message=problem,
                mend="mend the file; the next session goes by it",
                kind="manifest",
            )
            for path, problem in self._problems.items()
        ]

    def _look(self) -> list[tuple[Path, int, int]]:
        """Each file with what tells that it changed."""
        found = []
        for path in sorted(self._folder.glob("*.json"))[:_FILES]:
            try:
                stat = path.stat()
            except OSError:
                continue  # it went between the two looks
            found.append((path, stat.st_mtime_ns, stat.st_size))
        return found

    def _manifest(self, path: Path) -> Manifest | None:
        try:
            text = read_config(path, _FILE_BYTES)
            return None if text is None else decode_manifest(text.encode())
        except (UnreadableError, ValueError) as error:
            self._problems[path] = str(error)
            return None
