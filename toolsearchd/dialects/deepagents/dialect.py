"""Deep Agents Code with NemoClaw's progressive disclosure: `search_tools` finds by substring and exposes.

What a search exposes stands among the model's tools from the next request on, within bounds: so many names,
so many bytes of schemas. The discovered set belongs to one session; main agent and sub-agent have one each.
Hiding is no authorisation: whatever is granted runs when it is called by its name.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec

from toolsearchd.catalog.model import Tool
from toolsearchd.dialects.base import Interpreter
from toolsearchd.dialects.default import DEFAULT
from toolsearchd.disclosure.bridge import bridge_tool, hidden_count
from toolsearchd.disclosure.bridge_answers import BridgeAnswer, Verb
from toolsearchd.disclosure.listing import NO_LISTING, Listing
from toolsearchd.disclosure.own_tools import OwnTools, sort_own_tools
from toolsearchd.disclosure.sanitise import clean, plain_line
from toolsearchd.disclosure.seen import Seen
from toolsearchd.errors import ToolsearchdError
from toolsearchd.limits import Limits

if TYPE_CHECKING:
    from toolsearchd.disclosure.view import View

SEARCH_TOOLS = "search_tools"
CORE = frozenset(
    (
        SEARCH_TOOLS,
        "ls",
        "read_file",
        "write_file",
        "edit_file",
        "glob",
        "grep",
        "execute",
        "ask_user",
        "write_todos",
    )
)  # names that are the agent's own and always visible

QUERY_CHARS = 256
PAGE = 20  # matches that one search looks at, first by name
DESCRIPTION_CHARS = 256
TEXT_BYTES = 8_192
NAME_BYTES = 120  # in UTF-8, and as JSON text with its quotes
SCHEMA_BYTES = 16_384  # of one tool's definition, canonical JSON
SCHEMAS_BYTES = 131_072  # of all discovered ones that a model is given
DISCOVERED = 64  # names; their JSON list stays under 8,192 bytes by the two bounds
_EASY_BYTES = SCHEMA_BYTES // 8  # a definition below this passes whatever its canonical form is
_CUT = "\n… the rest was cut"


class DeepAgentsInterpreter(Interpreter):
    verbs: ClassVar[Mapping[str, Verb]] = {SEARCH_TOOLS: "search"}

    def __init__(self) -> None:
        self.discovered: tuple[str, ...] = ()  # sorted

    def search(self, view: View, args: Mapping[str, Any]) -> BridgeAnswer:
        """`{text, discovered, exposed, found}`; the model gets the text. Raises BAD_ARGUMENTS."""
        query = _query(args)
        matches = list(_matches(view, query))
        turn = _Turn(view, self.discovered)
        for tool in matches[:PAGE]:
            turn.expose(tool)
        self.discovered = turn.discovered
        text = _text(query, len(matches), turn)
        fields = {
            "text": text,
            "discovered": list(self.discovered),
            "exposed": [view.name_of(tool) for tool in turn.exposed],
            "found": len(matches),
        }
        return BridgeAnswer(
            value=text, fields=fields, queries=(query,), found=len(matches), exposes=turn.added > 0
        )

    def sort_own(
        self,
        tools: Sequence[dict[str, Any]],
        *,
        defer: Collection[str],
        taken: Collection[str],
        limits: Limits,
    ) -> OwnTools:
        """Its core tools never hide, and an agent whose tools share a name or take a core one is refused."""
        return sort_own_tools(
            tools,
            bridge_names=self.verbs,
            defer=defer,
            taken=taken,
            core_names=CORE,
            unique=True,
            limits=limits,
        )

    def shown(self, view: View) -> list[dict[str, Any]]:
        return [view.direct(tool) for _, tool in _fitting(view, self.discovered, {})]


class _Turn:
    """One search's effect on the discovered set: each match is exposed, or counted by what is against it."""

    def __init__(self, view: View, discovered: tuple[str, ...]) -> None:
        self.view = view
        self.discovered = discovered
        self._sizes: dict[str, int | None] = {}
        self._visible = self._fitting(discovered)
        self.exposed: list[Tool] = []  # visible after this search, in page order
        self.added = 0
        self.over_state = 0
        self.over_schemas = 0

    def expose(self, tool: Tool) -> None:
        name = self.view.name_of(tool)
        if name in self._visible:
            self.exposed.append(tool)
            return
        joined = merged(self.discovered, [name])
        if not {*self.discovered, name} <= set(joined):
            self.over_state += 1  # it would push out a name that is there, or be pushed out itself
            return
        visible = self._fitting(joined)
        if name not in visible or not self._visible <= visible:
            self.over_schemas += 1
            return
        self.discovered, self._visible = joined, visible
        self.exposed.append(tool)
        self.added += 1

    def _fitting(self, names: Sequence[str]) -> frozenset[str]:
        return frozenset(name for name, _ in _fitting(self.view, names, self._sizes))


def merged(*states: Iterable[str]) -> tuple[str, ...]:
    """The union of discovered sets within the bound; their order, grouping and repeats change nothing."""
    names = {name for state in states for name in state if is_eligible_name(name)}
    return tuple(sorted(names)[:DISCOVERED])


def is_eligible_name(name: str) -> bool:
    """May a tool of this name be discovered? What can't be written as UTF-8 may not."""
    try:
        return len(name.encode()) <= NAME_BYTES and len(msgspec.json.encode(name)) <= NAME_BYTES
    except UnicodeEncodeError:
        return False


