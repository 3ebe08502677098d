"""OpenClaw's generations: `openclaw-g1` (mid 2026), `openclaw-g2` or `openclaw` (2026.9), `openclaw-g3`.

Its code mode needs that system's own sandboxed runtime: where a config selects it, the structured tools stand
in, as there where the runtime is missing, and a call of its tool is refused by name.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import msgspec

from toolsearchd.catalog.model import Tool
from toolsearchd.config.profile import Profile
from toolsearchd.config.tool_search import ToolSearch
from toolsearchd.dialects.base import Dialect, Interpreter
from toolsearchd.dialects.openclaw.catalog import Catalog
from toolsearchd.dialects.openclaw.directory import budget_chars, render_directory
from toolsearchd.dialects.openclaw.options import (
    DIALECT_GENERATIONS,
    MOST_MATCHES,
    Generation,
    read_options,
    resolve_options,
)
from toolsearchd.dialects.openclaw.parts import PartsIndex
from toolsearchd.dialects.openclaw.replies import (
    batch,
    described,
    envelope,
    envelope_text,
    single,
    unavailable_text,
)
from toolsearchd.dialects.openclaw.requests import (
    MOST_ENTRIES,
    parse_call,
    parse_search,
    parse_selectors,
    parse_single,
    refuse,
)
from toolsearchd.disclosure.bridge import function
from toolsearchd.disclosure.bridge_answers import BridgeAnswer, BridgeCalls, Verb
from toolsearchd.disclosure.listing import NO_LISTING, Listing
from toolsearchd.disclosure.sanitise import plain_line
from toolsearchd.disclosure.seen import Seen
from toolsearchd.dispatch.rules import Rules
from toolsearchd.errors import ToolsearchdError

if TYPE_CHECKING:
    from toolsearchd.disclosure.view import View
    from toolsearchd.dispatch.check import Check

CODE_TOOL = "tool_search_code"


class BridgeNames(NamedTuple):
    search: str = "tool_search"
    describe: str = "tool_describe"
    call: str = "tool_call"


NAMES: dict[Generation, BridgeNames] = {
    "g1": BridgeNames(),
    "g2": BridgeNames(),
    "g3": BridgeNames(call="dispatch_action"),
}
_OLD_CALL = "tool_call"  # in transcripts of older generations


class Derived:
    """The catalog of what is seen, and under the first generation its index."""

    def __init__(self, generation: Generation, seen: Seen) -> None:
        self.catalog = Catalog(seen)
        self._has_parts = generation == "g1"
        self._parts: PartsIndex | None = None

    def prepare(self) -> Iterator[None]:
        if self._has_parts and self._parts is None:
            index = PartsIndex()
            yield from index.build(self.catalog.entries())
            self._parts = index

    @property
    def parts(self) -> PartsIndex:
        """Built at once where `prepare` was not driven."""
        for _ in self.prepare():
            pass
        assert self._parts is not None
        return self._parts


def derived_of(seen: Seen) -> Derived:
    derived = seen.derived
    assert isinstance(derived, Derived)
    return derived


def catalog_of(view: View) -> Catalog:
    return derived_of(view.seen).catalog


class OpenclawRules(Rules):
    """Only a trusted tool's schema is a judge."""

    def fit(self, check: Check, arguments: dict[str, Any], *, trusted: bool) -> dict[str, Any]:
        return check.by_default(arguments) if trusted else check.as_they_came(arguments)


class OpenclawInterpreter(Interpreter):
    """The second generation's talk; the others differ in `generation`."""

    generation: ClassVar[Generation] = "g2"
    verbs: ClassVar[Mapping[str, Verb]] = dict(zip(NAMES["g2"], ("search", "describe", "call"), strict=True))

    def search(self, view: View, args: Mapping[str, Any]) -> BridgeAnswer:
        first = self.generation == "g1"
        request = parse_single(args, view.settings) if first else parse_search(args, view.settings)
        catalog = catalog_of(view)
        search = derived_of(view.seen).parts.search if first else catalog.search
        texts = [query.text[: view.limits.query_chars] for query in request.queries]
        groups = [search(text, query.limit) for text, query in zip(texts, request.queries, strict=True)]
        in_vain = any(text.strip() and not group for text, group in zip(texts, groups, strict=True))
        missing = catalog.unavailable() if in_vain else []
        notice = unavailable_text(missing)
        value, text = batch(texts, groups, notice) if request.is_batch else single(groups[0], notice)
        return BridgeAnswer(
            value=value,
            text=text,
            fields={"value": value, "text": text} | ({"unavailable_sources": missing} if missing else {}),
            queries=texts,
            found=sum(map(len, groups)),
        )

    def describe(self, view: View, args: Mapping[str, Any], direct: Collection[str]) -> BridgeAnswer:
        catalog, needles = catalog_of(view), parse_selectors(args, most=view.limits.names_per_describe)
        for needle in needles:
            if needle in direct and not catalog.named(needle):
                refuse(f"{plain_line(needle)} is listed directly: call it without the bridge.", field="id")
        entries = [catalog.find(needle, self._hint) for needle in needles]
        value, text = described(entries)
        fields = {"value": value, "text": text}
        shown = tuple(entry.tool.public_name for entry in entries)
        return BridgeAnswer(value=value, text=text, fields=fields, described=shown)

    def calls(self, view: View, args: Mapping[str, Any]) -> BridgeCalls:
        request = parse_call(args)
        catalog = catalog_of(view)
        entry = catalog.find_one(tuple(request.selectors.values()), self._hint)
        given = request.input
        if request.is_flat:
            # A `name` beside `id` that names no tool is the tool's own parameter, where it has one so called.
            loose = {key: value for key, value in request.selectors.items() if not catalog.named(value)}
            given = {key: loose[key] for key in entry.parameters() & loose.keys()} | given
        return BridgeCalls(
            args={"calls": [{"name": entry.tool.public_name, "arguments": given}]},
            value_of=lambda reply: envelope(entry, given, reply["results"][0]),
            text_of=envelope_text,
        )

    def direct(self, view: View, name: str, args: Mapping[str, Any]) -> BridgeCalls:
        """A hidden tool called by its own name or id, as the directory invites to: its own result."""
        if name == CODE_TOOL:
            names = ", ".join(NAMES[self.generation])
            raise ToolsearchdError("UNSUPPORTED", f"{CODE_TOOL}: code mode is not offered here; use {names}.")
        return super().direct(view, name, args)

    @property
    def _hint(self) -> str:
        search, describe, call = NAMES[self.generation]
        return (
            f"Use {search} to find a tool, {describe} to inspect it, then {call} with its exact id or name."
        )


