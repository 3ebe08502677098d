"""Which definitions a session was shown: a call of a tool that changed since is not what its model meant."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet

from toolsearchd.catalog.model import Tool
from toolsearchd.errors import ToolsearchdError


class Described(AbstractSet[str]):
    """The public names of the last `most` described tools."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._digests: dict[str, str] = {}  # by public name, the longest known first

    def __contains__(self, name: object) -> bool:
        return name in self._digests

    def __iter__(self) -> Iterator[str]:
        return iter(self._digests)

    def __len__(self) -> int:
        return len(self._digests)

    def note(self, tool: Tool) -> None:
        self._digests[tool.public_name] = tool.definition.digest
        if len(self._digests) > self._most:
            del self._digests[next(iter(self._digests))]

    def check(self, tool: Tool) -> None:
        """Raises TOOL_CHANGED where another definition was shown."""
        if self._digests.get(tool.public_name, tool.definition.digest) != tool.definition.digest:
            raise ToolsearchdError(
                "TOOL_CHANGED",
                f"{tool.public_name} changed since it was described here; describe it again, then call",
            )
