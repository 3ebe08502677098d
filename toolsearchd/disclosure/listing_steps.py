"""The default dialect's listing: each server gives way by itself, in one sequence for all budgets.

A server is shown full, by its names, by families of names, or by one line. A step takes one server to its
next form; the steps of all servers form one sequence, in which the step that frees most tokens per
information lost comes first; behind its end stands one line for all servers. A budget decides only how far
along it the listing goes: so a larger one never shows less of any server, and equal catalogs give equal
bytes.

Token counts: every form of a server is made of units (a line with its newline, a name with its comma), and
no token reaches over the end of a unit, since the vocabularies split texts there before they merge bytes. So
units add up, each is counted once for all forms, and one changed tool costs its own units. The sum only
chooses where to look: a text is given if its own count, as a whole, is within the budget.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, pairwise
from typing import Literal, NamedTuple
from weakref import WeakKeyDictionary

from toolsearchd.disclosure.listing import HEADER as REFERENCE_HEADER
from toolsearchd.disclosure.listing import NO_LISTING, Form, ListedServer, Listing
from toolsearchd.disclosure.listing_families import families
from toolsearchd.disclosure.tokens import UncountedError

HEADER = f"{REFERENCE_HEADER} What is not named here, tool_search finds."

Count = Callable[[str], int]
"""Tokens of a text; may raise `UncountedError`."""

ServerForm = Literal["full", "names", "families", "line", "down"]

# What a block tells, in shares. Names save a search and descriptions save wrong choices: two shares each.
# Families tell what to search for: one. A line tells only that the server is there.
_DESCRIPTIONS, _NAMES, _FAMILIES = 2.0, 3.0, 1.0
_SERVER_PART = re.compile(r"mcp__.*?__(?=.)")  # of a public name: the block's label says it already
_SLACK = 1  # tokens by which a sum may be over the count of the text: its last newline is not there


class Block(NamedTuple):
    """One server in one form. `units` joined are its text and a newline."""

    form: ServerForm
    units: tuple[str, ...]
    information: float

    @property
    def text(self) -> str:
        return "".join(self.units)


class Step(NamedTuple):
    """Takes server `at` from its block `level - 1` to `level`, and frees `freed` tokens."""

    priority: float
    at: int
    level: int
    freed: int


class Chain(NamedTuple):
    """The forms of one server that are worth it by one tokenizer, and the steps between them."""

    blocks: list[Block]
    tokens: int  # of the first
    steps: list[tuple[float, int, int]]  # priority, level, tokens freed


class ListingForms:
    """One server in every form it may take, most detailed first, and what those cost by each tokenizer."""

    def __init__(self, server: ListedServer) -> None:
        self.blocks = _blocks_of(server)
        self._chains: WeakKeyDictionary[Count, Chain] = WeakKeyDictionary()

    def chain(self, count: Count) -> Chain:
        """Raises what `count` raises. Where counts stand on others that all share, those do if they can."""
        if (below := getattr(count, "below", None)) is not None:
            try:
                return self.chain(below)
            except UncountedError:
                pass  # it is a part that nobody else has
        chain = self._chains.get(count)
        if chain is None:
            chain = self._chains[count] = _chain_of(self.blocks, count)
        return chain

    def is_counted(self, count: Count) -> bool:
        below = getattr(count, "below", None)
        return count in self._chains or (below is not None and self.is_counted(below))


_forms: WeakKeyDictionary[ListedServer, ListingForms] = WeakKeyDictionary()


def forms_of(server: ListedServer) -> ListingForms:
    """What did not change is not made again; kept as long as the part that it is of."""
    found = _forms.get(server)
    if found is None:
        found = _forms[server] = ListingForms(server)
    return found


def _blocks_of(server: ListedServer) -> tuple[Block, ...]:
    if server.reason:
        return (Block("down", (f"{server.unavailable}\n",), 0.0),)
    names = [name for name, _ in server.tools]
    count = len(names)
    title = f"{server.label} ({_counted(count, 'tool')})"
    head = f"{server.label} tools ({count}):\n"
    about = (f"({server.about})\n",) if server.about else ()
    lines = (f"- {name}: {short}\n" if short else f"- {name}\n" for name, short in server.tools)
    row = [f" {name}," for name in names]
    row[0], row[-1] = row[0][1:], f"{row[-1][:-1]}\n"
    if count == 1:
        row = [f"{names[0]}\n"]
    # Twice the tools are not worth twice as much: no task needs all of a large server.
    worth = math.log2(1 + count)
    described = sum(1 for _, short in server.tools if short) / count
    return (
        Block("full", (head, *about, *lines), worth * (_NAMES + _DESCRIPTIONS * described)),
        Block("names", (head, *row), worth * _NAMES),
        Block("families", (f"{title}: {_families(names)}\n",), worth * _FAMILIES),
        Block("line", (f"{title}\n",), 0.0),
    )


def _families(names: Sequence[str]) -> str:
    start = _SERVER_PART.match(names[0])
    part = start[0] if start and all(name.startswith(start[0]) for name in names) else ""
    found, others = families(name[len(part) :] for name in names)
    return ", ".join([*map(str, found), *([f"{others} more"] if others else [])])


def units_to_count(servers: Sequence[ListedServer], known: Count | None = None) -> Iterator[str]:
    """Every text that a `ListingPlan` asks about, but for the listings themselves; `known`: what it asks, of
    which servers that were counted are left out."""
    yield f"{HEADER}\n"
    for server in servers:
        forms = forms_of(server)
        if known is None or not forms.is_counted(known):
            for block in forms.blocks:
                yield from block.units


class ListingPlan:
    """The sequence for one catalog and one tokenizer. Make it once, ask it for any budget.

    The order of `servers` does not matter.
    """

    def __init__(self, servers: Sequence[ListedServer], count: Count) -> None:
        self._count = count
        self._up: list[list[Block]] = []
        self._down: list[Block] = []
        self._tools = sum(len(server.tools) for server in servers)
        steps: list[Step] = []
        total = count(f"{HEADER}\n")
        for server in sorted(servers, key=lambda server: (server.label, server.tools, server.reason)):
            chain = forms_of(server).chain(count)
            total += chain.tokens
            if server.reason:
                self._down += chain.blocks
            else:
                steps += [Step(priority, len(self._up), *rest) for priority, *rest in chain.steps]
                self._up.append(chain.blocks)
        self.steps = sorted(steps, key=lambda step: (-step.priority, step.at, step.level))
        self._sums = list(
            accumulate((step.freed for step in self.steps), lambda s, freed: s - freed, initial=total)
        )

    def listing(self, budget: int) -> Listing:
        """After the fewest steps with which the text fits; where it never does, one line for all servers, or
        nothing where that does not fit."""
        if not self._up and not self._down:
            return NO_LISTING
        for taken, sum_ in enumerate(self._sums):
            if sum_ - _SLACK <= budget:
                text = self.text_after(taken)
                tokens = self._count(text)
                if tokens <= budget:
                    return Listing(text, _form_of(self._chosen(taken)), tokens)
        tokens = self._count(self.one_line)
        return Listing(self.one_line, "groups", tokens) if tokens <= budget else NO_LISTING

    @property
    def one_line(self) -> str:
        """The servers in sum, none of them named."""
        down = _counted(len(self._down), "server")
        if not self._up:
            return f"{down}, all unavailable now."
        text = f"{_counted(len(self._up), 'server')} with {_counted(self._tools, 'tool')}, not named here: "
        return f"{text}tool_search finds them." + (f" {down} more, unavailable now." if self._down else "")

    def text_after(self, taken: int) -> str:
        """The listing after so many steps of the sequence."""
        blocks = [*self._chosen(taken), *self._down]
        return "".join([f"{HEADER}\n", *(block.text for block in blocks)])[:-1]

    def _chosen(self, taken: int) -> list[Block]:
        levels = [0] * len(self._up)
        for step in self.steps[:taken]:
            levels[step.at] = step.level
        return [blocks[level] for blocks, level in zip(self._up, levels, strict=True)]


def _chain_of(blocks: Sequence[Block], count: Count) -> Chain:
    costs = [sum(map(count, block.units)) for block in blocks]
    kept = [
        0
    ]  # a form that tells less and costs no less is left out: two tools are cheaper named than summed up
    for at in range(1, len(blocks)):
        if costs[at] < costs[kept[-1]]:
            kept.append(at)
    freed = [costs[before] - costs[after] for before, after in pairwise(kept)]
    lost = [blocks[before].information - blocks[after].information for before, after in pairwise(kept)]
    priorities = _priorities(freed, lost)
    steps = [(priority, level, freed[level - 1]) for level, priority in enumerate(priorities, 1)]
    return Chain([blocks[at] for at in kept], costs[0], steps)


def _priorities(freed: Sequence[int], lost: Sequence[float]) -> list[float]:
    """Of one server's steps: tokens freed per information lost. A step with a higher priority than the one
    before it lends it that: the two are weighed as one, and follow each other."""
    runs: list[range] = []  # of steps that are weighed as one

    def priority(run: range) -> float:
        total = sum(lost[step] for step in run)
        return sum(freed[step] for step in run) / total if total else math.inf

    for step in range(len(freed)):
        run = range(step, step + 1)
        while runs and priority(run) >= priority(runs[-1]):
            run = range(runs.pop().start, run.stop)
        runs.append(run)
    return [priority(run) for run in runs for _ in run]


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' if number != 1 else ''}"


def _form_of(chosen: Sequence[Block]) -> Form:
    """full or names: every server that is up shows its tools; mixed: some do; groups: none."""
    forms = {block.form for block in chosen}
    if not forms & {"full", "names"}:
        return "groups"
    if forms & {"families", "line"}:
        return "mixed"
    return "names" if "names" in forms else "full"
