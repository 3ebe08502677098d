"""What a dialect decides: names, ranker, caps, counting, words. A dialect is one value of `Dialect`.

Where its bridge tools are not the daemon's own three, an `Interpreter` of its own answers them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import msgspec

from toolsearchd.catalog.model import Tool
from toolsearchd.config.profile import Profile
from toolsearchd.config.tool_search import ToolSearch
from toolsearchd.disclosure.bridge import CALL, DESCRIBE, SEARCH, TEXTS, BridgeTexts
from toolsearchd.disclosure.listing import Listing
from toolsearchd.dispatch.rules import RULES, Rules

if TYPE_CHECKING:
    from toolsearchd.disclosure.history import SearchHistory
    from toolsearchd.disclosure.view import View

Verb = Literal["search", "describe", "call"]


class BridgeAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What a bridge tool answers at once."""

    value: Any  # what the model is given: a text as it is, anything else as JSON
    text: str | None = None  # the same as the text that the model is to read, where that is not plain JSON
    fields: dict[str, Any]  # the same as the fields of a reply on the socket
    queries: Sequence[str] = ()  # of a search, for the activity feed
    found: int = 0
    described: Sequence[str] = ()  # names of tools whose definitions it shows
    exposes: bool = False  # other tools stand beside the bridge from now on

    def told(self) -> dict[str, Any]:
        """As the reply to a `use`."""
        return {"value": self.value} | ({} if self.text is None else {"text": self.text})


class BridgeCalls(msgspec.Struct, frozen=True, kw_only=True):
    """What a bridge tool wants run, and how its outcome is told."""

    args: dict[str, Any]  # `{calls: [{name, arguments}]}`, read by the dispatcher's rules
    value_of: Callable[[dict[str, Any]], Any] = lambda reply: reply  # the batch's reply → what the model gets
    text_of: Callable[[Any], str] | None = None  # that value → the text to read, where that is not plain JSON

    def told(self, reply: dict[str, Any]) -> dict[str, Any]:
        """The batch's reply as the reply to a `use`."""
        value = self.value_of(reply)
        return {"value": value} | ({} if self.text_of is None else {"text": self.text_of(value)})


def results(reply: dict[str, Any]) -> Any:
    """Of a batch of one: its `own_result`; of several: the slots, and how many there are of each kind."""
    return own_result(reply) if len(reply["results"]) == 1 else reply


def own_result(reply: dict[str, Any]) -> Any:
    """Of a batch of one: what the tool itself gave, or `{error}`."""
    slot = reply["results"][0]
    return slot["response"] if "response" in slot else {"error": slot["error"]}


class Interpreter:
    """One session's talk in a dialect: made at hello, it may remember what the session was shown.

    This one speaks the daemon's own three tools. Pure: a view and a model's arguments in, an answer out;
    whatever is wrong with the arguments is a `ToolsearchdError`.
    """

    verbs: ClassVar[Mapping[str, Verb]] = {SEARCH: "search", DESCRIBE: "describe", CALL: "call"}
    history: SearchHistory | None = None  # of the session, which counts its calls there

    def search(self, view: View, args: Mapping[str, Any]) -> BridgeAnswer:
        fields = view.search(args, self.history)
        found = sum(len(group["matches"]) for group in fields["results"])
        return BridgeAnswer(value=fields, fields=fields, queries=fields["queries"], found=found)

    def describe(self, view: View, args: Mapping[str, Any], direct: Collection[str]) -> BridgeAnswer:
        """`direct`: names of tools that the agent lists itself."""
        fields = view.describe(args, direct=direct)
        return BridgeAnswer(value=fields, fields=fields, described=tuple(fields["tools"]))

    def check_name(self, view: View, name: str, known: Collection[str]) -> None:
        """Raises TOOL_NOT_FOUND in the dialect's words for a name that means no tool of the view; those left
        are looked for in other forms. `known`: the public names of all tools of all servers."""

    def calls(self, view: View, args: Mapping[str, Any]) -> BridgeCalls:
        return BridgeCalls(args=dict(args), value_of=results)

    def direct(self, view: View, name: str, args: Mapping[str, Any]) -> BridgeCalls:
        """A call of a tool that is no bridge tool, by its name; its own result is the value."""
        return BridgeCalls(
            args={"calls": [{"name": name, "arguments": dict(args)}]},
            value_of=own_result,
        )

    def shown(self, view: View) -> list[dict[str, Any]]:
        """Definitions that stand beside the bridge tools for what this session did before."""
        return []


class Dialect(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    ranker: str = "default"  # of the registry
    name_of: Callable[[Tool], str]
    source_name_of: Callable[[Tool], str]
    label_of: Callable[[str], str] = str  # source name → its label in a listing
    max_queries: int | None = None  # of its own; `View.max_queries` has what holds
    max_names: int | None = None
    rules: Rules = RULES  # how calls are read and arguments made fit
    items_as_text: bool = False  # see `requests.parse_queries`
    exact_names: bool = False  # describe and call take the exact name and no other form
    count_by_chars: bool = False  # ceil(characters / 4), and the reference's rule for listings
    reevaluates: bool = False  # each assemble gives the newest listing; nothing is held
    shows_near: bool = True  # replies carry `near`, `unknown`, `absent_product` and `repeat`
    bridges: bool = True  # False: every tool is shown directly
    bridges_nothing: bool = True  # a bridge stands while granted servers are still to come
    agent: Literal["any", "openclaw", "hermes"] = "any"  # whose model manifests concern it
    activation: Literal["any", "threshold"] = "any"
    """Does any tool that may hide raise the bridge, or only schemas of `threshold_pct` of the context?"""
    core_names: frozenset[str] = frozenset()  # names that are the agent's own and never hidden
    unique_names: bool = False  # an agent whose own tools share a name, or take a core one, is refused
    texts: BridgeTexts = TEXTS
    presets: Mapping[str, Any] = {}  # settings of tool_search in force where the config keeps its defaults
    settings_of: Callable[[ToolSearch, Profile | None, bool], ToolSearch] | None = None
    """The settings in force where a profile's `options` are of another system's shape: from those so far, the
    profile, and whether the model runs on this machine."""
    read_options: Callable[[Mapping[str, Any], bool], dict[str, Any]] | None = None
    """The effective values of such options, for `welcome`. Raises BAD_CONFIG where they can't be served."""
    prepare_of: Callable[[View], Iterator[None]] | None = None
    """What its first search needs, in small steps; driven before the view is assembled."""
    tool_of: Callable[[View, str], Tool | None] | None = None
    """The tool that bears a name of its own, beside the public names."""
    listing_of: Callable[[View, int | None], Listing] | None = None
    """Its own listing, from the view and the context length; None: the daemon's, within the budget."""
    bridge_of: Callable[[View, Listing, bool], list[dict[str, Any]]] | None = None
    """Its own bridge tools, from the view, the listing and whether that is handed apart; None: the three."""
    interpreter: Callable[[], Interpreter] = Interpreter
