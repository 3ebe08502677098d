"""Entries that were moved out of clients' configs: where they are kept, and how the daemon reads them."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from toolsearchd.config.expand import ExpandContext
from toolsearchd.config.sources import FORMATS, Format, Parsed

FOLDER = "clients"
"""Beside the daemon's config: a person's servers are no state that may be lost."""

MOVED_FROM = "moved_from"
"""The key at the top of such a file: the client's own config. Its entries still count as standing there, so
that neither a move nor its end renames or restarts a server."""


KEPT = "kept"
"""The key beside it: names of the entries that stay with the client. The daemon does not run them as well."""


def moved_file(client: str) -> str:
    """The name, in that folder, of the file that holds a client's entries in that client's own format."""
    return f"{client}.{FORMATS[client].locations[0].rpartition('.')[2]}"


def read_moved(format_: Format, text: str, file: str, context: ExpandContext) -> Parsed:
    """As the client's own file would be read, by its rules."""
    parsed = format_.parse(text, file, context)
    value = format_.load(text, file).value
    home = value.get(MOVED_FROM) if isinstance(value, Mapping) else None
    if not isinstance(value, Mapping) or not isinstance(home, str) or not home:
        return parsed
    servers = tuple(
        msgspec.structs.replace(
            spec,
            origins=tuple(
                msgspec.structs.replace(origin, file=home, kept_in=file) for origin in spec.origins
            ),
        )
        for spec in parsed.servers
    )
    kept = tuple((home, name) for name in value[KEPT]) if isinstance(value.get(KEPT), list) else ()
    return msgspec.structs.replace(parsed, servers=servers, kept=kept)
