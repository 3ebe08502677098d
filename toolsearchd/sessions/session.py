"""An agent's session, whatever wire it came by: what it may see, what it was shown, what it has running.

Search and describe are synchronous: they read the newest snapshot's view and return. `assemble` may wait for
token counts. Calls go to the dispatcher; a stop takes effect before `stop` returns.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import UNSET

from toolsearchd.calls.account import Account
from toolsearchd.calls.activity import Activity
from toolsearchd.calls.approver import Approver
from toolsearchd.calls.dispatcher import Dispatcher
from toolsearchd.calls.sender import OnProgress
from toolsearchd.catalog.model import Tool
from toolsearchd.dialects.precedence import TierChoice
from toolsearchd.dialects.registry import DIALECTS
from toolsearchd.disclosure.bridge_answers import BridgeAnswer, BridgeCalls, Verb
from toolsearchd.disclosure.described import Described
from toolsearchd.disclosure.history import SearchHistory
from toolsearchd.disclosure.own_tools import name_in
from toolsearchd.disclosure.sanitise import plain_line
from toolsearchd.disclosure.view import Assembled, View
from toolsearchd.dispatch.approvals import Answer as ApprovalAnswer
from toolsearchd.dispatch.policy import Decision
from toolsearchd.dispatch.queue import Queue
from toolsearchd.dispatch.routing import check_door
from toolsearchd.dispatch.rules import Rules
from toolsearchd.errors import ToolsearchdError
from toolsearchd.limits import Limits
from toolsearchd.live.evaluator import Evaluator, ViewKey
from toolsearchd.protocol import replies
from toolsearchd.protocol.events import ApprovalEnded, CatalogChanged, Event
from toolsearchd.protocol.requests import Hello
from toolsearchd.records import WireRecord
from toolsearchd.sessions.entitlement import Entitlement, ToldModel, check_own_name
from toolsearchd.sessions.own_tools import SessionTools
from toolsearchd.system.peer import Peer

KeyOf = Callable[[Entitlement, ToldModel], tuple[ViewKey, TierChoice]]

_numbers = itertools.count(1)


class Session:
    """Made at `hello`; `close` when the peer goes. `key` says which view it sees."""

    def __init__(
        self,
        *,
        hello: Hello,
        peer: Peer,
        entitlement: Entitlement,
        told: ToldModel,
        key_of: KeyOf,
        evaluator: Evaluator,
        dispatcher: Dispatcher,
        approver: Approver,
        activity: Activity,
        limits: Limits,
    ) -> None:
        self.session_id = f"s{next(_numbers)}"
        self.client = plain_line(hello.client)[:128]
        self.hello = hello
        self.peer = peer
        self.entitlement = entitlement
        self._told = told
        self._key_of = key_of
        self._own_tools = SessionTools(self.session_id, evaluator, self._ask, limits)
        self.key, self.choice = key_of(entitlement, told)
        self._keyed: tuple[tuple[Entitlement, ToldModel, str], tuple[ViewKey, TierChoice]] | None = None
        self.queue = Queue(limits.queued_entries)
        self.account = Account(limits)
        self._evaluator = evaluator
        self._dispatcher = dispatcher
        self._approver = approver
        self._has_form = False
        self._activity = activity
        self._limits = limits
        self._interpreter = DIALECTS[self.key.dialect].interpreter()
        self._described = Described(limits.shown_tools)
        self.history = self._interpreter.history = SearchHistory(
            fruitless=limits.fruitless_searches, remembered=limits.remembered_queries
        )
        self.held: Assembled | None = None  # the listing this session was given
        self.opened_at = time.monotonic()
        self.options: dict[str, Any] | None = None  # effective, where its dialect has options of its own
        self.searches = 0
        self.calls = 0
        self.events: set[str] = set()  # what it subscribed to
        self.emit: Callable[[Event], None] | None = None  # how its wire sends an event
        self.ask: Callable[[Event], None] | None = None  # … one that is not to be dropped
        self.client_side: Any = None  # its client, as servers ask it for something, where its wire can

    # --- what the dispatcher asks ---------------------------------------------------------------

    profile = property(lambda self: self.entitlement.profile)

    @property
    def profiles(self) -> tuple[str, ...]:
        return self.entitlement.profiles

    @property
    def may_decide(self) -> bool:
        """Its own user interface may answer its prompts."""
        return self.entitlement.may_decide or self._has_form

    @property
    def view(self) -> View:
        return self._evaluator.view(self.key)

    @property
    def warnings(self) -> list[str]:
        """What of its hello has not the effect that was meant."""
        return [*self.entitlement.warnings, *self._own_tools.tools.warnings]

    def client_word(self, tool: Tool) -> Decision | None:
        return self.entitlement.terms.word_on(tool)

    @property
    def rules(self) -> Rules:
        return DIALECTS[self.key.dialect].rules

    def tool_to_call(self, name: str) -> Tool:
        view, direct = self.view, self._own_tools.tools.direct_names
        tool = None if name in direct else view.tool_named(name)
        if tool is None:
            check_door(name, direct)
            self._interpreter.check_name(view, name, self._evaluator.public_names)
            tool = view.resolve_call(name)
        self._described.check(tool)
        return tool

    # --- what the agent asks --------------------------------------------------------------------

    def search(self, args: dict[str, Any]) -> replies.OwnWords:
        """The reply in the session's dialect. Raises BAD_ARGUMENTS or TOO_MANY."""
        return self._in_its_words(self._search(args).fields)

    def unread_queries(self, args: Mapping[str, Any]) -> list[str]:
        """Those of a search that are to be awaited by `await_vectors` first."""
        return self.view.unread_queries(args)

    async def await_vectors(self, queries: Sequence[str]) -> None:
        """A few milliseconds at most."""
        await self._evaluator.await_vectors(queries)

    def _search(self, args: Mapping[str, Any]) -> BridgeAnswer:
        started = time.perf_counter()
        answer = self._interpreter.search(self.view, args)
        self.searches += 1
        self._activity.publish(
            "search",
            session=self.session_id,
            client=self.client,
            queries=list(answer.queries),
            found=answer.found,
            ms=round((time.perf_counter() - started) * 1000, 2),
        )
        if answer.exposes:
            self.notify(CatalogChanged(generation=self._evaluator.generation))
        return answer

    def describe(self, args: dict[str, Any]) -> replies.OwnWords:
        """The reply in the session's dialect. Raises BAD_ARGUMENTS or TOO_MANY."""
        return self._in_its_words(self._describe(args).fields)

    def _describe(self, args: Mapping[str, Any]) -> BridgeAnswer:
        view = self.view
        answer = self._interpreter.describe(view, args, self._own_tools.tools.direct_names)
        for name in answer.described:
            tool = view.tool_named(name)
            if tool is not None:
                self._described.note(tool)
        self._activity.publish(
            "describe", session=self.session_id, client=self.client, tools=list(answer.described)
        )
        return answer

    def use(
        self,
        key: Hashable,
        tool: str,
        args: Mapping[str, Any],
        deliver: Callable[[WireRecord | ToolsearchdError], None],
        on_progress: OnProgress | None = None,
    ) -> None:
        """A model's call of a tool that `assemble` gave, as it came; `deliver` gets the reply, once.

        `value` is what the model is to be given: a text as it is, anything else as `text` has it, or as JSON.
        A tool that is no bridge tool is called by its name. Raises what refuses the call whole.
        """
        verb = self._interpreter.verbs.get(tool)
        if verb == "search":
            deliver(self._in_its_words(self._search(args).told()))
        elif verb == "describe":
            deliver(self._in_its_words(self._describe(args).told()))
        else:
            calls = self.calls_of(tool, args)
            self.submit_call(
                key, calls.args, deliver, on_progress, lambda reply: self._in_its_words(calls.told(reply))
            )

    def calls_of(self, tool: str, args: Mapping[str, Any]) -> BridgeCalls:
        """What the calling tool, or any other by its name, wants run. Raises what refuses it whole."""
        interpreter, view = self._interpreter, self.view
        if tool in interpreter.verbs:
            return interpreter.calls(view, args)
        return interpreter.direct(view, tool, args)

    @property
    def bridge(self) -> Mapping[str, Verb]:
        """The dialect's bridge tools: name → what each does."""
        return self._interpreter.verbs

    def explain(self, query: str, tool: str | None) -> replies.ExplainReply:
        """Raises TOOL_NOT_FOUND for a tool that is not granted."""
        from toolsearchd.disclosure.explanation import explain  # `app` has it loaded after the start

        found = explain(self.view, query, tool, limits=self._limits)
        return msgspec.convert(found | self._stamp, replies.ExplainReply)

    async def assemble(
        self,
        *,
        context_length: int | None = None,
        encoding: str | None = None,
        model: str | None = None,
        refresh: bool = False,
    ) -> replies.AssembleReply:
        """What the model is to see. The text given before stands until something real changes. Raises
        BAD_ARGUMENTS for a name that is too long."""
        for name, field in ((encoding, "encoding"), (model, "model")):
            check_own_name(name, field, self._limits)
        told = self._told.updated(context_length=context_length, encoding=encoding, model=model)
        key, choice = self._key_under(self.entitlement, told)
        await self._own_tools.sort(key)
        key, choice = self._key_under(self.entitlement, told)
        await self._evaluator.prepare(key)
        candidate = await self._evaluator.assembled(key)
        held = self.held
        if (
            held is None
            or refresh
            or key != self.key
            or held.sources != candidate.sources
            or DIALECTS[self.key.dialect].reevaluates
        ):
            held = candidate
        self._told, self.held = told, held
        self._see(key, choice)
        tools = list(self._own_tools.tools.direct) + held.fields["tools"]
        if shown := self._interpreter.shown(self.view):
            present = set(map(name_in, tools))  # pinned since, or all direct by now
            tools += [tool for tool in shown if name_in(tool) not in present]
        return replies.AssembleReply(**held.fields | {"tools": tools}, **self._stamp)

    def stand(self, entitlement: Entitlement) -> None:
        """The config says something else of this session now; what it was given stands till it asks again.

        Raises BAD_ARGUMENTS where its profile names a dialect that does not exist.
        """
        key, choice = self._key_under(entitlement, self._told)
        self.entitlement = entitlement
        self._see(key, choice)

    # --- its own tools --------------------------------------------------------------------------

    async def set_tools(self, tools: Sequence[dict[str, Any]]) -> replies.ToolsReply:
        """These are the agent's own from now on. Raises BAD_ARGUMENTS, and then the ones before stay."""
        added, removed = await self._own_tools.replace(tools, self.key)
        self._see(*self._key_under(self.entitlement, self._told))
        warnings = list(self._own_tools.tools.warnings) or UNSET
        return replies.ToolsReply(added=added, removed=removed, warnings=warnings, **self._stamp)

    def call_result(self, call: str, response: Any, error: Any) -> replies.CallResultReply:
        """The agent's answer to a call of its own tool; `accepted` is False where nobody waits for it."""
        accepted = self._own_tools.call_backs.answer(call, response, error)
        return replies.CallResultReply(accepted=accepted, **self._stamp)

    async def call_own(self, tool: str, arguments: dict[str, Any], *, timeout_s: float) -> dict[str, Any]:
        return await self._own_tools.call_backs.call(tool, arguments, timeout_s=timeout_s)

    def _ask(self, event: Event) -> bool:
        """False where nobody is there to be asked."""
        return self.ask is not None and self.ask(event) is None

    def _key_under(self, entitlement: Entitlement, told: ToldModel) -> tuple[ViewKey, TierChoice]:
        """What it sees then, and by whose choice. The last answer is kept: mostly the same is asked again."""
        owner = self._own_tools.owner
        asked = (entitlement, told, owner)
        if self._keyed is None or self._keyed[0] != asked:
            key, choice = self._key_of(entitlement, told)
            self._keyed = (asked, (msgspec.structs.replace(key, owner=owner), choice))
        return self._keyed[1]

    def _see(self, key: ViewKey, choice: TierChoice) -> None:
        if key.dialect != self.key.dialect:
            self._interpreter = DIALECTS[key.dialect].interpreter()
            self._interpreter.history = self.history
        self.key, self.choice = key, choice

    def submit_call(
        self,
        key: Hashable,
        args: dict[str, Any],
        deliver: Callable[[WireRecord | ToolsearchdError], None],
        on_progress: OnProgress | None = None,
        told: Callable[[dict[str, Any]], WireRecord] | None = None,
    ) -> None:
        """Takes a batch under `key`; `deliver` gets a `CallReply`'s fields, or what `told` makes of them, or
        the error that a bug made, once. Raises what refuses it whole."""
        told = told or self._in_its_words
        self.history.note_call()
        requests = self.rules.parse(
            args, max_entries=self._limits.entries_per_call, properties=self._properties_of
        )
        self.calls += len(requests)

        def deliver_told(reply: dict[str, Any] | ToolsearchdError) -> None:
            deliver(reply if isinstance(reply, ToolsearchdError) else told(reply))

        self._dispatcher.submit(self, key, requests, deliver_told, on_progress)

    def _properties_of(self, name: str) -> frozenset[str] | None:
        """The names of a tool's top-level arguments; None where it is unknown."""
        from toolsearchd.dispatch.arguments import property_names  # `app` has it loaded after the start

        tool = self.view.tool_named(name) or self.view.resolve(name)
        return property_names(tool.definition) if tool else None

    def stop(self, key: Hashable | None = None) -> replies.StopReply:
        """Raises UNKNOWN_BATCH. When it returns nothing more of the stopped batches will start."""
        return replies.StopReply(**self._dispatcher.stop(self, key).members(), **self._stamp)

    def resolve(self, handle: str, offset: int = 0, limit: int | None = None) -> replies.ResolveReply:
        """A piece of a result that was too long for its reply. Raises UNKNOWN_HANDLE, BAD_ARGUMENTS."""
        piece = self._dispatcher.resolve(self, handle, offset, limit)
        return replies.ResolveReply(**piece.members(), **self._stamp)

    def listen(self, events: Iterable[str]) -> None:
        """Events that it is sent from now on."""
        self.events |= set(events)
        if self.may_decide and "approval_requested" in self.events:
            self._approver.listen(self)

    def answer_by_form(self, wanted: bool) -> bool:
        """Its prompts are answered in its client's own form from now on, or not; what is in force."""
        self._has_form = wanted and self._approver.may_use_forms
        if self._has_form:
            self.listen(("approval_requested",))
        elif not self.may_decide:
            self._approver.unlisten(self)
        return self._has_form

    def decide(self, approval: str, decision: ApprovalAnswer) -> replies.DecideReply:
        """Its own user interface answers one of its prompts. Raises NOT_ALLOWED, UNKNOWN_APPROVAL, STALE."""
        decided = self._approver.decide_as(self, approval, decision)
        return replies.DecideReply(**decided.members(), **self._stamp)

    def ping(self) -> replies.Stamped:
        return replies.Stamped(**self._stamp)

    def notify(self, event: Event) -> None:
        """Sends an event that it subscribed to; any other is not for it."""
        heard = "approval_requested" if isinstance(event, ApprovalEnded) else event.op
        if self.emit is not None and heard in self.events:
            self.emit(event)

    # --- its end ----------------------------------------------------------------------------------

    def fall_silent(self) -> None:
        """Its agent sends nothing more and reads on: what only the agent could answer is not waited for."""
        self.ask = None
        self._own_tools.call_backs.close()
        self._approver.unlisten(self)

    def close(self) -> None:
        """The peer is gone: what waits is interrupted, what runs goes on to its end, unheard."""
        self.emit = self.ask = self.client_side = None
        self.held = None
        self._own_tools.close()
        self._dispatcher.leave(self)

    @property
    def _stamp(self) -> dict[str, Any]:
        stale = self.held is not None and self._evaluator.is_stale(self.key, self.held)
        return {"generation": self._evaluator.generation, "listing_stale": stale}

    def _in_its_words(self, fields: dict[str, Any]) -> replies.OwnWords:
        """A reply as its dialect, or the dispatcher, has it."""
        stale = self.held is not None and self._evaluator.is_stale(self.key, self.held)
        return replies.OwnWords(self._evaluator.generation, stale, fields)
