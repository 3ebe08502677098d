"""No bridge: every granted tool with its schema, as if the daemon were not there."""

from __future__ import annotations

import msgspec

from toolsearchd.dialects.default import DEFAULT

DIRECT = msgspec.structs.replace(DEFAULT, name="direct", activation="never")
