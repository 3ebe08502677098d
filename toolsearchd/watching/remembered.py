"""What the state directory remembers of the config between starts: the key of digests, and that a config file
was there. Read at the start, written seldom.
"""

from __future__ import annotations

import logging
import os
import secrets
from hashlib import blake2b
from pathlib import Path
from typing import Literal

from toolsearchd.system.files import read_private
from toolsearchd.system.state_file import write_private

log = logging.getLogger(__name__)

_DIGEST_KEY_FILE = "digest.key"
_DIGEST_KEY_BYTES = 32
_CONFIGS = "configs"
_CONFIG_BYTES = 8 * 1024  # a word and a path; Linux takes paths of 4 KiB

Word = Literal["good", "accepted"]


class ConfigMemory:
    """`word`, of one config file: it was `good` once, or that there is nothing is `accepted`; empty where it
    was never known. `keeps`: False for who only looks."""

    def __init__(self, state_dir: Path, config_file: Path, *, keeps: bool = True) -> None:
        self._config_file = os.fsencode(os.path.abspath(config_file))
        self._path = state_dir / _CONFIGS / blake2b(self._config_file, digest_size=16).hexdigest()
        self._keeps = keeps
        self.word: Word | Literal[""] = self._read()

    def keep(self, word: Word) -> None:
        """Remembers it for the next start. Blocks until it is on the disk; a failure is logged."""
        if word == self.word or not self._keeps:
            return
        try:
            write_private(self._path, word.encode() + b"\n" + self._config_file + b"\n")
        except OSError as error:
            log.warning("the next start can't know that the config was %s: %s", word, error)
            return
        self.word = word

    def _read(self) -> Word | Literal[""]:
        try:
            kept = read_private(self._path, _CONFIG_BYTES)
        except OSError as error:
            log.warning("%s can't be used (%s); the config counts as one that was there", self._path, error)
            return "good"
        if kept is None:
            return ""
        return "accepted" if kept.startswith(b"accepted\n") else "good"


def digest_key(state_dir: Path) -> bytes:
    """The key of spec digests: made once, kept 0600, so that digests stay comparable between starts."""
    path = state_dir / _DIGEST_KEY_FILE
    try:
        state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        key = read_private(path, _DIGEST_KEY_BYTES)
    except OSError as error:
        log.warning("%s can't be used (%s); nothing is remembered from before", path, error)
        key = None
    if key is not None and len(key) == _DIGEST_KEY_BYTES:
        return key
    key = secrets.token_bytes(_DIGEST_KEY_BYTES)
    try:
        write_private(path, key)
    except OSError as error:
        log.warning("the digest key can't be kept (%s); nothing is remembered between starts", error)
    return key
