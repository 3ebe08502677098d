"""What agents asked and were told, what servers did, and whether the two can both be true.

Pure: `violations` takes a finished history and the ledger that the servers wrote (tests/servers/ledger.py).
Times are of CLOCK_MONOTONIC, nanoseconds, taken before a request is sent and after its reply was read.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import msgspec

# Says that nothing reached the server.
NOT_SENT = frozenset(
    (
        *("INTERRUPTED", "SERVER_UNAVAILABLE", "TOOL_NOT_FOUND", "TOOL_CHANGED", "INVALID_ARGUMENTS"),
        *("BAD_ARGUMENTS", "BUSY", "QUEUE_FULL", "DUPLICATE_ID", "TOO_MANY", "DENIED", "NO_APPROVER"),
        *("APPROVAL_TIMEOUT", "STALE", "AUDIT_UNAVAILABLE"),
    )
)
# Says that the server had the call and something else came of it than its result.
SENT = frozenset(("TOOL_ERROR", "INDETERMINATE", "SERVER_ERROR", "BAD_RESULT", "RESULT_TOO_LARGE"))


class Entry(msgspec.Struct):
    """One call of a batch. `nonce` is empty where its server keeps no ledger."""

    name: str
    nonce: str = ""
    sends: int = 1  # how often it may reach a server: a call that only reads may be sent once more


class Request(msgspec.Struct):
    """One request of an agent's connection, and what came back: more than one reply only by fault."""

    session: str
    number: int  # its id
    op: str
    invoked_ns: int
    message: dict[str, Any]
    entries: list[Entry] = []
    replies: list[dict[str, Any]] = []
    replied_ns: int = 0
    was_dropped: bool = False  # the agent hung up before the reply

    def line(self) -> str:
        """For people."""
        outcome = [
            f"error {reply['code']}" if reply["op"] == "error" else _slots(reply) for reply in self.replies
        ]
        dropped = ", hung up" if self.was_dropped else ""
        took = f"{(self.replied_ns - self.invoked_ns) / 1e6:.1f} ms" if self.replies else "-"
        nonces = " ".join(entry.nonce or entry.name for entry in self.entries)
        what = nonces or str({k: v for k, v in self.message.items() if k not in ("op", "id")})[:100]
        return (
            f"{self.invoked_ns / 1e9:.4f} {self.session} {self.op}#{self.number} {what}"
            f" -> {'; '.join(outcome) or 'no reply'} ({took}{dropped})"
        )


def _slots(reply: dict[str, Any]) -> str:
    if "results" in reply and "total_count" in reply:
        return " ".join(slot.get("error", {}).get("code", "ok") for slot in reply["results"])
    if "interrupted" in reply:
        return f"interrupted {reply['interrupted']}, running {reply['running']}"
    return "ok"


class Violation(NamedTuple):
    what: str
    about: tuple[Request, ...]  # the requests concerned


class Done(NamedTuple):
    """A line of the ledger."""

    pid: int
    nonce: str


class Forbidden(NamedTuple):
    """Between the two moments no call of the tool may be sent, whatever becomes of the files meanwhile."""

    tool: str  # public name
    since_ns: int
    until_ns: int


def violations(
    history: Iterable[Request], ledger: Iterable[Done], forbidden: Iterable[Forbidden] = ()
) -> list[Violation]:
    """Everything in which the history contradicts itself or the ledger. Requests in the order of sending."""
    requests, done = list(history), list(ledger)
    times = Counter(line.nonce for line in done)
    found: list[Violation] = []
    for request in requests:
        found += _replies(request)
        if request.op == "call" and len(request.replies) == 1:
            found += _slots_of(request, times)
        elif request.op in _ANSWERS and request.replies and request.replies[0]["op"] == "result":
            found += _ANSWERS[request.op](request, request.replies[0])
    found += _executions(requests, times)
    found += _stops(requests, done)
    found += _sent_though_forbidden(requests, times, list(forbidden))
    return found


def _replies(request: Request) -> Iterator[Violation]:
    if not request.replies and not request.was_dropped:
        yield Violation("no reply came", (request,))
    if len(request.replies) > 1:
        yield Violation(f"{len(request.replies)} replies came", (request,))
    for reply in request.replies:
        if reply["op"] == "error" and reply["code"] not in NOT_SENT | {"UNKNOWN_BATCH"}:
            yield Violation(f"an error that nothing here calls for: {reply}", (request,))


