"""An agent of the soak run: a thread that asks at random over raw connections and writes down the replies."""

from __future__ import annotations

import json
import random
import select
import threading
import time
from collections.abc import Callable, Sequence

from tests.soak.history import Entry, Request
from tests.soak.world import greeted

OPEN_AT_MOST = 8
PATIENCE_S = 60.0  # where nothing at all has come for so long, nothing will
WORDS = "record nonce ledger echo look peek send flood garbage text".split()
OPS = {"call": 30, "search": 20, "describe": 6, "stop": 2, "ping": 4, "assemble": 2, "hang up": 1}
SOON = ("call",) * 8 + ("search",) * 8 + ("stop",)
ODD_VALUES = ('"\\ud800"', str(2**70), "1e999", "NaN", '{"\\udfff": 1}', "[" * 300 + "]" * 300)
HOWS = {"answer": 40, "fail": 3, "silent": 1, "die": 1}


class Agent(threading.Thread):
    """Asks until `until_s` (monotonic), waits for the replies, hangs up. `history` is whole after `join`."""

    def __init__(self, daemon, number: int, seed: int, until_s: float, servers: Sequence[tuple[str, str]]):
        """`servers`: (name, tool) of those to call; a tool `record` stands for a ledger's."""
        super().__init__(name=f"agent-{number}", daemon=True)
        self.history: list[Request] = []
        self.failure: BaseException | None = None
        self._daemon = daemon
        self._chance = random.Random(f"{seed} {number}")
        self._until_s = until_s
        self._servers = servers
        self._open: dict[int, Request] = {}
        self._ids = 0
        self._connect()

    def run(self) -> None:
        try:
            while time.monotonic() < self._until_s:
                self._turn()
            self._wait(lambda: not self._open)
            self._wire.close()
        except BaseException as error:
            self.failure = error
            raise

    def _connect(self) -> None:
        self._wire = greeted(self._daemon, client=self.name, context_length=200_000)
        self._session = self._wire.welcome["session"]

    def _turn(self) -> None:
        (op,) = self._chance.choices(list(OPS), OPS.values())
        if op == "hang up":
            self._hang_up()
            return
        messages = [self._message(op)]
        while self._chance.random() < 0.3:  # several in one segment
            messages.append(self._message(self._chance.choice(SOON)))
        self._wire.send(*messages)
        self._take(self._chance.choice((0, 0, 0.05, 0.2)))
        self._wait(lambda: len(self._open) <= OPEN_AT_MOST)

    def _message(self, op: str) -> dict:
        self._ids += 1
        message, entries = {"op": op, "id": self._ids}, []
        if op == "search":
            message["queries"] = [
                f"{' '.join(self._chance.sample(WORDS, 2))} {self._nonce('q')}"
                for _ in range(self._chance.randint(1, 4))
            ]
        elif op == "describe":
            tools = {f"mcp__{name}__{tool}" for name, tool in self._servers} | {"mcp__nobody__nothing"}
            message["names"] = self._chance.sample(sorted(tools), 3)
        elif op == "call":
            entries = self._fill(message)
        elif op == "stop" and self._open and self._chance.random() < 0.7:
            message["batch"] = self._chance.choice(list(self._open))
        request = Request(self._session, self._ids, op, time.monotonic_ns(), message, entries=entries)
        self.history.append(request)
        self._open[self._ids] = request
        return message

    def _fill(self, message: dict) -> list[Entry]:
        calls, entries = [], []
        for at in range(self._chance.choice((1, 1, 1, 2, 4, 8))):
            name, tool = self._chance.choice(self._servers)
            nonce = ""
            arguments: dict | str = {}
            if tool == "record":
                tool = self._chance.choice(("record", "record", "peek"))
                nonce = self._nonce(str(at))
                (how,) = self._chance.choices(list(HOWS), HOWS.values())
                arguments = {"nonce": nonce, "how": how, "s": self._chance.choice((0, 0, 0.01, 0.1, 0.5))}
            if self._chance.random() < 0.03:  # as models write them: JSON in a text
                odd = self._chance.choice(ODD_VALUES)
                arguments = json.dumps(arguments)[:-1] + (", " if arguments else "") + f'"odd": {odd}}}'
            calls.append({"name": f"mcp__{name}__{tool}", "arguments": arguments})
            entries.append(Entry(calls[-1]["name"], nonce, 2 if tool == "peek" else 1))
        message["calls"] = calls
        return entries

    def _nonce(self, at: str) -> str:
        return f"{self._session}-{self._ids}-{at}-{self._chance.getrandbits(32):08x}"

    def _hang_up(self) -> None:
        for request in self._open.values():
            request.was_dropped = True
        self._open.clear()
        self._wire.close()
        self._connect()

    def _wait(self, reached: Callable[[], bool]) -> None:
        """Takes replies until `reached()`. Where none comes any more, the open requests are left without."""
        deadline = time.monotonic() + PATIENCE_S
        while not reached():
            if self._take(0.2):
                deadline = time.monotonic() + PATIENCE_S
            elif time.monotonic() > deadline:
                self._open.clear()

    def _take(self, within_s: float) -> int:
        """How many replies there were, waiting so long for the first of them."""
        count = 0
        while select.select([self._wire.sock], [], [], within_s)[0]:
            replies = [reply for reply in self._wire.recv_ready() if "id" in reply]
            for reply in replies:
                self._note(reply)
            count += len(replies)
            within_s = 0
        return count

    def _note(self, reply: dict) -> None:
        self._open.pop(reply["id"], None)
        known = [r for r in reversed(self.history[-1000:]) if r.session == self._session]
        (request,) = [r for r in known if r.number == reply["id"]]
        request.replies.append(reply)
        request.replied_ns = time.monotonic_ns()
