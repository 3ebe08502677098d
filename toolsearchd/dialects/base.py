"""What a dialect decides: names, ranker, caps, counting, words. A dialect is one value of `Dialect`.

Where its bridge tools are not the daemon's own three, an `Interpreter` of its own answers them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from toolsearchd.config.profile import Profile
from toolsearchd.config.tool_search import ToolSearch
from toolsearchd.disclosure.bridge import CALL, DESCRIBE, SEARCH
from toolsearchd.disclosure.bridge_answers import BridgeAnswer, BridgeCalls, Verb, own_result, results
from toolsearchd.disclosure.own_tools import OwnTools, sort_own_tools
from toolsearchd.disclosure.seen import Manner
from toolsearchd.dispatch.rules import RULES, Rules
from toolsearchd.limits import Limits

if TYPE_CHECKING:
    from toolsearchd.disclosure.history import SearchHistory
    from toolsearchd.disclosure.view import View


class Interpreter:
    """One session's talk in a dialect: made at hello, it may remember what the session was shown.

    This one speaks the daemon's own three tools. Pure: a view and a model's arguments in, an answer out;
    whatever is wrong with the arguments is a `ToolsearchdError`.
    """

    verbs: ClassVar[Mapping[str, Verb]] = {SEARCH: "search", DESCRIBE: "describe", CALL: "call"}
    history: SearchHistory | None = None  # of the session, which counts its calls there
    introduced: Mapping[str, str] = {}  # server → its own words, as the session was told them

    def search(self, view: View, args: Mapping[str, Any]) -> BridgeAnswer:
        fields = view.search(args, self.history)
        found = sum(len(group["matches"]) for group in fields["results"])
        return BridgeAnswer(value=fields, fields=fields, queries=fields["queries"], found=found)

    def describe(self, view: View, args: Mapping[str, Any], direct: Collection[str]) -> BridgeAnswer:
        """`direct`: names of tools that the agent lists itself."""
        fields = view.describe(args, direct=direct)
        described = tuple(fields["tools"])
        if words := self._introduced(view, described):
            fields = fields | {"instructions": words}
        return BridgeAnswer(value=fields, fields=fields, described=described)

    def _introduced(self, view: View, names: Iterable[str]) -> dict[str, str]:
        """Server → its own words on how to use it; of each once, and again where they are others."""
        words = view.instructions_of(names) if view.dialect.shows_near else {}
        new = {server: said for server, said in words.items() if self.introduced.get(server) != said}
        self.introduced = {**self.introduced, **new}
        return new

    def check_name(self, view: View, name: str, known: Collection[str]) -> None:
        """Raises TOOL_NOT_FOUND in the dialect's words for a name that means no tool of the view; those left
        are looked for in other forms. `known`: the public names of all tools of all servers."""

    direct_toolsets: frozenset[str] = frozenset()  # of the agent's own tools, what never hides

    def sort_own(
        self,
        tools: Sequence[dict[str, Any]],
        *,
        defer: Collection[str],
        taken: Collection[str],
        limits: Limits,
    ) -> OwnTools:
        """Which of the agent's own tools hide; see `sort_own_tools`."""
        return sort_own_tools(
            tools,
            bridge_names=self.verbs,
            defer=defer,
            taken=taken,
            direct_toolsets=self.direct_toolsets,
            limits=limits,
        )

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


class Dialect(Manner, frozen=True, kw_only=True):
    ranker: str = "default"  # of the registry
    rules: Rules = RULES  # how calls are read and arguments made fit
    reevaluates: bool = False  # each assemble gives the newest listing; nothing is held
    agent: Literal["any", "openclaw", "hermes"] = "any"  # whose model manifests concern it
    presets: Mapping[str, Any] = {}  # settings of tool_search in force where the config keeps its defaults
    settings_of: Callable[[ToolSearch, Profile | None, bool], ToolSearch] | None = None
    """The settings in force where a profile's `options` are of another system's shape: from those so far, the
    profile, and whether the model runs on this machine."""
    read_options: Callable[[Mapping[str, Any], bool], dict[str, Any]] | None = None
    """The effective values of such options, for `welcome`. Raises BAD_CONFIG where they can't be served."""
    interpreter: Callable[[], Interpreter] = Interpreter