def _slots_of(request: Request, times: Counter[str]) -> Iterator[Violation]:
    (reply,) = request.replies
    if reply["op"] == "error":
        for entry in request.entries:
            if times[entry.nonce]:
                yield Violation(f"refused whole, yet {entry.nonce} was executed", (request,))
        return
    slots = reply["results"]
    heads = [(slot["index"], slot["name"]) for slot in slots]
    if heads != [(index, entry.name) for index, entry in enumerate(request.entries)]:
        yield Violation(f"the slots are not those of the request: {heads}", (request,))
        return
    for entry, slot in zip(request.entries, slots, strict=True):
        code = slot.get("error", {}).get("code")
        if code is not None and code not in NOT_SENT | SENT:
            yield Violation(f"an outcome that nothing here calls for: {slot['error']}", (request,))
        if not entry.nonce:
            continue
        if code in NOT_SENT and times[entry.nonce]:
            yield Violation(f"{code}, yet {entry.nonce} was executed", (request,))
        if code is None or code == "TOOL_ERROR":
            response = slot["response"] if code is None else slot["error"]["response"]
            text = response["content"][0]["text"]
            if text != entry.nonce:
                yield Violation(f"{entry.nonce} was given the result of {text}", (request,))
            if not times[entry.nonce]:
                yield Violation(f"{entry.nonce} has a result and was never executed", (request,))


def _search_answer(request: Request, reply: dict[str, Any]) -> Iterator[Violation]:
    asked, told = request.message["queries"], [result["query"] for result in reply["results"]]
    if asked != told:
        yield Violation(f"asked {asked}, answered {told}", (request,))


def _describe_answer(request: Request, reply: dict[str, Any]) -> Iterator[Violation]:
    asked, told = set(request.message["names"]), {*reply["tools"], *reply.get("not_found", ())}
    if asked != told:
        yield Violation(f"asked {sorted(asked)}, described or missed {sorted(told)}", (request,))


_ANSWERS = {"search": _search_answer, "describe": _describe_answer}


def _executions(requests: list[Request], times: Counter[str]) -> Iterator[Violation]:
    asked = {entry.nonce: (entry, request) for request in requests for entry in request.entries}
    for nonce, count in times.items():
        if nonce not in asked:
            yield Violation(f"{nonce} was executed and never asked for", ())
        elif count > asked[nonce][0].sends:
            yield Violation(f"{nonce} was executed {count} times", (asked[nonce][1],))


def _sent_though_forbidden(
    requests: list[Request], times: Counter[str], forbidden: list[Forbidden]
) -> Iterator[Violation]:
    """Asked for and answered while the tool was forbidden, and executed all the same."""
    for request in requests:
        for entry in request.entries:
            if entry.nonce and times[entry.nonce] and request.replies:
                for one in forbidden:
                    inside = one.since_ns <= request.invoked_ns and request.replied_ns <= one.until_ns
                    if one.tool == entry.name and inside:
                        yield Violation(
                            f"{entry.nonce} was executed while {one.tool} was forbidden", (request,)
                        )


def _stops(requests: list[Request], done: list[Done]) -> Iterator[Violation]:
    """Nothing starts after a stop that was acknowledged; nothing is interrupted that nobody stopped.

    Known without comparing clocks: a server reads its calls in the order in which they were sent. Where it
    read a stopped entry after one that was not even asked for when the stop was acknowledged, the stopped one
    was sent after the acknowledgement.
    """
    stopped_ns: dict[str, tuple[int, Request, Request]] = {}  # nonce → first acknowledgement, its stop, batch
    by_session: dict[str, list[Request]] = defaultdict(list)
    for request in requests:
        by_session[request.session].append(request)
    for session in by_session.values():
        yield from _session_stops(session, stopped_ns)
    invoked = {e.nonce: (r.invoked_ns, r) for r in requests for e in r.entries if e.nonce}
    newest: dict[int, tuple[int, Request]] = {}  # pid → of the calls it has read, the one asked for last
    for line in done:
        if line.nonce not in invoked:
            continue
        stop, latest = stopped_ns.get(line.nonce), newest.get(line.pid)
        if stop is not None and latest is not None and latest[0] > stop[0]:
            yield Violation(
                f"{line.nonce} was sent after its stop was acknowledged", (stop[2], stop[1], latest[1])
            )
        if latest is None or invoked[line.nonce][0] > latest[0]:
            newest[line.pid] = invoked[line.nonce]


def _session_stops(
    session: list[Request], stopped_ns: dict[str, tuple[int, Request, Request]]
) -> Iterator[Violation]:
    stops = [r for r in session if r.op == "stop" and r.replies and r.replies[0]["op"] == "result"]
    acknowledged = sum(stop.replies[0]["interrupted"] for stop in stops)
    interrupted = 0
    for batch in session:
        if batch.op != "call":
            continue
        # A request is read in the order of sending, so a stop meets all that was sent before it.
        of_it = [
            stop
            for stop in stops
            if stop.invoked_ns > batch.invoked_ns and stop.message.get("batch", batch.number) == batch.number
        ]
        if of_it:
            first = min(of_it, key=lambda stop: stop.replied_ns)
            for entry in batch.entries:
                if entry.nonce:
                    stopped_ns[entry.nonce] = (first.replied_ns, first, batch)
        count = sum(
            slot.get("error", {}).get("code") == "INTERRUPTED"
            for reply in batch.replies
            for slot in reply.get("results", ())
        )
        interrupted += count
        if count and not of_it:
            yield Violation("interrupted, and nobody stopped it", (batch,))
    if interrupted > acknowledged:
        yield Violation(
            f"{interrupted} entries were interrupted, the stops said {acknowledged}", tuple(stops)
        )