class FirstInterpreter(OpenclawInterpreter):
    generation = "g1"


class ThirdInterpreter(OpenclawInterpreter):
    generation = "g3"
    verbs: ClassVar[Mapping[str, Verb]] = dict(zip(NAMES["g3"], ("search", "describe", "call"), strict=True))

    def direct(self, view: View, name: str, args: Mapping[str, Any]) -> BridgeCalls:
        """As any, and the dispatcher under its old name: entries of old transcripts replay."""
        return self.calls(view, args) if name == _OLD_CALL else super().direct(view, name, args)


# --- what a model is shown ----------------------------------------------------------------------------

_SEARCH_TEXT = (
    "Find tools whose schemas are not loaded, by keywords for what they act on and do. Gives compact "
    "candidates with ids, best first. Then {describe} for the schema, {call} to run."
)
_BATCH_TEXT = " For several needs send queries, each with its own limit."
_DESCRIBE_TEXT = "Load one tool's schema by its exact id, or by a name that only one tool bears."
_CALL_TEXT = "Run one tool by its exact id or name; args must fit the schema that {describe} gave."


def _bridge(generation: Generation, seen: Seen, shown: Listing, separate: bool) -> list[dict[str, Any]]:
    names = NAMES[generation]
    search = _SEARCH_TEXT + (_BATCH_TEXT if generation != "g1" else "")
    texts = [text.format(**names._asdict()) for text in (search, _DESCRIBE_TEXT, _CALL_TEXT)]
    if shown.text and not separate:
        texts[0] = f"{texts[0]}\n{shown.text}"
    target = {"id": {"type": "string", "description": "Exact tool id or name"}}
    call = target | {
        "args": {"type": "object", "description": "The tool's input", "additionalProperties": True}
    }
    return [
        function(names.search, texts[0], _search_schema(generation, seen.settings)),
        function(names.describe, texts[1], _object(target, "id")),
        function(names.call, texts[2], _object(call, "id")),
    ]


def _search_schema(generation: Generation, settings: ToolSearch) -> dict[str, Any]:
    limit: dict[str, Any] = {"type": "integer", "minimum": 1}
    told = {"description": f"Default {settings.search_default_limit}, at most {settings.max_search_limit}"}
    if generation == "g1":
        return _object({"query": {"type": "string"}, "limit": limit | told}, "query")
    text = {"type": "string", "minLength": 1, "maxLength": 512}
    entry = _object({"query": text, "limit": limit}, "query")
    return _object(
        {
            "query": {"type": ["string", "null"]},
            "limit": {"type": ["integer", "null"], "minimum": 1} | told,
            "queries": {
                "type": ["array", "null"],
                "items": entry,
                "minItems": 1,
                "maxItems": MOST_ENTRIES,
                "description": f"Limits sum to {MOST_MATCHES} at most",
            },
        }
    )


def _object(properties: dict[str, Any], *required: str) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    return schema | {"required": list(required)} if required else schema


def _directory(generation: Generation, seen: Seen, context_length: int | None) -> Listing:
    if generation == "g1":
        return NO_LISTING
    entries = derived_of(seen).catalog.trusted_entries()
    return render_directory(entries, budget_chars(context_length), names=NAMES[generation])


def _settings(
    generation: Generation, settings: ToolSearch, profile: Profile | None, local: bool
) -> ToolSearch:
    own = resolve_options(profile.options if profile else {}, generation, local=local)
    return msgspec.structs.replace(
        settings,
        enabled="on" if own.enabled and settings.enabled != "off" else "off",
        ranker="openclaw",
        search_default_limit=own.search_default_limit,
        max_search_limit=own.max_search_limit,
    )


def _tool_of(seen: Seen, name: str) -> Tool | None:
    found = derived_of(seen).catalog.named(name)
    return found[0].tool if len(found) == 1 else None


_INTERPRETERS = {kind.generation: kind for kind in (FirstInterpreter, OpenclawInterpreter, ThirdInterpreter)}


def _dialect(name: str, generation: Generation) -> Dialect:
    return Dialect(
        name=name,
        ranker="openclaw",
        name_of=lambda tool: tool.public_name,  # as a function of its own; ids are no functions' names
        source_name_of=lambda tool: tool.server,
        max_queries=MOST_ENTRIES,
        max_names=1,
        rules=OpenclawRules(),
        count_by_chars=True,
        reevaluates=True,
        settings_of=partial(_settings, generation),
        agent="openclaw",
        read_options=partial(read_options, generation=generation),
        tool_of=_tool_of,
        derive=partial(Derived, generation),
        listing_of=partial(_directory, generation),
        bridge_of=partial(_bridge, generation),
        interpreter=_INTERPRETERS[generation],
    )


OPENCLAW = tuple(_dialect(name, generation) for name, generation in DIALECT_GENERATIONS.items())