def canonical_bytes(definition: dict[str, Any]) -> int | None:
    """Bytes of a definition as compact JSON with sorted keys; None where it can't be written."""
    try:
        return len(msgspec.json.encode(definition, order="sorted"))
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError, TypeError, ValueError):
        return None


def _query(args: Mapping[str, Any]) -> str:
    query = args.get("query")
    if query is None and isinstance(args.get("queries"), list | tuple) and len(args["queries"]) == 1:
        query = args["queries"][0]  # how a client that knows only lists sends it
    if not isinstance(query, str):
        raise ToolsearchdError("BAD_ARGUMENTS", "query: expected one text of keywords", field="query")
    if len(query) > QUERY_CHARS:
        raise ToolsearchdError(
            "BAD_ARGUMENTS", f"query: {len(query)} characters, at most {QUERY_CHARS} are taken", field="query"
        )
    return query


class Folded:
    """What every search reads: (name, description, tool) of the eligible tools, both folded, by name."""

    def __init__(self, seen: Seen) -> None:
        self._tools = seen.tools_by_name
        self._visible = CORE | {seen.name_of(tool) for tool in seen.pinned}
        self._entries: list[tuple[str, str, Tool]] | None = None

    def prepare(self) -> Iterator[None]:
        """Makes them, a tool a step; what was made stays."""
        if self._entries is not None:
            return
        entries = []
        for name, tool in sorted(self._tools.items()):
            if name not in self._visible and is_eligible_name(name):
                entries.append((name.casefold(), clean(tool.definition.description).casefold(), tool))
                yield
        self._entries = entries

    def entries(self) -> list[tuple[str, str, Tool]]:
        for _ in self.prepare():
            pass
        assert self._entries is not None
        return self._entries


def _matches(view: View, query: str) -> Iterator[Tool]:
    """Eligible tools whose name or description holds the query, by name."""
    wanted = query.strip().casefold()
    if not wanted:
        return
    for name, description, tool in view.seen.derived.entries():
        if (wanted in name or wanted in description) and _is_eligible_schema(view, tool):
            yield tool


def _is_eligible_schema(view: View, tool: Tool) -> bool:
    definition = tool.definition
    if len(definition.input_schema) + len(definition.description) <= _EASY_BYTES:
        return True  # no writing of it grows eightfold
    size = canonical_bytes(view.direct(tool))
    return size is not None and size <= SCHEMA_BYTES


def _fitting(view: View, names: Iterable[str], sizes: dict[str, int | None]) -> Iterator[tuple[str, Tool]]:
    """Of these names, sorted, the tools whose definitions fit what a model is given; one too many is skipped.

    `sizes`: those of this view measured so far.
    """
    room = SCHEMAS_BYTES
    for name in names:
        tool = view.tools_by_name.get(name)
        if tool is None:
            continue  # its server has gone
        if name not in sizes:
            sizes[name] = canonical_bytes(view.direct(tool))
        size = sizes[name]
        if size is not None and size <= min(room, SCHEMA_BYTES):
            room -= size
            yield name, tool


def _text(query: str, found: int, turn: _Turn) -> str:
    """What the model is told, within `TEXT_BYTES` of UTF-8."""
    if not found:
        return f"none matched {msgspec.json.encode(plain_line(query)).decode()}; try another keyword"
    lines = [f"found {found} / returning {len(turn.exposed)} (limit {PAGE})"]
    lines += [_line(turn, tool) for tool in turn.exposed]
    if turn.exposed and not turn.added:
        lines.append("all were already available")
    if turn.added:
        lines.append(
            "updates commit through bounded thread state: the tools can be called from the next step on"
        )
    if found > PAGE:
        lines.append(f"{found - PAGE} additional match(es) not shown: use a narrower keyword")
    if turn.over_state:
        lines.append(f"{turn.over_state} not exposed: state limit")
    if turn.over_schemas:
        lines.append(f"{turn.over_schemas} not exposed: schema limits")
    return bounded("\n".join(lines))


def _line(turn: _Turn, tool: Tool) -> str:
    text = plain_line(tool.definition.description[: 16 * DESCRIPTION_CHARS]) or "No description provided."
    if len(text) > DESCRIPTION_CHARS:
        text = text[: DESCRIPTION_CHARS - 1] + "…"
    return f"- {turn.view.name_of(tool)}: {text}"


def bounded(text: str) -> str:
    """The text, or as much of it as fits with a notice, cut between two characters."""
    data = text.encode("utf-8", "replace")
    if len(data) <= TEXT_BYTES:
        return text
    return data[: TEXT_BYTES - len(_CUT.encode())].decode("utf-8", "ignore") + _CUT


def _bridge(seen: Seen, _shown: Listing, separate: bool) -> list[dict[str, Any]]:
    text = {"type": "string", "maxLength": QUERY_CHARS}
    description = (
        "Find tools that are not loaded. The query is looked for, as a whole and in any case, in names and "
        f"descriptions: one keyword is best. Up to {PAGE} tools found become available at the next step."
    )
    if not separate:
        description += f"\n{hidden_count(seen.deferred_count)}"
    return [bridge_tool(SEARCH_TOOLS, description, required="query", query=text)]


DEEPAGENTS = msgspec.structs.replace(
    DEFAULT,
    name="deepagents",
    reevaluates=True,
    shows_near=False,
    bridges_nothing=False,
    derive=Folded,
    listing_of=lambda _view, _context: NO_LISTING,
    bridge_of=_bridge,
    interpreter=DeepAgentsInterpreter,
)
