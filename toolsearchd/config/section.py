"""The base of the config's strict sections, and the kinds of their values."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

Then = Literal["allow", "ask", "deny"]
Count = Annotated[int, msgspec.Meta(ge=1)]
Seconds = Annotated[float, msgspec.Meta(ge=0, le=1e9)]
Text = Annotated[str, msgspec.Meta(min_length=1)]


class Section(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of what is strict: an unknown key is an error."""
