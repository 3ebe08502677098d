"""How a view speaks: what of a dialect the parts of a view read. A dialect is more than this."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from toolsearchd.catalog.model import Tool
from toolsearchd.disclosure.bridge import TEXTS, BridgeTexts
from toolsearchd.disclosure.listing import Listing

if TYPE_CHECKING:
    from toolsearchd.disclosure.view import View


class Manner(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    name_of: Callable[[Tool], str]
    source_name_of: Callable[[Tool], str]
    label_of: Callable[[str], str] = str  # source name → its label in a listing
    max_queries: int | None = None  # of its own; `View.max_queries` has what holds
    max_names: int | None = None
    items_as_text: bool = False  # see `requests.parse_queries`
    keepers: Callable[[Iterable[tuple[str, Tool]]], Mapping[str, Tool]] | None = None
    """Names of its own, of which describe and call take no other form; where two tools meet in one, this says
    whose it is. None: all forms of the public names are taken."""
    count_by_chars: bool = False  # ceil(characters / 4), and the reference's rule for listings
    shows_near: bool = True  # replies carry `near`, `unknown`, `absent_product` and `repeat`
    bridges_nothing: bool = True  # a bridge stands while granted servers are still to come
    activation: Literal["any", "threshold", "never"] = "any"
    """Does any tool that may hide raise the bridge, or only schemas of `threshold_pct` of the context?
    `never`: every tool is shown directly."""
    texts: BridgeTexts = TEXTS
    prepare_of: Callable[[View], Iterator[None]] | None = None
    """What its first search needs, in small steps; driven before the view is assembled."""
    tool_of: Callable[[View, str], Tool | None] | None = None
    """The tool that bears a name of its own, beside the public names."""
    listing_of: Callable[[View, int | None], Listing] | None = None
    """Its own listing, from the view and the context length; None: the daemon's, within the budget."""
    bridge_of: Callable[[View, Listing, bool], list[dict[str, Any]]] | None = None
    """Its own bridge tools, from the view, the listing and whether that is handed apart; None: the three."""

    @property
    def bridges(self) -> bool:
        return self.activation != "never"

    @property
    def exact_names(self) -> bool:
        return self.keepers is not None
