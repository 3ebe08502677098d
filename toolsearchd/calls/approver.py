"""Asks people: owns the pending prompts and who listens, and tells each waiting call how its prompt ended.

Receives prompts from the dispatcher (which waits), answers from control connections, from an agent's own user
interface where its profile allows and from the MCP door's elicitation. Emits `approval_requested` and
`approval_ended` to who listens, a desktop notification, activity. What may be approved is `Approvals`' word;
here is the waiting. When anything fails the call is not sent.
"""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Callable, Hashable, Mapping
from typing import Any, Protocol

import trio

from toolsearchd.calls.activity import Activity
from toolsearchd.calls.desktop import Desktop
from toolsearchd.calls.journal import Journal
from toolsearchd.calls.permits import Permits
from toolsearchd.calls.prompts import notice, shown_permit, shown_prompt
from toolsearchd.config.settings import Settings
from toolsearchd.dispatch.approvals import Answer, Approvals
from toolsearchd.dispatch.prompt import Binding, Now, Prompt, PromptState, Question
from toolsearchd.errors import ToolsearchdError
from toolsearchd.limits import Limits
from toolsearchd.protocol import requests as messages
from toolsearchd.protocol.control_replies import ApprovalsReply
from toolsearchd.protocol.events import ApprovalEnded, ApprovalRequested, Event, ShownPrompt
from toolsearchd.protocol.replies import Decided
from toolsearchd.system.ancestry import ancestry_of, are_related
from toolsearchd.system.guard import guarded
from toolsearchd.system.peer import Peer
from toolsearchd.system.processes import Process
from toolsearchd.system.signal import Signal

log = logging.getLogger(__name__)

_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"  # none that is taken for another one
_LISTED_BYTES = 1024 * 1024  # of arguments in a list: sessions times prompts are more than a frame holds
_TICK_S = 30.0  # while something waits: the wall clock may have jumped


class Asker(Protocol):
    """The session whose call is asked about."""

    session_id: str
    client: str
    peer: Peer

    @property
    def may_decide(self) -> bool: ...

    def notify(self, event: Event) -> None: ...


class Person:
    """A control connection: who is at its other end, and how it is told."""

    def __init__(self, peer: Peer, send: Callable[[Event], None]) -> None:
        self.peer = peer
        self.send = send

    def ancestry(self) -> tuple[Process, ...]:
        return ancestry_of(self.peer.pid)


class Permit:
    """What a call that the policy asks about got. `use` is the last look, at the send."""

    def __init__(self, how: str, use: Callable[[Binding], None]) -> None:
        self.how = how
        self.use = use


class _Waiting:
    """A call that waits for its prompt's end."""

    def __init__(self, prompt: Prompt, key: Hashable, asker: Asker, is_current: Callable[[], bool]) -> None:
        self.prompt = prompt
        self.key = key
        self.asker = asker
        self.ancestry = ancestry_of(asker.peer.pid)
        self.is_current = is_current
        self.ended = trio.Event()


