"""Approvals as a state machine: an approval lets exactly the bytes pass that were shown, once, in time."""

import os

import msgspec
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule

from toolsearchd.dispatch.approvals import Approvals
from toolsearchd.dispatch.prompt import Binding, Now, PromptState, Question, arguments_digest
from toolsearchd.errors import ToolsearchdError

STEPS = int(os.environ.get("TOOLSEARCHD_PROPERTY_STEPS", "5000"))
SESSIONS = ("s1", "s2")
CAP = 3
WAIT_S, ANSWER_S = 5.0, 20.0
CHANGES = ("session", "server_digest", "tool_digest", "arguments_digest", "tool", "server")


def refusal(call, *args, **more):
    """What it raises, None where it passes."""
    try:
        call(*args, **more)
    except ToolsearchdError as error:
        return error.code
    return None


class ApprovalMachine(RuleBasedStateMachine):
    """The model knows: which bytes each prompt showed, what was decided in time, what was let through."""

    prompts = Bundle("prompts")

    def __init__(self):
        super().__init__()
        self.now = Now(1000.0, 2_000_000.0)
        self.numbers = iter(range(10**9))
        self.approvals = Approvals(
            new_id=lambda: f"a{next(self.numbers)}", new_code=lambda: "123456", max_pending=CAP
        )
        self.listening = set()
        self.shown = {}  # prompt → (binding, last moment by either clock)
        self.approved = set()
        self.refused = set()
        self.passed = set()

    # --- what happens -----------------------------------------------------------------------------

    @rule(
        target=prompts,
        session=st.sampled_from(SESSIONS),
        digest=st.sampled_from("ab"),
        sent=st.sampled_from((b"{}", b'{"a":1}', b'{"a":2}')),
    )
    def ask(self, session, digest, sent):
        binding = Binding(
            session=session,
            server="srv",
            server_digest=digest,
            tool="t",
            tool_digest=digest,
            arguments_digest=arguments_digest(sent),
        )
        question = Question(
            binding=binding, arguments=sent, public_name="t", client="c", profile="p", rule="r"
        )
        waiting = [p for p in self.approvals.pending if p.question.binding.session == session]
        try:
            prompt = self.approvals.ask(question, self.now, wait_s=WAIT_S, answer_s=ANSWER_S)
        except ToolsearchdError as error:
            assert (error.code, error.fields["reason"]) == ("DENIED", "too_many")
            assert len(waiting) == CAP
            return None
        assert len(waiting) < CAP
        self.shown[prompt] = (binding, Now(self.now.mono + ANSWER_S, self.now.wall + ANSWER_S))
        return prompt

    @rule(
        prompt=prompts,
        answer=st.sampled_from(("approve", "session", "always", "deny")),
        code=st.sampled_from(("123456", "000000", None)),
        needs_code=st.booleans(),
        is_current=st.booleans(),
    )
    def decide(self, prompt, answer, code, needs_code, is_current):
        if prompt is None:
            return
        was_pending = prompt.state is PromptState.PENDING
        in_time = self.is_in_time(prompt) and self.now.mono < prompt.deadline
        error = refusal(
            self.approvals.decide,
            prompt.id,
            answer,
            self.now,
            by="x",
            is_current=is_current,
            needs_code=needs_code,
            code=code,
        )
        if error is None:
            assert was_pending
            assert in_time
            if answer == "deny":
                self.refused.add(prompt)
            else:
                assert is_current
                assert code == "123456" or (code is None and not needs_code)
                self.approved.add(prompt)
        else:
            assert prompt.state is not PromptState.APPROVED or prompt in self.approved

    @rule(prompt=prompts, changed=st.none() | st.sampled_from(CHANGES))
    def use(self, prompt, changed):
        if prompt is None:
            return
        shown, _ = self.shown[prompt]
        sent = shown if changed is None else msgspec.structs.replace(shown, **{changed: "something else"})
        passes = refusal(self.approvals.use, prompt, sent, self.now) is None
        should = (
            prompt in self.approved
            and prompt not in self.passed
            and sent == shown
            and self.is_in_time(prompt)
            and prompt not in self.refused
        )
        assert passes == should
        if passes:
            self.passed.add(prompt)
        elif prompt in self.approved:
            self.refused.add(prompt)  # one look that fails ends it

    @rule(prompt=prompts)
    def withdraw(self, prompt):
        if prompt is None:
            return
        was_pending = prompt.state is PromptState.PENDING
        assert self.approvals.withdraw(prompt) == was_pending
        if was_pending:
            self.refused.add(prompt)

    @rule(session=st.sampled_from(SESSIONS))
    def end_session(self, session):
        self.refused |= set(self.approvals.end_session(session))
        assert self.approvals.count_pending(session) == 0
        assert all(permit.session != session for permit in self.approvals.standing)

    @rule(key=st.integers(0, 2), session=st.none() | st.sampled_from(SESSIONS))
    def subscribe(self, key, session):
        self.listening.add((key, session))
        self.approvals.subscribe((key, session), session)

    @rule(key=st.integers(0, 2), session=st.none() | st.sampled_from(SESSIONS))
    def unsubscribe(self, key, session):
        self.listening.discard((key, session))
        self.approvals.unsubscribe((key, session), self.now, wait_s=WAIT_S)

    @rule(mono=st.floats(0, 12), jump=st.sampled_from((0.0, 0.0, 3600.0, -3600.0)))
    def time_passes(self, mono, jump):
        self.now = Now(self.now.mono + mono, self.now.wall + mono + jump)
        pending = set(self.approvals.pending)
        ended = set(self.approvals.expire(self.now))
        assert ended <= pending
        for prompt in pending - ended:
            assert self.is_in_time(prompt)
        for prompt in ended:
            heard = self.is_heard(prompt)
            assert prompt.state is (PromptState.UNANSWERED if heard else PromptState.UNHEARD)
            if heard and jump == 0:  # with somebody there it had its five minutes
                assert not self.is_in_time(prompt)

    @rule(
        binding_of=prompts,
        other_arguments=st.booleans(),
        other_tool=st.booleans(),
        other_session=st.booleans(),
    )
    def stands(self, binding_of, other_arguments, other_tool, other_session):
        if binding_of is None:
            return
        binding, _ = self.shown[binding_of]
        if other_arguments:
            binding = msgspec.structs.replace(binding, arguments_digest="other")
        if other_tool:
            binding = msgspec.structs.replace(binding, tool_digest="other")
        if other_session:
            binding = msgspec.structs.replace(binding, session="s3")
        permit = self.approvals.permit_for(binding)
        if permit is not None:
            assert permit.session in ("", binding.session)
            assert (permit.tool_digest, permit.server_digest) == (binding.tool_digest, binding.server_digest)
        # The same tool under another digest ends what was permitted for it as it was.
        for standing in self.approvals.standing:
            assert (standing.tool_digest, standing.server_digest) == (
                binding.tool_digest,
                binding.server_digest,
            )

    # --- what holds -------------------------------------------------------------------------------

    def is_in_time(self, prompt):
        _, last = self.shown[prompt]
        return self.now.mono < last.mono and self.now.wall < last.wall

    def is_heard(self, prompt):
        session = prompt.question.binding.session
        return any(heard in (None, session) for _, heard in self.listening)

    @invariant()
    def what_passed_was_approved_and_shown(self):
        for prompt in self.passed:
            assert prompt in self.approved
            assert prompt.state is PromptState.USED
            assert prompt.question.binding == self.shown[prompt][0]
        for prompt in self.approvals.pending:  # while it can be shown, it shows the bytes that it is bound to
            assert prompt.question.binding.arguments_digest == arguments_digest(prompt.question.arguments)

    @invariant()
    def what_has_ended_holds_no_arguments(self):
        assert not any(prompt.question.arguments for prompt in self.approvals._ended)

    @invariant()
    def pending_ones_wait_and_are_few(self):
        pending = self.approvals.pending
        assert all(prompt.state is PromptState.PENDING for prompt in pending)
        assert not set(pending) & (self.approved | self.refused)
        assert all(self.approvals.count_pending(session) <= CAP for session in SESSIONS)
        assert self.approvals.next_deadline() == min((p.deadline for p in pending), default=None)
        assert all(prompt.heard == self.is_heard(prompt) for prompt in pending)


ApprovalMachine.TestCase.settings = settings(max_examples=STEPS // 50, stateful_step_count=50, deadline=None)
TestApprovals = ApprovalMachine.TestCase


def test_wrong_codes_end_the_prompt():
    machine = ApprovalMachine()
    prompt = machine.ask("s1", "a", b"{}")
    for _ in range(5):
        with pytest.raises(ToolsearchdError) as caught:
            machine.approvals.decide(prompt.id, "approve", machine.now, by="x", needs_code=True, code="1")
        assert caught.value.code == "NOT_ALLOWED"
    assert prompt.state is PromptState.DENIED
    assert refusal(machine.approvals.decide, prompt.id, "approve", machine.now, by="x") == "STALE"
