"""The permits that were given for ever, in the state directory: `approvals.json`, 0600, replaced whole.

A file that can't be read grants nothing: what it permitted is asked for again.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

import msgspec

from toolsearchd.dispatch.prompt import StandingPermit
from toolsearchd.system.files import read_private
from toolsearchd.system.state_file import write_private

log = logging.getLogger(__name__)

_FILE = "approvals.json"
_MAX_BYTES = 4 * 1024 * 1024  # some 10,000 permits


class _Content(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    version: int
    always: tuple[StandingPermit, ...] = ()


class Permits:
    def __init__(self, state_dir: Path) -> None:
        self._path = state_dir / _FILE
        self._kept: tuple[StandingPermit, ...] = ()

    def load(self) -> tuple[StandingPermit, ...]:
        try:
            data = read_private(self._path, _MAX_BYTES)
            content = msgspec.json.decode(data, type=_Content) if data is not None else _Content(1)
            if content.version != 1:
                raise ValueError(f"version {content.version}; this daemon knows 1")
        except (OSError, ValueError, RecursionError) as error:
            log.warning("%s can't be used, what it permits is asked for again: %s", self._path, error)
            return ()
        # A permit without a session is for ever; another kind does not belong here.
        self._kept = tuple(permit for permit in content.always if not permit.session)
        return self._kept

    def keep(self, always: Sequence[StandingPermit]) -> None:
        """Writes where something changed. Raises OSError; then the file is as it was."""
        if tuple(always) == self._kept:
            return
        write_private(self._path, msgspec.json.encode(_Content(1, tuple(always))))
        self._kept = tuple(always)
