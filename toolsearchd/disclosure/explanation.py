"""Every number behind an answer, in the names that the session knows; under the grant, as the answer was."""

from __future__ import annotations

from typing import Any

from toolsearchd.disclosure.sanitise import clean_line
from toolsearchd.disclosure.view import View
from toolsearchd.errors import ToolsearchdError
from toolsearchd.index.explain import explain as explain_answer
from toolsearchd.index.ranker import DefaultSearcher
from toolsearchd.index.ranking import DEFAULT
from toolsearchd.limits import Limits

LIMIT = 10


def explain(view: View, query: str, tool_name: str | None, *, limits: Limits) -> dict[str, Any]:
    """Terms, gate, coverage, candidates and, for a tool, the one reason why it was or was not offered.

    The `default` ranker is explained, whichever the session searches with. Raises TOOL_NOT_FOUND.
    """
    snapshot = view.snapshot
    searcher = snapshot.searcher(DEFAULT, view.mask, view.lexicon, view.seen.sentences)
    assert isinstance(searcher, DefaultSearcher)
    doc, key = None, ""
    if tool_name is not None:
        tool = view.resolve(tool_name)
        if tool is None:
            raise ToolsearchdError(
                "TOOL_NOT_FOUND",
                f"no tool {tool_name[:80]!r} is granted here",
                near=snapshot.near(tool_name[:256], view.mask),
            )
        doc, key = snapshot.doc_of(tool), tool.public_name
    found = explain_answer(searcher, clean_line(query[: limits.query_chars]), LIMIT, doc, key)

    def name(doc: int) -> str:
        tool = snapshot.tools[doc]
        assert tool is not None
        return view.dialect.name_of(tool)

    for list_name in ("matches", "near"):
        found[list_name] = [name(doc) for doc in found[list_name]]
    for candidate in found["candidates"]:
        candidate["tool"] = name(candidate.pop("doc"))
    return found
