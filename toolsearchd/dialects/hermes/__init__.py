"""Hermes: its releases of September and June 2026, and as NemoClaw configures it."""

from toolsearchd.dialects.guest import Guest

GUEST = Guest(
    dialects={
        "hermes": "dialect.HERMES",
        "hermes-v1": "june.HERMES_V1",
        "nemoclaw-hermes": "nemoclaw.NEMOCLAW_HERMES",
    },
    clients=(("hermes", "hermes"), ("hermes-agent", "hermes"), ("nemoclaw-hermes", "nemoclaw-hermes")),
    rankings={"hermes": "ranker.HERMES", "hermes-v1": "ranker.HERMES_V1"},
    modules=("coercion", "analyzer", "ranker", "dialect", "june", "nemoclaw"),
)
