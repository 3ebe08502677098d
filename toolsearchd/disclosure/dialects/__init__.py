"""…in whose words?

A dialect is one small module that makes one `Dialect`; the table below is all that knows them.
"""

from __future__ import annotations

from toolsearchd.disclosure.dialects.base import Dialect
from toolsearchd.disclosure.dialects.default import DEFAULT
from toolsearchd.disclosure.dialects.direct import DIRECT
from toolsearchd.disclosure.dialects.hermes import HERMES

DIALECTS: dict[str, Dialect] = {dialect.name: dialect for dialect in (DEFAULT, DIRECT, HERMES)}

__all__ = ["DIALECTS", "Dialect"]
