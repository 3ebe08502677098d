"""What one server listed last, and when it is asked again: one listing at a time, one pending.

The whole list is kept, whatever the entry's filters let through: they are applied where it is read, so that
an edit acts on the list in hand.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec
import trio

from toolsearchd.catalog.model import Source, SourceState
from toolsearchd.config.model import ServerSpec
from toolsearchd.disclosure.sanitise import without_paths
from toolsearchd.errors import ToolsearchdError
from toolsearchd.limits import Limits
from toolsearchd.system.signal import Signal
from toolsearchd.upstream.backoff import ChangeBudget
from toolsearchd.upstream.listing import ServerListing, Sieve, Sifted

if TYPE_CHECKING:
    from toolsearchd.upstream.connection import Connection


def shown_reason(reason: str, spec: ServerSpec) -> str:
    """As a model may see it: without the paths of its entry, or any of this machine."""
    return without_paths(reason, *spec.command[:1], spec.cwd)


class KeptListing:
    """`known`: of an earlier run. `complain(words)` hears what is wrong with the server's lists, `changed()`
    of another one in force."""

    def __init__(
        self,
        known: ServerListing,
        limits: Limits,
        *,
        complain: Callable[[str], None],
        changed: Callable[[], None],
    ) -> None:
        self.listing = known
        self._limits = limits
        self._complain = complain
        self._changed = changed
        self._sieve = Sieve()
        self._budget = ChangeBudget(limits)
        self._news = Signal()  # the server says that its tools changed

    def sifted(self, spec: ServerSpec) -> Sifted:
        """As the entry lets it through now."""
        return self._sieve.sift(self.listing.definitions, spec)

    def source(
        self, spec: ServerSpec, state: SourceState, reason: str, *, is_listed: bool, stale: bool
    ) -> Source:
        """The server as search sees it; not `is_listed`: with nothing of its list."""
        listing, (kept, withheld) = self.listing, self.sifted(spec)
        return Source(
            name=spec.name,
            state=state,
            reason=shown_reason(reason, spec),
            stale=stale,
            definitions=kept if is_listed else (),
            withheld=withheld if is_listed else (),
            instructions=listing.instructions if is_listed else "",
            declared_tools=len(kept),
            truncated=listing.truncated,
            rejected=listing.rejected,
            mended=listing.mended,
            project=spec.project,
            pins=spec.pins,
            spec_digest=spec.digest,
        )

    def note_news(self) -> None:
        self._news.set()

    def begin(self) -> None:
        """Another life of the server: what an earlier one announced is of no account."""
        self._news.clear()

    async def take_first(self, connection: Connection, timeout_s: float) -> None:
        """The list of a server that has just come up. Raises `ToolsearchdError`."""
        self.listing = await connection.list_tools(timeout_s=timeout_s)
        if self.listing.cut:
            self._complain(f"its list of tools is too long, what is beyond is left out: {self.listing.cut}")

    async def run(self, connection: Connection, timeout_s: Callable[[], float]) -> None:
        """Asks again after each news, so far apart, until cancelled; the last change is never lost."""
        while True:
            await self._news.wait_and_clear()
            try:
                listing = await connection.list_tools(timeout_s=timeout_s())
            except ToolsearchdError as error:
                words = "listing its tools again failed, the previous list stands"
                self._complain(f"{words}: {error.message}")
            else:
                if listing.cut and not self.listing.cut:
                    self._complain(f"its list of tools is too long, the previous list stands: {listing.cut}")
                else:
                    await self._take_over(listing)
            await trio.sleep(self._limits.list_min_interval_s)

    async def _take_over(self, listing: ServerListing) -> None:
        now = trio.current_time()
        if listing.identities == self.listing.identities:
            # What was left out may differ; the definitions stay the ones that are indexed.
            self.listing = msgspec.structs.replace(listing, definitions=self.listing.definitions)
        elif self._budget.is_spent(now):
            self._complain("its tool list flips; the one in force stands until it has been quiet")
            self._news.set()  # to be looked at again then
            await trio.sleep(self._budget.next_s(now))
        else:
            self._budget.spend(now)
            self.listing = listing
            self._changed()
