"""Approvals: a pure state machine over prompts. Who may say yes to which bytes, until when, and how often.

    PENDING ──approve──▶ APPROVED ──use──▶ USED      `use` compares what is about to be sent, and is once
       ├──deny─────▶ DENIED
       ├──withdraw─▶ WITHDRAWN                       a stop, or the session's end
       ├──expire───▶ UNHEARD (nobody could hear it) or UNANSWERED (somebody could)
       └──decide───▶ CHANGED                         the tool or its server is another one by now

Invariants: a prompt leaves PENDING once; what `use` lets pass has the session, server, tool and arguments
that the prompt showed, within its time, once. A standing permit ("session", "always") is bound to the
server's and the tool's digest and is gone when either changes. What was denied is not asked for again: the
same call of the same session is refused at once, whatever was permitted since.
"""

from __future__ import annotations

import hmac
from collections import deque
from collections.abc import Callable, Hashable, Iterable
from typing import Literal

import msgspec

from toolsearchd.dispatch.prompt import Binding, Now, Prompt, PromptState, Question, StandingPermit
from toolsearchd.errors import Code, ToolsearchdError

Answer = Literal["approve", "session", "always", "deny"]

_REMEMBERED = 256  # ended prompts, so that a second answer is told what the first one was
_REFUSALS = 256  # of one session, each of some 100 bytes; of more the oldest is asked for again
_MAX_WRONG_CODES = 5  # of a million: a guess in 200,000 before the prompt is refused


