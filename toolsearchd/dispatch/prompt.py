"""What a person is asked, and what their answer is good for. How these change is `Approvals`' word.

Times are numbers that the caller gives: monotonic seconds for every deadline, and the wall clock beside them,
because that is what people were shown.
"""

from __future__ import annotations

from enum import Enum
from hashlib import blake2b
from typing import NamedTuple

import msgspec


class Now(NamedTuple):
    mono: float  # seconds, monotonic
    wall: float  # seconds since the epoch


class Binding(msgspec.Struct, frozen=True, kw_only=True):
    """What an approval is for. Equal bindings send equal bytes to the same tool of the same server."""

    session: str
    server: str
    server_digest: str
    tool: str  # its own name
    tool_digest: str
    arguments_digest: str


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """What a prompt shows. `arguments` is the JSON text that would be sent, byte for byte."""

    binding: Binding
    arguments: bytes
    public_name: str
    client: str
    profile: str
    rule: str  # which word of the policy asks

    @property
    def call(self) -> Binding:
        """The call, in whatever order its arguments stand: what a "deny" is remembered for. It goes
        through all of them."""
        ordered = msgspec.json.encode(msgspec.json.decode(self.arguments), order="sorted")
        return msgspec.structs.replace(self.binding, arguments_digest=arguments_digest(ordered))


def arguments_digest(arguments: bytes) -> str:
    return blake2b(arguments, digest_size=32).hexdigest()


class PromptState(Enum):
    PENDING = "pending"
    APPROVED = "approved"
    USED = "used"
    DENIED = "denied"
    WITHDRAWN = "withdrawn"
    UNHEARD = "unheard"
    UNANSWERED = "unanswered"
    CHANGED = "changed"


class Prompt:
    """Changed by `Approvals` alone."""

    __slots__ = (
        "asked",
        "by",
        "call",
        "code",
        "deadline",
        "heard",
        "id",
        "lasts_s",
        "question",
        "state",
        "why",
        "wrong_codes",
    )

    def __init__(self, prompt_id: str, code: str, question: Question, asked: Now, lasts_s: float) -> None:
        self.id = prompt_id
        self.code = code  # proves that a terminal or notification was read
        self.question = question
        self.call = question.call
        self.asked = asked
        self.lasts_s = lasts_s  # the longest that it may live, whoever listens
        self.deadline = asked.mono
        self.heard = False
        self.state = PromptState.PENDING
        self.by = ""  # who decided
        self.why = ""
        self.wrong_codes = 0

    @property
    def expires_wall(self) -> float:
        return self.asked.wall + self.lasts_s

    def is_over(self, now: Now) -> bool:
        """Past its time by either clock: a suspended machine's monotonic clock stands still."""
        return now.mono >= self.asked.mono + self.lasts_s or now.wall >= self.expires_wall


class StandingPermit(msgspec.Struct, frozen=True, kw_only=True):
    """A permit that outlives its prompt. Kept on disk where `session` is empty ("always")."""

    id: str
    server: str
    server_digest: str
    tool: str
    tool_digest: str
    public_name: str
    given_at: float  # wall clock
    session: str = ""

    def covers(self, binding: Binding) -> bool:
        return self.session in ("", binding.session) and (
            (self.server, self.server_digest, self.tool, self.tool_digest)
            == (binding.server, binding.server_digest, binding.tool, binding.tool_digest)
        )

    def is_outdated_by(self, binding: Binding) -> bool:
        """The same tool by name, and another one by digest."""
        return (self.server, self.tool) == (binding.server, binding.tool) and (
            (self.server_digest, self.tool_digest) != (binding.server_digest, binding.tool_digest)
        )
