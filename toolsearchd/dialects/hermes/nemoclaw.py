"""Hermes as NemoClaw configures it: always a bridge, 5 matches by default and 20 at most."""

from __future__ import annotations

import msgspec

from toolsearchd.dialects.hermes.dialect import HERMES

NEMOCLAW_HERMES = msgspec.structs.replace(
    HERMES,
    name="nemoclaw-hermes",
    presets={"enabled": "on", "search_default_limit": 5, "max_search_limit": 20},
)
