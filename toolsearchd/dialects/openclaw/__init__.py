"""OpenClaw: the three generations of its tool search."""

from toolsearchd.dialects.guest import Guest

_NAMES = ("openclaw", "openclaw-g1", "openclaw-g2", "openclaw-g3")

GUEST = Guest(
    dialects=dict.fromkeys(_NAMES, "dialect.OPENCLAW"),
    clients=(("openclaw", "openclaw"), ("openclaw-*", "openclaw")),
    rankings={"openclaw": "ranker.OPENCLAW"},
    options=dict.fromkeys(_NAMES, "options.OPTIONS"),
    modules=("ranker", "catalog", "replies", "dialect"),
)
