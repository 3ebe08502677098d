"""Composes the daemon: one ordered list. Started in the order in which data flows, stopped in reverse.

This is the only place where rim packages meet. Nothing is decided here.
"""

from __future__ import annotations

import logging
import signal
import time
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import trio

from toolsearchd.calls.activity import Activity
from toolsearchd.calls.admission import Admission
from toolsearchd.calls.approver import Approver
from toolsearchd.calls.desktop import Desktop
from toolsearchd.calls.dispatcher import Dispatcher
from toolsearchd.calls.hooks import Hooks
from toolsearchd.calls.journal import Journal
from toolsearchd.calls.permits import Permits
from toolsearchd.calls.spill import Spill
from toolsearchd.catalog.model import Source
from toolsearchd.config.settings import Settings
from toolsearchd.daemon.admin import Admin
from toolsearchd.daemon.deferred_imports import import_later, import_rest
from toolsearchd.daemon.gc import Heap
from toolsearchd.daemon.notifier import Notifier
from toolsearchd.daemon.orphans import Orphans
from toolsearchd.daemon.restart import RestartNeeded
from toolsearchd.daemon.stages import Stages, after
from toolsearchd.dialects.disclosures import disclosure_in
from toolsearchd.dialects.precedence import check_disclosure
from toolsearchd.dialects.registry import MODULES, OPTIONS
from toolsearchd.doors.mcp import McpDoor
from toolsearchd.errors import ToolsearchdError
from toolsearchd.index.lexicon import default_lexicon
from toolsearchd.live.cataloger import Cataloger
from toolsearchd.live.evaluator import Evaluator
from toolsearchd.live.sentences import Sentences
from toolsearchd.live.token_counts import TokenCounts
from toolsearchd.live.warm_catalog import WarmCatalog
from toolsearchd.live.worker import Worker
from toolsearchd.protocol.events import CatalogChanged, Drain
from toolsearchd.sessions.agent_wire import AgentWire
from toolsearchd.sessions.control_wire import ControlWire
from toolsearchd.sessions.sessions import Sessions
from toolsearchd.sockets.listener import Listener
from toolsearchd.sockets.place_keeper import PlaceKeeper
from toolsearchd.sockets.runtime_dir import RuntimeDir, activated_sockets
from toolsearchd.system import descriptors, guard
from toolsearchd.system.claim import Claim
from toolsearchd.system.guard import guarded
from toolsearchd.system.stderr_writer import StderrWriter
from toolsearchd.upstream.fleet import Fleet
from toolsearchd.upstream.sdk import load_sdk
from toolsearchd.watching.manifest_files import ManifestFiles
from toolsearchd.watching.watcher import Watcher

log = logging.getLogger(__name__)


# What acts, and what few sessions need: imported after the first answers, each before what imports it.
LATER = (
    *("toolsearchd.upstream.process", "toolsearchd.upstream.lines", "toolsearchd.upstream.upstream"),
    *("toolsearchd.dispatch.schema", "toolsearchd.dispatch.bounds", "toolsearchd.dispatch.coerce"),
    "toolsearchd.dispatch.validate",
    *(
        "toolsearchd.dispatch.validation_errors",
        "toolsearchd.dispatch.check",
        "toolsearchd.dispatch.arguments",
    ),
    *("toolsearchd.index.explain", "toolsearchd.disclosure.explanation", "toolsearchd.live.findability"),
    *("toolsearchd.disclosure.tokens_report", "toolsearchd.index.ranker"),
    *MODULES,
)


class Places(msgspec.Struct, frozen=True, kw_only=True):
    """Where this daemon reads and writes."""

    config_file: Path
    runtime_dir: Path
    state_dir: Path


