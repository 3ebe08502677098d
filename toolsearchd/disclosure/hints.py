"""What a model is told to try next when a search found nothing sure, or a name does not exist."""

from __future__ import annotations

from toolsearchd.index.searcher import Group

RETRY = (
    "Nothing matches. Search again with other keywords: service + action + object, in a source's own words. "
    "If that finds nothing either, say so; a source that is not ready may come back."
)
NOT_FOUND = "These names are not granted here. Use the near names, or tool_search to find the right ones."

_NEAR = "Nothing matches surely; `near` is a guess. Describe one before you call it, or use other keywords."
_EMPTY = "The query holds no keyword. Give service + action + object."
_ABSENT = "No connected source is about {product}. Do not retry with other words; say that it is missing."
_ABSENT_YET = (
    "No source that is ready is about {product}. Some are not ready, see available_sources: search again "
    "when they are, not with other words."
)


def hint_for(query: str, found: Group, *, all_ready: bool) -> str:
    """For a group without matches; `all_ready`: no source could still come."""
    if found.absent_product:
        return (_ABSENT if all_ready else _ABSENT_YET).format(product=found.absent_product)
    if found.near:
        return _NEAR
    return RETRY if query else _EMPTY
