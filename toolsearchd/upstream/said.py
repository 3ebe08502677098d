"""What a server says beside the protocol: its stderr, and lines on its stdout that are no messages. Servers
print there what they were started with, so nothing is told before its secrets are out of it.
"""

from __future__ import annotations

from collections.abc import Callable

from toolsearchd.config.masking import masked
from toolsearchd.config.secret_values import SecretValues
from toolsearchd.disclosure.sanitise import clipped, plain_line
from toolsearchd.limits import Limits
from toolsearchd.upstream.lines import LineReader
from toolsearchd.upstream.process import StderrRing

_LINE_CHARS = 2000  # of a line of stderr, as of a server's words in an error


class Said:
    """Of all of a server's lives; `reader` is that of the last one. `secrets()` are the server's."""

    def __init__(self, limits: Limits, secrets: Callable[[], SecretValues]) -> None:
        self._secrets = secrets
        self.stderr = StderrRing(limits.stderr_ring_bytes)
        self.reader = LineReader(limits)

    def tail(self, lines: int) -> list[str]:
        """The last lines of stderr."""
        hidden = (self._secrets().hidden(line, is_cut=True) for line in self.stderr.tail(lines))
        return [masked(clipped(line, _LINE_CHARS)) for line in hidden]

    def first_junk(self) -> str:
        """The first line on stdout that was no message; empty where there was none."""
        return plain_line(self._secrets().masked(self.reader.first_junk, is_cut=True))

    def last_words(self) -> str:
        """What may tell why it failed, in brackets behind the failure; empty where it said nothing."""
        said = []
        if self.reader.first_junk and not self.reader.has_spoken:
            said.append(f"stdout: {self.first_junk()}")
        if tail := self.tail(3):
            said.append(f"stderr: {' | '.join(tail)}")
        return f" ({'; '.join(said)})" if said else ""
