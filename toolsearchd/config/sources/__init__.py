"""Which servers does a client's own config name? One file per client format."""

from __future__ import annotations

from toolsearchd.config.sources import claude_code, claude_desktop, cursor, hermes, vscode
from toolsearchd.config.sources.base import Format, Parsed

FORMATS: dict[str, Format] = {
    module.FORMAT.name: module.FORMAT for module in (claude_code, claude_desktop, cursor, vscode, hermes)
}
"""In the order in which `sources: auto` reads them."""

__all__ = ["FORMATS", "Format", "Parsed"]
