"""Owns the views: what each (grant, dialect) sees of the newest snapshot, and the listing that fits.

A view's mask and searcher are made when first asked for and live as long as their snapshot. Listings need
token counts, which `TokenCounts` has or gets from the worker process; after a change it brings the
listings in use up to date in the background, so that the next turn finds them ready. A snapshot never waits
for counts: until they arrive, the listing in force stands.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
import trio

from toolsearchd.catalog.grant import Grant
from toolsearchd.config.profile import settings_under
from toolsearchd.config.settings import Settings
from toolsearchd.config.tool_search import ToolSearch
from toolsearchd.dialects.registry import DIALECTS, OPTIONS
from toolsearchd.dialects.views import make_view, ranker_of
from toolsearchd.disclosure.listing_steps import Count
from toolsearchd.disclosure.texts import OwnTexts, ToolTexts
from toolsearchd.disclosure.tokens import UncountedError, encoding_for, estimate_tokens, is_estimated
from toolsearchd.disclosure.view import Assembled, View
from toolsearchd.index.lexicon import Lexicon
from toolsearchd.index.recent import Cache
from toolsearchd.limits import Limits
from toolsearchd.live.cataloger import Cataloger
from toolsearchd.live.overlays import Overlays, Toolsets
from toolsearchd.live.sentences import Sentences
from toolsearchd.live.token_counts import TokenCounts
from toolsearchd.live.worker import WorkerError
from toolsearchd.system.guard import guarded
from toolsearchd.system.pacing import Slices
from toolsearchd.system.signal import Signal

log = logging.getLogger(__name__)

_COUNTED_AT_ONCE = 200  # schemas: looking up what is known of them takes a millisecond
_CALM_S = 1.0
_KEPT_ASSEMBLIES = 256  # distinct (view, context, encoding) of one generation; 64 sessions, few variants each


class ViewKey(msgspec.Struct, frozen=True, kw_only=True, cache_hash=True):
    """What decides what a session sees. Equal keys share everything computed for them."""

    grant: Grant
    dialect: str
    profile: str = "default"
    context_length: int | None = None
    encoding: str | None = None
    model: str | None = None
    separate_listing: bool = False
    local_model: bool = False  # it runs on this machine
    owner: str = ""  # the session whose own tools are in view; empty: none are


class Evaluator:
    def __init__(
        self,
        *,
        cataloger: Cataloger,
        settings: Callable[[], Settings],
        lexicon: Callable[[], Lexicon],
        counts: TokenCounts,
        limits: Limits,
        sentences: Sentences | None = None,
    ) -> None:
        self._cataloger = cataloger
        self._sentences = sentences
        self._settings = settings
        self._lexicon = lexicon
        self._limits = limits
        self._overlays = Overlays(lambda: cataloger.snapshot, limits)
        self._overlays.on_laid = self._drop
        self._views: dict[tuple[Grant, str, str, str, bool], View] = {}  # what was used last at the end
        self._assembled = Cache[ViewKey, Assembled](limits.assembled_bytes)  # of the newest snapshot
        self._assembling: dict[ViewKey, trio.Event] = {}  # what some task is at
        self._in_use: dict[ViewKey, None] = {}  # recently assembled keys, newest last
        self._texts = ToolTexts()  # cleaned and shortened once per definition, for all views
        self._own_texts: dict[str, OwnTexts] = {}  # by owner
        self._counts = counts
        self._work = Signal()
        self._settings_resolved: Settings | None = None
        self._resolved: dict[tuple[str, str | None, bool], ToolSearch] = {}  # by those settings

    @property
    def generation(self) -> int:
        return self._cataloger.snapshot.generation

    @property
    def server_names(self) -> frozenset[str]:
        """Of all servers that there are, ready or not."""
        return frozenset(source.name for source in self._cataloger.snapshot.sources)

    @property
    def public_names(self) -> Mapping[str, int]:
        """Of all tools of all servers."""
        return self._cataloger.snapshot.by_public

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Brings the listings in use up to date after each snapshot, until cancelled."""
        task_status.started()
        while True:
            await self._work.wait_and_clear()
            await self._overlays.renew_all()
            for key in tuple(self._in_use):
                with guarded("bringing a listing up to date"):
                    await self.assembled(key)
                await trio.lowlevel.checkpoint()
            # While servers come up, each view is the last for a moment only.
            with trio.move_on_after(_CALM_S):
                await self._work.wait()
                continue
            for view in tuple(self._views.values()):
                with guarded("preparing a view's searches"):
                    await self._prepare_search(view)

    async def _prepare_search(self, view: View) -> None:
        """Does ahead what the view's first searches would have to do, unless there is news."""
        slices = Slices(self._limits.compile_slice_s)
        for _ in view.prepare_search():
            await slices.breathe()
            if self._work.is_set():
                return

    async def await_vectors(self, queries: Sequence[str]) -> None:
        """Of queries that are about to be searched for; a few milliseconds at most."""
        if self._sentences is not None:
            await self._sentences.ask(queries)

    async def prepare(self, key: ViewKey) -> None:
        """Waits until the index that the key's ranker needs is compiled."""
        await self._cataloger.ensure_analyzer(self._ranker(key))
        await self._overlays.renew(key.owner)

    async def lay(self, owner: str, toolsets: Toolsets) -> None:
        """These are the owner's own tools; keys that name the owner see them, and nobody else does."""
        digests = {one.digest for definitions in toolsets.values() for one in definitions}
        self._own_texts[owner] = OwnTexts(self._texts, digests)
        await self._overlays.lay(owner, toolsets)

    def lift(self, owner: str) -> None:
        """The owner is gone."""
        self._overlays.lift(owner)
        self._drop(owner)
        self._own_texts.pop(owner, None)
        self._counts.forget(owner)
        self._in_use = {key: None for key in self._in_use if key.owner != owner}

    def _drop(self, owner: str) -> None:
        """What this owner saw is not what it would see now."""
        self._views = {cached: view for cached, view in self._views.items() if cached[3] != owner}
        self._assembled.drop([key for key in self._assembled if key.owner == owner])
        self._work.set()

    def view(self, key: ViewKey) -> View:
        """The key's view of the newest snapshot."""
        local_model = key.local_model and DIALECTS[key.dialect].settings_of is not None
        cached = (key.grant, key.dialect, key.profile, key.owner, local_model)
        view = self._views.pop(cached, None)
        if view is not None:
            self._views[cached] = view
        else:
            self._cataloger.want_analyzer(self._ranker(key))  # the config may have come to another one
            profile = self._settings().profiles.get(key.profile)
            view = self._views[cached] = make_view(
                self._overlays.snapshot(key.owner),
                key.grant,
                dialect=DIALECTS[key.dialect],
                settings=self.tool_search(key),
                pins=profile.pins if profile else (),
                limits=self._limits,
                lexicon=self._lexicon(),
                texts=self._own_texts.get(key.owner, self._texts),
                sentences=self._sentences.store if self._sentences else None,
            )
            if self._sentences is not None:
                self._sentences.want(view.snapshot)
            while len(self._views) > self._limits.kept_views:
                del self._views[next(iter(self._views))]
            self._work.set()
        return view

    async def assembled(self, key: ViewKey) -> Assembled:
        """What a model with this key is shown now. Waits for token counts where some are unknown."""
        self._in_use.pop(key, None)
        self._in_use[key] = None
        while len(self._in_use) > _KEPT_ASSEMBLIES:
            self._in_use.pop(next(iter(self._in_use)))
        while (found := self._assembled.get(key)) is None:
            if (other := self._assembling.get(key)) is not None:
                await other.wait()  # another session's task, or the one that keeps listings up to date
                continue
            done = self._assembling[key] = trio.Event()
            try:
                view = self.view(key)
                assembled = await self._assemble(view, key)
                if view is self.view(key):  # else a newer snapshot came meanwhile
                    self._assembled.put(key, assembled)
            finally:
                del self._assembling[key]
                done.set()
        return found

    async def _assemble(self, view: View, key: ViewKey) -> Assembled:
        """First the counts of its parts, then, where one is chosen by those, of a whole listing."""
        encoding = key.encoding or encoding_for(key.model)
        slices = Slices(self._limits.compile_slice_s)
        for _ in view.prepare():
            await slices.breathe()
        if key.owner:
            await self._count_shared(key, encoding)
        wanted = view.texts_to_count((await self._counter(encoding, (), key.owner))[0])
        while True:
            count, estimated = await self._counter(encoding, wanted, key.owner)
            try:
                for _ in view.weigh(count):
                    await slices.breathe()
                return view.assemble(
                    context_length=key.context_length,
                    count=count,
                    separate_listing=key.separate_listing,
                    estimate=estimated,
                )
            except UncountedError as missing:
                wanted = [missing.text]

    async def _count_shared(self, key: ViewKey, encoding: str) -> None:
        """Counts what is not the owner's for all: what is counted for an owner goes with it."""
        view, slices = self.view(msgspec.structs.replace(key, owner="")), Slices(self._limits.compile_slice_s)
        for _ in view.prepare():
            await slices.breathe()
        known, _ = await self._counter(encoding, (), "")
        await self._counter(encoding, view.texts_to_count(known), "")

    async def token_costs(self, key: ViewKey, encodings: Sequence[str]) -> dict[str, Any]:
        """What the key's tools and its view cost under each encoding; see `token_report`."""
        from toolsearchd.disclosure.tokens_report import Costs, schema_texts, token_report, tool_texts

        view = self.view(key)
        slices = Slices(self._limits.compile_slice_s)
        texts, cut = [], []
        for _, text, is_cut in schema_texts(view, self._limits.analysed_bytes):
            texts.append(text)
            cut.append(is_cut)
            await slices.breathe()
        costs = {}
        for encoding in encodings:
            assembled = await self._assemble(view, msgspec.structs.replace(key, encoding=encoding))
            bridge = tool_texts(view.bare_bridge())
            shown = tool_texts(assembled.fields["tools"])
            if key.separate_listing:
                shown.append(assembled.fields["listing"])
            tokens: list[int] = []
            for at in range(0, len(texts), _COUNTED_AT_ONCE):
                batch = texts[at : at + _COUNTED_AT_ONCE]
                count, _ = await self._counter(encoding, batch, key.owner)
                tokens += map(count, batch)
                await slices.breathe()
            count, estimated = await self._counter(encoding, [*bridge, *shown], key.owner)
            costs[encoding] = Costs(
                schemas=tokens,
                bridge=sum(map(count, bridge)),
                shown=sum(map(count, shown)) if assembled.fields["tier"] else sum(tokens),
                assembled=assembled,
                estimated=estimated,
            )
        return token_report(view, cut, costs)

    async def _counter(self, encoding: str, texts: Sequence[str], owner: str) -> tuple[Count, bool]:
        """What counts these texts, and whether it estimates."""
        try:
            return await self._counts.known(encoding, texts, owner), is_estimated(encoding)
        except WorkerError as error:
            log.error("tokens can't be counted, estimates serve: %s", error)
            return estimate_tokens, True

    def _ranker(self, key: ViewKey) -> str:
        return ranker_of(DIALECTS[key.dialect], self.tool_search(key))

    def is_stale(self, key: ViewKey, held: Assembled) -> bool:
        """Would the key be given another listing now? False while the new one is not computed yet."""
        current = self._assembled.get(key)
        return current is not None and current.version != held.version

    def tool_search(self, key: ViewKey) -> ToolSearch:
        """The settings in force for the key."""
        settings = self._settings()
        if settings is not self._settings_resolved:
            self._settings_resolved = settings
            self._resolved.clear()
        profile = settings.profiles.get(key.profile)
        of = (key.dialect, key.profile if profile else None, key.local_model)
        found = self._resolved.get(of)
        if found is None:
            dialect = DIALECTS[key.dialect]
            found = settings_under(
                settings.tool_search,
                dialect.presets,
                profile,
                is_foreign=profile is not None and profile.dialect in OPTIONS,
            )
            if dialect.settings_of is not None:
                found = dialect.settings_of(found, profile, key.local_model)
            self._resolved[of] = found
        return found

    def changed(self) -> None:
        """There is a new snapshot, or other settings: every view is made anew."""
        self._views.clear()
        self._assembled.clear()
        self._work.set()
