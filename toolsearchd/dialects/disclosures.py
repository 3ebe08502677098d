"""What an environment says of disclosure: our own variable, and the one that NemoClaw sets for its agents."""

from __future__ import annotations

from collections.abc import Mapping

DISCLOSURES = ("progressive", "direct")
VARIABLES = ("TOOLSEARCHD_TOOL_DISCLOSURE", "NEMOCLAW_TOOL_DISCLOSURE")


def disclosure_in(environ: Mapping[str, str]) -> tuple[str | None, str]:
    """The word, and the variable that says it. Of two, what is no word of `DISCLOSURES` is told of, and then
    one `direct` settles it."""
    words = [(environ[name], name) for name in VARIABLES if environ.get(name)]
    words.sort(key=lambda word: (word[0] in DISCLOSURES, word[0] != "direct"))
    return words[0] if words else (None, VARIABLES[0])