class Approvals:
    """All prompts and standing permits of a daemon.

    `new_id` and `new_code` make short texts that can't be foreseen; an id is asked for again while it is
    taken. `max_pending`: prompts that one session may have waiting.
    """

    def __init__(
        self,
        *,
        new_id: Callable[[], str],
        new_code: Callable[[], str],
        max_pending: int,
        always: Iterable[StandingPermit] = (),
    ) -> None:
        self._new_id = new_id
        self._new_code = new_code
        self._max_pending = max_pending
        self._pending: dict[str, Prompt] = {}
        self._ended: deque[Prompt] = deque(maxlen=_REMEMBERED)
        self._standing = {permit.id: permit for permit in always}
        self._subscribers: dict[Hashable, str | None] = {}
        self._refused: dict[str, dict[Binding, str]] = {}  # by session: what was denied, and by whom

    # --- asking ---------------------------------------------------------------------------------

    def permit_for(self, binding: Binding) -> StandingPermit | None:
        """The standing permit that covers it. Permits for the tool as it no longer is end here."""
        for permit in tuple(self._standing.values()):
            if permit.is_outdated_by(binding):
                del self._standing[permit.id]
        return next((permit for permit in self._standing.values() if permit.covers(binding)), None)

    def check_refused(self, question: Question) -> None:
        """Raises DENIED where this very call was denied to the session before."""
        refused = self._refused.get(question.binding.session)
        by = refused.get(question.call) if refused else None
        if by is not None:
            raise ToolsearchdError(
                "DENIED",
                f"{question.public_name} with these arguments was refused by {by} before, for as long as the "
                f"session lasts; a rule under approval.rules can allow it; nothing was sent",
                reason="refused_before",
            )

    def ask(self, question: Question, now: Now, *, wait_s: float, answer_s: float) -> Prompt:
        """A new prompt, pending for `wait_s` while nobody listens and `answer_s` while somebody does.

        Raises DENIED where the session has too many pending.
        """
        session = question.binding.session
        pending = self.count_pending(session)
        if pending >= self._max_pending:
            raise ToolsearchdError(
                "DENIED",
                f"{pending} calls of this session wait for an approval already; answer or stop those first",
                reason="too_many",
            )
        prompt = Prompt(self._free_id(), self._new_code(), question, now, max(wait_s, answer_s))
        prompt.heard = self._is_heard(prompt)
        prompt.deadline = now.mono + (prompt.lasts_s if prompt.heard else wait_s)
        self._pending[prompt.id] = prompt
        return prompt

    def use(self, prompt: Prompt, binding: Binding, now: Now) -> None:
        """The last look before the send: passes once, for what the prompt showed. Raises TOOL_CHANGED or
        STALE, and then nothing may be sent."""
        if prompt.state is not PromptState.APPROVED:
            raise ToolsearchdError("STALE", f"approval {prompt.id} is {prompt.state.value}; call again")
        if binding != prompt.question.binding:
            self._end(prompt, PromptState.CHANGED)
            raise self.refusal(prompt)
        if prompt.is_over(now):
            self._end(prompt, PromptState.UNANSWERED)
            raise ToolsearchdError("STALE", f"approval {prompt.id} expired before the call could be sent")
        prompt.state = PromptState.USED

    # --- answering ------------------------------------------------------------------------------

    def decide(
        self,
        prompt_id: str,
        answer: Answer,
        now: Now,
        *,
        by: str,
        is_current: bool = True,
        needs_code: bool = False,
        code: str | None = None,
        keep: Callable[[tuple[StandingPermit, ...]], None] = lambda _always: None,
    ) -> Prompt:
        """The first answer decides; "deny" for all prompts of the same call too. `is_current`: the tool is
        what the prompt showed. `keep` puts permits for ever on disk, or raises OSError.

        Raises UNKNOWN_APPROVAL; STALE for one that has ended, with how; NOT_ALLOWED for a missing or wrong
        code where one is needed (after too many wrong ones the prompt is denied); AUDIT_UNAVAILABLE where a
        permit for ever can't be kept: then nothing was decided.
        """
        prompt = self._pending.get(prompt_id)
        if prompt is None:
            raise self._ended_error(prompt_id)
        if prompt.is_over(now) or now.mono >= prompt.deadline:
            self._end(prompt, PromptState.UNANSWERED if prompt.heard else PromptState.UNHEARD)
            raise self._ended_error(prompt_id)
        if answer == "deny":
            self._refuse(prompt.call, by)
            return prompt
        if needs_code or code is not None:
            self._check_code(prompt, code, by)
        if not is_current:
            self._end(prompt, PromptState.CHANGED)
            raise self._ended_error(prompt_id)
        if answer != "approve":
            session = prompt.question.binding.session if answer == "session" else ""
            self._stand(prompt.question, now, session, keep)
        self._end(prompt, PromptState.APPROVED, by=by)
        return prompt

    def outdate(self, prompt: Prompt) -> bool:
        """What the prompt shows is no more. False where it had ended."""
        if prompt.state is not PromptState.PENDING:
            return False
        self._end(prompt, PromptState.CHANGED)
        return True

    def withdraw(self, prompt: Prompt) -> bool:
        """The call is not wanted any more. False where the prompt had ended."""
        if prompt.state is not PromptState.PENDING:
            return False
        self._end(prompt, PromptState.WITHDRAWN)
        return True

    def expire(self, now: Now) -> list[Prompt]:
        """The prompts whose time is up, ended."""
        over = [p for p in self._pending.values() if now.mono >= p.deadline or p.is_over(now)]
        for prompt in over:
            self._end(prompt, PromptState.UNANSWERED if prompt.heard else PromptState.UNHEARD)
        return over

    def revoke(self, permit_id: str) -> StandingPermit:
        """Ends a standing permit. Raises UNKNOWN_APPROVAL."""
        permit = self._standing.pop(permit_id, None)
        if permit is None:
            raise self._ended_error(permit_id)
        return permit

    def restore(self, permit: StandingPermit) -> None:
        """Takes back a `revoke`."""
        self._standing[permit.id] = permit

    def end_session(self, session: str) -> list[Prompt]:
        """Its permits end, its prompts are withdrawn; those are returned."""
        self._standing = {k: p for k, p in self._standing.items() if p.session != session}
        self._refused.pop(session, None)
        withdrawn = [p for p in self._pending.values() if p.question.binding.session == session]
        for prompt in withdrawn:
            self._end(prompt, PromptState.WITHDRAWN)
        return withdrawn

    # --- listening ------------------------------------------------------------------------------

    def subscribe(self, key: Hashable, session: str | None = None) -> None:
        """Somebody who can answer listens: to all prompts, or to those of one session (for one key always
        the same)."""
        self._subscribers[key] = session
        for prompt in self._pending.values():
            if not prompt.heard and self._is_heard(prompt):
                prompt.heard = True
                prompt.deadline = prompt.asked.mono + prompt.lasts_s

    def unsubscribe(self, key: Hashable, now: Now, *, wait_s: float) -> None:
        """… and listens no more: what nobody hears now has `wait_s` left, or less."""
        self._subscribers.pop(key, None)
        for prompt in self._pending.values():
            if prompt.heard and not self._is_heard(prompt):
                prompt.heard = False
                prompt.deadline = min(prompt.deadline, now.mono + wait_s)

    # --- looking --------------------------------------------------------------------------------

    @property
    def pending(self) -> tuple[Prompt, ...]:
        """Oldest first."""
        return tuple(self._pending.values())

    @property
    def standing(self) -> tuple[StandingPermit, ...]:
        return tuple(self._standing.values())

    @property
    def always(self) -> tuple[StandingPermit, ...]:
        """What belongs on disk."""
        return tuple(permit for permit in self._standing.values() if not permit.session)

    def count_pending(self, session: str) -> int:
        return sum(prompt.question.binding.session == session for prompt in self._pending.values())

    def named(self, prompt_id: str) -> Prompt:
        """A pending prompt. Raises UNKNOWN_APPROVAL, or STALE with how it ended."""
        if prompt_id not in self._pending:
            raise self._ended_error(prompt_id)
        return self._pending[prompt_id]

    def next_deadline(self) -> float | None:
        """Monotonic; None while nothing waits."""
        return min((prompt.deadline for prompt in self._pending.values()), default=None)

    @staticmethod
    def refusal(prompt: Prompt) -> ToolsearchdError:
        """What the entry of a prompt that ended without approval is told."""
        name, asked_s = prompt.question.public_name, round(prompt.deadline - prompt.asked.mono)
        needs = f"{name} needs an approval ({prompt.question.rule})"
        code: Code
        match prompt.state:
            case PromptState.DENIED:
                why = f" ({prompt.why})" if prompt.why else ""
                code, message = "DENIED", f"{name} was refused by {prompt.by}{why}; nothing was sent"
            case PromptState.UNHEARD:
                code, message = (
                    "NO_APPROVER",
                    f"{needs} and nobody answered within {asked_s} s; keep `toolsearchctl approvals --watch` "
                    f"open and call again, or allow it by a rule under approval.rules; nothing was sent",
                )
            case PromptState.UNANSWERED:
                code, message = "APPROVAL_TIMEOUT", f"{needs} and got no answer in time; nothing was sent"
            case PromptState.CHANGED:
                code, message = (
                    "TOOL_CHANGED",
                    f"{name} or its server changed while its approval was asked for; describe it again, "
                    f"then call; nothing was sent",
                )
            case _:
                code, message = (
                    "INTERRUPTED",
                    f"the approval of {name} was withdrawn; nothing was sent",
                )
        return ToolsearchdError(code, message, approval=prompt.id, prompt=prompt.state.value)

    # --- inside ---------------------------------------------------------------------------------

    def _is_heard(self, prompt: Prompt) -> bool:
        session = prompt.question.binding.session
        return any(heard in (None, session) for heard in self._subscribers.values())

    def _end(self, prompt: Prompt, state: PromptState, *, by: str = "", why: str = "") -> None:
        self._pending.pop(prompt.id, None)
        prompt.state, prompt.by, prompt.why = state, by, why
        # Who may have had it shown has the bytes; of what has ended, the digests tell which it was.
        prompt.question = msgspec.structs.replace(prompt.question, arguments=b"")
        if prompt not in self._ended:
            self._ended.append(prompt)

    def _refuse(self, call: Binding, by: str) -> None:
        """Ends all that asks for this call, now and later in its session."""
        refused = self._refused.setdefault(call.session, {})
        refused[call] = by
        if len(refused) > _REFUSALS:
            del refused[next(iter(refused))]
        for prompt in [p for p in self._pending.values() if p.call == call]:
            self._end(prompt, PromptState.DENIED, by=by)

    def _stand(
        self,
        question: Question,
        now: Now,
        session: str,
        keep: Callable[[tuple[StandingPermit, ...]], None],
    ) -> None:
        permit = StandingPermit(
            id=self._free_id(),
            server=question.binding.server,
            server_digest=question.binding.server_digest,
            tool=question.binding.tool,
            tool_digest=question.binding.tool_digest,
            public_name=question.public_name,
            given_at=now.wall,
            session=session,
        )
        if not session:
            try:
                keep((*self.always, permit))
            except OSError as error:
                raise ToolsearchdError(
                    "AUDIT_UNAVAILABLE", f"the permit can't be kept ({error}); approve this call alone"
                ) from error
        self._standing[permit.id] = permit

    def _check_code(self, prompt: Prompt, code: str | None, by: str) -> None:
        if code is not None and hmac.compare_digest(code.encode(), prompt.code.encode()):
            return
        if code is None:
            raise ToolsearchdError(
                "NOT_ALLOWED",
                f"this process and the one that asks have an ancestor in common: approving {prompt.id} from "
                f"here takes the code that the notification, or `toolsearchctl approvals` in a terminal of "
                f"another login, shows (--code)",
                reason="code_needed",
            )
        prompt.wrong_codes += 1
        left = _MAX_WRONG_CODES - prompt.wrong_codes
        if left <= 0:
            self._end(prompt, PromptState.DENIED, by=by, why="too many wrong codes")
        raise ToolsearchdError(
            "NOT_ALLOWED", f"not the code of {prompt.id}; {max(left, 0)} tries are left", reason="wrong_code"
        )

    def _free_id(self) -> str:
        taken = {*self._pending, *self._standing, *(prompt.id for prompt in self._ended)}
        while (new := self._new_id()) in taken:
            pass
        return new

    def _ended_error(self, prompt_id: str) -> ToolsearchdError:
        ended = next((prompt for prompt in self._ended if prompt.id == prompt_id), None)
        if ended is None:
            return ToolsearchdError(
                "UNKNOWN_APPROVAL",
                f"no approval {prompt_id[:64]!r} is pending; `toolsearchctl approvals` lists them",
            )
        by = f" by {ended.by}" if ended.by else ""
        return ToolsearchdError(
            "STALE",
            f"approval {prompt_id} has ended: {ended.state.value}{by}; a new call asks anew",
            state=ended.state.value,
        )
