"""What the config says and what is not in force before something is started again."""

from __future__ import annotations

import logging
from collections.abc import Callable

import msgspec

from toolsearchd.limits import LIVE, Limits
from toolsearchd.records import Finding

log = logging.getLogger(__name__)


class RestartNeeded:
    """`started`: the limits that the daemon was started with; `wanted()`: those of the config as it is now;
    `servers()`: the same of settings that count from a server's start on."""

    def __init__(
        self, started: Limits, wanted: Callable[[], Limits], servers: Callable[[], list[Finding]]
    ) -> None:
        self._started = started
        self._wanted = wanted
        self._servers = servers
        self._told: frozenset[str] = frozenset()

    def findings(self) -> list[Finding]:
        return [*changed_limits(self._started, self._wanted()), *self._servers()]

    def tell(self) -> None:
        """Each once in the log, when it appears."""
        messages = [finding.message for finding in self.findings()]
        for message in messages:
            if message not in self._told:
                log.warning("%s", message)
        self._told = frozenset(messages)


def changed_limits(started: Limits, wanted: Limits) -> list[Finding]:
    """A finding for each limit that was another when the daemon started."""
    return [
        Finding(
            level="warning",
            about=f"limits.{name}",
            message=f"limits.{name} stays {_shown(before)} until the daemon is started again; the config "
            f"says {_shown(now)}",
            mend="start the daemon again",
            kind="needs-restart",
        )
        for name, before in msgspec.structs.asdict(started).items()
        if name not in LIVE and (now := getattr(wanted, name)) != before
    ]


def _shown(value: float | tuple[float, ...]) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_shown, value))}]"
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"
