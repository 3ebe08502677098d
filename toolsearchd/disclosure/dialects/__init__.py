"""…in whose words?

A dialect is one small module that makes one `Dialect`; the table below is all that knows them.
"""

from __future__ import annotations

from toolsearchd.disclosure.dialects.base import Dialect
from toolsearchd.disclosure.dialects.deepagents import DEEPAGENTS
from toolsearchd.disclosure.dialects.default import DEFAULT
from toolsearchd.disclosure.dialects.direct import DIRECT
from toolsearchd.disclosure.dialects.hermes import HERMES
from toolsearchd.disclosure.dialects.hermes_v1 import HERMES_V1
from toolsearchd.disclosure.dialects.nemoclaw_hermes import NEMOCLAW_HERMES
from toolsearchd.disclosure.dialects.openclaw import OPENCLAW

DIALECTS: dict[str, Dialect] = {
    dialect.name: dialect
    for dialect in (DEFAULT, DIRECT, HERMES, HERMES_V1, NEMOCLAW_HERMES, DEEPAGENTS, *OPENCLAW)
}

__all__ = ["DIALECTS", "Dialect"]