class Approver:
    def __init__(
        self,
        *,
        settings: Callable[[], Settings],
        permits: Permits,
        desktop: Desktop,
        journal: Journal,
        activity: Activity,
        limits: Limits,
    ) -> None:
        self._settings = settings
        self._permits = permits
        self._desktop = desktop
        self._journal = journal
        self._activity = activity
        self._limits = limits
        self._approvals = Approvals(
            new_id=lambda: "".join(secrets.choice(_LETTERS) for _ in range(5)),
            new_code=lambda: f"{secrets.randbelow(1_000_000):06}",
            max_pending=limits.pending_approvals,
            always=permits.load(),
        )
        self._waiting: dict[str, _Waiting] = {}
        self._people: set[Person] = set()
        self._changed = Signal()

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Ends prompts whose time is up, until cancelled."""
        task_status.started()
        while True:
            self._changed.clear()
            deadline = self._approvals.next_deadline()
            if deadline is None:
                await self._changed.wait()
            else:
                with trio.move_on_at(min(deadline, trio.current_time() + _TICK_S)):
                    await self._changed.wait()
            for prompt in self._approvals.expire(_now()):
                self._settle(prompt)

    # --- for the dispatcher -----------------------------------------------------------------------

    async def wait_permit(
        self, asker: Asker, key: Hashable, question: Question, is_current: Callable[[], bool]
    ) -> Permit:
        """Waits until somebody approves. `is_current` says whether the tool is still what is shown; `key`
        is what `withdraw` names.

        Raises DENIED (at once where this call was denied to the session before), NO_APPROVER,
        APPROVAL_TIMEOUT, TOOL_CHANGED, or INTERRUPTED where the prompt was withdrawn. Cancelled, it
        withdraws the prompt.
        """
        self._approvals.check_refused(question)
        permit = self._standing_permit(question.binding)
        if permit is not None:
            return permit
        prompt = self._approvals.ask(
            question,
            _now(),
            wait_s=self._settings().approval.wait_s,
            answer_s=self._limits.approval_answer_s,
        )
        waiting = self._waiting[prompt.id] = _Waiting(prompt, key, asker, is_current)
        self._changed.set()
        try:
            self._announce(waiting)
            await waiting.ended.wait()
        finally:
            if self._approvals.withdraw(prompt):
                self._settle(prompt)
            del self._waiting[prompt.id]
        if prompt.state is not PromptState.APPROVED:
            raise Approvals.refusal(prompt)
        return Permit(
            f"approved by {prompt.by}", lambda binding: self._approvals.use(prompt, binding, _now())
        )

    def look_again(self) -> None:
        """Tools, grants or entries changed: a prompt that shows what is no more ends now, its call unsent."""
        for waiting in tuple(self._waiting.values()):
            if not waiting.is_current() and self._approvals.outdate(waiting.prompt):
                self._settle(waiting.prompt)

    def withdraw(self, key: Hashable) -> None:
        """The call under `key` was stopped: nobody needs to answer any more."""
        for waiting in tuple(self._waiting.values()):
            if waiting.key == key and self._approvals.withdraw(waiting.prompt):
                self._settle(waiting.prompt)

    # --- for sessions -----------------------------------------------------------------------------

    def listen(self, asker: Asker) -> None:
        """The session's own user interface answers its prompts from now on."""
        self._approvals.subscribe(asker.session_id, asker.session_id)
        self._changed.set()

    def unlisten(self, asker: Asker) -> None:
        self._stop_listening(asker.session_id)

    @property
    def may_use_forms(self) -> bool:
        return self._settings().approval.elicit

    def close_session(self, asker: Asker) -> None:
        """What was permitted for the session ends with it."""
        for prompt in self._approvals.end_session(asker.session_id):
            self._settle(prompt)
        self._stop_listening(asker.session_id)

    def decide_as(self, asker: Asker, approval: str, answer: Answer) -> Decided:
        """The session answers a prompt of its own. Raises NOT_ALLOWED where its profile does not let it, else
        as `Approvals.decide`."""
        if not asker.may_decide:
            raise ToolsearchdError(
                "NOT_ALLOWED", "this session's profile may not answer approvals; `may_decide: true` lets it"
            )
        waiting = self._waiting.get(approval)
        if waiting is not None and waiting.asker.session_id != asker.session_id:
            raise ToolsearchdError(
                "UNKNOWN_APPROVAL", f"no approval {approval[:64]!r} is pending in this session"
            )
        return self._decide(approval, answer, by=f"{asker.client} {asker.session_id}")

    # --- for people -------------------------------------------------------------------------------

    def answers_for(self, person: Person) -> Mapping[type[messages.ControlRequest], Callable[[Any], Any]]:
        """Message type → what answers it, on this person's connection."""
        return {
            messages.ApprovalsRequest: lambda request: self._list_for(person, request),
            messages.ApproveRequest: lambda request: self._approve_as(person, request),
            messages.DenyRequest: lambda request: self._deny_as(person, request.approval),
        }

    def leave(self, person: Person) -> None:
        """The connection is gone."""
        if person in self._people:
            self._people.discard(person)
            self._stop_listening(person)

    def _list_for(self, person: Person, request: messages.ApprovalsRequest) -> ApprovalsReply:
        if request.approval is not None:
            prompts: tuple[Prompt, ...] = (self._approvals.named(request.approval),)
        else:
            prompts = self._approvals.pending
        if request.watch:
            self._people.add(person)
            self._approvals.subscribe(person)
            self._changed.set()
        whole, left = request.approval is not None, _LISTED_BYTES
        shown = []
        for prompt in prompts:
            size = len(prompt.question.arguments)
            shown.append(self._shown_to(person, self._waiting[prompt.id], whole=whole, fits=size <= left))
            left -= min(size, left)
        standing = [shown_permit(permit) for permit in self._approvals.standing]
        return ApprovalsReply(approvals=shown, standing=standing)

    def _approve_as(self, person: Person, request: messages.ApproveRequest) -> Decided:
        waiting = self._waiting.get(request.approval)
        related = waiting is None or are_related(waiting.ancestry, person.ancestry())
        answer: Answer = "approve" if request.scope == "once" else request.scope
        by = f"toolsearchctl, pid {person.peer.pid}"
        return self._decide(request.approval, answer, by=by, needs_code=related, code=request.code)

    def _deny_as(self, person: Person, approval: str) -> Decided:
        if any(permit.id == approval for permit in self._approvals.standing):
            return self._revoke(approval)
        return self._decide(approval, "deny", by=f"toolsearchctl, pid {person.peer.pid}")

    def _revoke(self, permit_id: str) -> Decided:
        permit = self._approvals.revoke(permit_id)
        try:
            self._permits.keep(self._approvals.always)
        except OSError as error:
            self._approvals.restore(permit)
            raise ToolsearchdError(
                "AUDIT_UNAVAILABLE", f"the permit can't be taken off the disk and stands: {error}"
            ) from error
        return Decided(approval=permit_id, state="revoked", tool=permit.public_name)

    # --- inside -----------------------------------------------------------------------------------

    def _standing_permit(self, binding: Binding) -> Permit | None:
        permit = self._approvals.permit_for(binding)
        self._keep_permits()  # one that is outdated has ended
        if permit is None:
            return None

        def use(bound: Binding) -> None:
            if bound != binding or self._approvals.permit_for(bound) is None:
                raise ToolsearchdError("STALE", f"permit {permit.id} ended before the call could be sent")

        return Permit(f"permit {permit.id} ({'session' if permit.session else 'always'})", use)

    def _decide(self, approval: str, answer: Answer, **how: Any) -> Decided:
        """Ends the prompt and tells everybody; a permit for ever counts only once it is on disk."""
        waiting = self._waiting.get(approval)
        try:
            prompt = self._approvals.decide(
                approval,
                answer,
                _now(),
                is_current=waiting is not None and waiting.is_current(),
                keep=self._permits.keep,
                **how,
            )
        finally:  # a refused answer may have ended the prompt too, and a "deny" those of the same call
            for one in tuple(self._waiting.values()):
                if one.prompt.state is not PromptState.PENDING:
                    self._settle(one.prompt)
        return Decided(approval=prompt.id, state=prompt.state.value, tool=prompt.question.public_name)

    def _settle(self, prompt: Prompt) -> None:
        """The prompt has ended: its call goes on, and who shows it takes it away."""
        waiting = self._waiting.get(prompt.id)
        if waiting is None or waiting.ended.is_set():
            return
        waiting.ended.set()
        self._changed.set()
        ended = ApprovalEnded(approval=prompt.id, state=prompt.state.value, by=prompt.by)
        self._tell(waiting, lambda _person: ended)
        self._publish(waiting, prompt.state.value)
        self._journal.record("approval", self._told(waiting) | {"state": prompt.state.value, "by": prompt.by})

    def _announce(self, waiting: _Waiting) -> None:
        self._publish(waiting, "pending")
        self._tell(waiting, lambda person: ApprovalRequested(**self._shown_to(person, waiting).members()))
        if self._settings().approval.notify:
            self._desktop.show(notice(waiting.prompt))

    def _tell(self, waiting: _Waiting, event_for: Callable[[Person | None], Event]) -> None:
        for person in tuple(self._people):
            with guarded("telling a person of an approval"):
                person.send(event_for(person))
        with guarded("telling a session of its approval"):
            waiting.asker.notify(event_for(None))

    def _shown_to(
        self, person: Person | None, waiting: _Waiting, *, whole: bool = False, fits: bool = True
    ) -> ShownPrompt:
        """The prompt as a person sees it, or (None) the session itself. The code is for those who do not need
        it: to be read there and typed where it is needed."""
        for_whom: dict[str, Any] = {}
        if person is not None:
            related = are_related(waiting.ancestry, person.ancestry())
            for_whom = {"needs_code": True} if related else {"needs_code": False, "code": waiting.prompt.code}
        return shown_prompt(
            waiting.prompt,
            pid=waiting.asker.peer.pid,
            pending=self._approvals.count_pending(waiting.asker.session_id),
            whole=whole,
            fits=fits,
            **for_whom,
        )

    def _publish(self, waiting: _Waiting, state: str) -> None:
        self._activity.publish("approval", **self._told(waiting), state=state)

    def _told(self, waiting: _Waiting) -> dict[str, Any]:
        """What the feed and the journal say of a prompt."""
        return {
            "session": waiting.asker.session_id,
            "client": waiting.asker.client,
            "tool": waiting.prompt.question.public_name,
            "approval": waiting.prompt.id,
            "rule": waiting.prompt.question.rule,
        }

    def _stop_listening(self, key: Hashable) -> None:
        self._approvals.unsubscribe(key, _now(), wait_s=self._settings().approval.wait_s)
        self._changed.set()

    def _keep_permits(self) -> None:
        try:
            self._permits.keep(self._approvals.always)
        except OSError as error:  # what it still says on disk is of a tool that is not there any more
            log.error("an ended permit can't be taken off the disk: %s", error)


def _now() -> Now:
    return Now(trio.current_time(), time.time())
