"""What a model is told to try next when a search found nothing sure, or a name does not exist."""

from __future__ import annotations

from toolsearchd.index.searcher import Group

RETRY = (
    "Nothing matches. Search again with other keywords: service + action + object, in a source's own words. "
    "If that finds nothing either, say so; a source that is not ready may come back."
)
REPEATED = "The same answer as before, nothing has changed. Describe and call one, or say that none fits."
NOT_FOUND = "These names are not granted here. Use the near names, or tool_search to find the right ones."

_NEAR = "Nothing matches surely; `near` is a guess. Describe one before you call it, or use other keywords."
_EMPTY = "The query holds no keyword. Give service + action + object."
_ABSENT = "No connected source is about {product}. Do not retry with other words; say that it is missing."
_ABSENT_NEAR = (
    "No connected source is about {product}: say so, unless it is only what is asked about. `near` is a "
    "guess for that case; describe one before you call it."
)
_ABSENT_YET = (
    "No source that is ready is about {product}. Some are not ready, see available_sources: search again "
    "when they are, not with other words."
)
_NOT_PRESENT = (
    "Still nothing matches: treat it as not present. Do not search for it again; say that it is missing, or "
    "go on without it."
)
_NOT_PRESENT_NEAR = (
    "Still nothing matches surely, and other words will hardly help. `near` is the closest there is: "
    "describe one that may fit. If none does, it is not present: say so, and do not search for it again."
)
_NOT_PRESENT_YET = (
    "Still nothing matches: treat it as not present in the sources that are ready. Some are not, see "
    "available_sources: search again when they are, not before."
)


def hint_for(query: str, found: Group, *, all_ready: bool, hopeless: bool) -> str:
    """For a group without matches; `all_ready`: no source could still come; `hopeless`: it was searched for
    often enough, so that other words are not what is missing."""
    if found.absent_product:
        text = _ABSENT_NEAR if found.near else _ABSENT if all_ready else _ABSENT_YET
        return text.format(product=found.absent_product)
    if hopeless and query:
        if not all_ready:
            return _NOT_PRESENT_YET
        return _NOT_PRESENT_NEAR if found.near else _NOT_PRESENT
    if found.near:
        return _NEAR
    return RETRY if query else _EMPTY
