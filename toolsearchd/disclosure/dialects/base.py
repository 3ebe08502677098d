"""What a dialect decides: names, ranker, caps, counting, words. A dialect is one value of this."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import msgspec

from toolsearchd.catalog.model import Tool
from toolsearchd.disclosure.bridge import TEXTS, BridgeTexts


class Dialect(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    ranker: Literal["default", "hermes", "hermes-v1"] = "default"
    name_of: Callable[[Tool], str]
    source_name_of: Callable[[Tool], str]
    label_of: Callable[[str], str] = str  # source name → its label in a listing
    max_queries: int
    max_names: int
    argument_rules: Literal["default", "hermes"] = "default"
    exact_names: bool = False  # describe and call take the exact name and no other form
    count_by_chars: bool = False  # ceil(characters / 4) instead of the tokenizer
    reevaluates: bool = False  # each assemble gives the newest listing; nothing is held
    shows_near: bool = True  # replies carry `near`, `unknown` and `absent_product`
    bridges: bool = True  # False: every tool is shown directly
    bridges_nothing: bool = True  # a bridge stands while granted servers are still to come
    texts: BridgeTexts = TEXTS