class Daemon:
    """`run` once. Raises ALREADY_RUNNING and BAD_CONFIG; a bug in an actor ends the process."""

    def __init__(self, places: Places, environ: dict[str, str], stderr: StderrWriter | None = None) -> None:
        self.notifier = Notifier(environ)
        self.heap = Heap()
        self._activated = activated_sockets(environ)
        self.runtime_dir = RuntimeDir(places.runtime_dir)
        self._stop, self._yielded = trio.Event(), ""
        self.place_keeper = PlaceKeeper(
            self.runtime_dir, Claim(places.state_dir, "state directory"), self._yield_to
        )
        self.place_keeper.claim()  # before anything of the state directory is read or written
        self.watcher = watcher = Watcher(
            places.config_file, environ=environ, dialect_options=OPTIONS, state_dir=places.state_dir
        )
        watcher.load_now()
        wanted = watcher.settings.limits
        limits, self._scarce = descriptors.fit(wanted, descriptors.raise_soft_limit(wanted))
        for finding in self._scarce:
            log.warning("%s; %s", finding.message, finding.mend)
        self.limits = limits
        self.activity = Activity()
        self.worker = Worker(limits.worker_idle_s, environ)
        self.sentence_worker = Worker(limits.sentence_idle_s, environ)
        self.orphans = Orphans(limits)
        self.warm_catalog = WarmCatalog(
            state_dir=places.state_dir,
            snapshot=lambda: self.cataloger.snapshot,
            settled=self.heap.trim,
            limits=limits,
        )
        last = self.warm_catalog.load()
        self.fleet = Fleet(
            limits=limits,
            environ=environ,
            passed=lambda: watcher.settings.environment.pass_,
            publish=self._sources_changed,
            known=last.sources,
        )
        self.restart_needed = RestartNeeded(wanted, lambda: watcher.settings.limits, self.fleet.passed_before)
        self.cataloger = Cataloger(
            sources=self._sources,
            options=self._analyzer_options,
            worker=self.worker,
            limits=limits,
            snapshot=last,
        )
        self.token_counts = TokenCounts(worker=self.worker, state_dir=places.state_dir)
        self.sentences = Sentences(
            worker=self.sentence_worker,
            state_dir=places.state_dir,
            snapshot=lambda: self.cataloger.snapshot,
            is_wanted=lambda: watcher.settings.tool_search.tables and watcher.settings.tool_search.semantic,
            limits=limits,
        )
        self.evaluator = Evaluator(
            cataloger=self.cataloger,
            sentences=self.sentences,
            settings=self._settings,
            lexicon=lambda: watcher.lexicon,
            counts=self.token_counts,
            limits=limits,
        )
        self.journal = Journal(
            places.state_dir, settings=lambda: watcher.settings.journal, limits=limits, now=time.time
        )
        self.desktop = Desktop(environ)
        self.approver = Approver(
            settings=self._settings,
            permits=Permits(places.state_dir),
            desktop=self.desktop,
            journal=self.journal,
            activity=self.activity,
            limits=limits,
        )
        self.hooks = Hooks(settings=self._settings, activity=self.activity, environ=environ)
        self.admission = Admission(
            upstream=self.fleet,
            approver=self.approver,
            hooks=self.hooks,
            journal=self.journal,
            settings=self._settings,
            limits=limits,
            offers=self.fleet.offers,
        )
        self.spill = Spill(places.state_dir, limits=limits)
        self.dispatcher = Dispatcher(
            upstream=self.fleet,
            approver=self.approver,
            admission=self.admission,
            hooks=self.hooks,
            journal=self.journal,
            activity=self.activity,
            spill=self.spill,
            limits=limits,
            refusal=watcher.refusal,
        )
        self.manifests = ManifestFiles(places.config_file)
        self.sessions = Sessions(
            settings=self._settings,
            evaluator=self.evaluator,
            dispatcher=self.dispatcher,
            approver=self.approver,
            activity=self.activity,
            limits=limits,
            manifests=self.manifests.current,
            disclosure=_disclosure_of(environ),
            specs=lambda: watcher.desired.servers,
        )
        self.admin = Admin(
            watcher=watcher,
            fleet=self.fleet,
            cataloger=self.cataloger,
            evaluator=self.evaluator,
            sessions=self.sessions,
            journal=self.journal,
            manifests=self.manifests,
            orphans=self.orphans,
            sentences=self.sentences,
            limits=limits,
            restart_needed=self.restart_needed.findings,
            oddities=(
                lambda: self._scarce,
                self.place_keeper.findings,
                *((stderr.findings,) if stderr else ()),
            ),
        )
        self.door = McpDoor(
            open_session=self.sessions.open,
            close_session=self.sessions.close,
            limits=limits,
            servers=self.fleet,
            load_sdk=load_sdk,
        )
        self.fleet.on_told = self.door.hear
        watcher.on_change.append(self._config_changed)
        self.cataloger.on_snapshot.append(self._snapshot_changed)

    async def run(self) -> None:
        """Until SIGTERM or SIGINT; everything that was started has ended when this returns. Raises
        ALREADY_RUNNING after the same orderly end, where another daemon has taken one of the places."""
        with trio.open_signal_receiver(
            signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1
        ) as signals:
            try:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(self._obey, signals, nursery.cancel_scope)
                    await self._run_actors(nursery)
                    nursery.cancel_scope.cancel()
            finally:
                self.place_keeper.release()
        if self._yielded:
            raise ToolsearchdError("ALREADY_RUNNING", f"{self._yielded}; this daemon has made way for it")

    async def _run_actors(self, nursery: trio.Nursery) -> None:
        ready = trio.Event()
        stages = Stages(nursery)
        agents = self._listener("agent", AgentWire(self.sessions, self.limits, self.door).serve)
        control = self._listener(
            "control",
            ControlWire(self.admin.answers(), self.approver, self.activity, self.limits).serve,
        )
        self.fleet.apply(self.watcher.desired.servers)
        await stages.start("watcher", after(ready, self.watcher.run))
        await stages.start("orphans", self.orphans.run)
        await stages.start("worker", self.worker.run)
        await stages.start("token counts", self.token_counts.run)
        await stages.start("sentence worker", self.sentence_worker.run)
        await stages.start("fleet", after(ready, self._start_servers))
        await stages.start("warm catalog", self.warm_catalog.run)
        await stages.start("cataloger", self.cataloger.run)
        await stages.start("evaluator", self.evaluator.run)
        await stages.start("sentences", after(ready, self.sentences.run))
        await stages.start("journal", self.journal.run)
        await stages.start("desktop", self.desktop.run)
        await stages.start("approver", self.approver.run)
        await stages.start("spill", self.spill.run)
        await stages.start("dispatcher", self.dispatcher.run)
        await stages.start("agent listener", agents.run)
        await stages.start("control listener", control.run)
        await stages.start("place keeper", partial(self.place_keeper.run, (agents, control)))
        self.heap.started()
        self.notifier.ready(self.admin.one_line())
        log.info("ready: %s", self.admin.one_line())
        await stages.start("notifier", lambda **kw: self.notifier.run(self.admin.one_line, **kw))
        ready.set()

        await self._stop.wait()
        self.notifier.stopping()
        log.info("stopping")
        with trio.move_on_after(self.limits.shutdown_s) as bound:
            agents.close()
            control.close()
            self.sessions.broadcast(Drain())
            await self.dispatcher.drain()
            await stages.stop_all()
        if bound.cancelled_caught:
            log.error("not everything stopped within %g s", self.limits.shutdown_s)

    async def _start_servers(self) -> None:
        """After the first answers: importing the MCP SDK alone takes a second."""
        await import_later(LATER)
        self.heap.started()
        await self.orphans.wait_swept()
        async with trio.open_nursery() as nursery:
            guard.start(nursery, "importing what is rarely needed", import_rest, load_sdk)
            await self.fleet.run()

    async def _obey(self, signals: AsyncIterator[int], everything: trio.CancelScope) -> None:
        async for number in signals:
            if number == signal.SIGHUP:
                self.notifier.reloading()
                self.watcher.reload_nowait()
                self.notifier.ready(self.admin.one_line())
            elif number == signal.SIGUSR1:
                with guarded("writing statistics"):  # a server's words stand in them
                    log.info("statistics: %s", msgspec.json.encode(self.admin.statistics()).decode())
            elif self._stop.is_set():
                log.warning("told to stop twice: not waiting any longer")
                everything.cancel()
            else:
                self._stop.set()

    def _yield_to(self, why: str) -> None:
        log.error("%s: stopping", why)
        self._yielded = why
        self._stop.set()

    def _listener(self, name: str, serve: Any) -> Listener:
        sock = self._activated.pop(name, None) or self.runtime_dir.bind(f"{name}.sock")
        return Listener(f"{name}.sock", self.runtime_dir, sock, serve, self.limits.sessions)

    # --- who tells whom -------------------------------------------------------------------------

    def _settings(self) -> Settings:
        return self.watcher.settings

    def _analyzer_options(self) -> dict[str, Any]:
        """How tools' words are read, as far as the person decides it."""
        options: dict[str, Any] = {"languages": list(self.watcher.settings.tool_search.languages)}
        if not self.watcher.settings.tool_search.tables:
            options["tables"] = False
        stop_words = self.watcher.lexicon.stop_words
        if stop_words != default_lexicon().stop_words:
            options["stop_words"] = sorted(stop_words)
        return options

    def _config_changed(self) -> None:
        self.fleet.apply(self.watcher.desired.servers)
        self.restart_needed.tell()
        self.sessions.config_changed()
        self.evaluator.changed()
        self.approver.look_again()
        self.sentences.look()
        self.cataloger.mark_dirty()

    def _sources(self) -> tuple[Source, ...]:
        """The fleet's sources, with the words that the person wants their tools found by."""
        aliases_of = self.watcher.settings.tool_search.aliases_of
        return tuple(
            msgspec.structs.replace(source, aliases=aliases)
            if (aliases := aliases_of(source.name))
            else source
            for source in self.fleet.sources()
        )

    def _sources_changed(self) -> None:
        self.cataloger.mark_dirty()

    def _snapshot_changed(self, generation: int) -> None:
        self.heap.holds(len(self.cataloger.snapshot))
        self.evaluator.changed()
        self.approver.look_again()
        self.sentences.look()
        self.warm_catalog.changed()
        self.sessions.broadcast(CatalogChanged(generation=generation))


def _disclosure_of(environ: dict[str, str]) -> tuple[str | None, str]:
    """See `disclosure_in`. Raises BAD_CONFIG for a word that is neither `progressive` nor `direct`."""
    value, variable = disclosure_in(environ)
    try:
        check_disclosure(value, f"the environment's {variable} is")
    except ToolsearchdError as error:
        raise ToolsearchdError("BAD_CONFIG", error.message) from None
    return value, variable
