"""Which servers does a client's own config name? One file per client format."""

from __future__ import annotations

from toolsearchd.config.sources import (
    claude_code,
    claude_desktop,
    cline,
    codex,
    cursor,
    gemini,
    hermes,
    lmstudio,
    openclaw,
    opencode,
    vscode,
    windsurf,
    zed,
)
from toolsearchd.config.sources.base import Format, Parsed
from toolsearchd.globs import matches_glob

_MODULES = (
    *(claude_code, claude_desktop, cursor, vscode, windsurf, codex, gemini, zed, cline, opencode, lmstudio),
    *(hermes, openclaw),
)
FORMATS: dict[str, Format] = {module.FORMAT.name: module.FORMAT for module in _MODULES}
"""In the order in which `sources: auto` reads them."""


def format_of(path: str) -> Format | None:
    """For a path named without its format: the format whose own file has this name and folder."""
    for format_ in FORMATS.values():
        ends = [place.removeprefix("~/").removeprefix("$config/") for place in format_.locations]
        if any(end and f"/{path}".endswith(f"/{end}") for end in (*ends, format_.project_file)):
            return format_
    return None


def client_of(name: str) -> str:
    """The format of the client that calls itself so; empty for one that has none."""
    named = name.casefold()
    return next(
        (one.name for one in FORMATS.values() if any(matches_glob(named, glob) for glob in one.clients)), ""
    )


__all__ = ["FORMATS", "Format", "Parsed", "client_of", "format_of"]
