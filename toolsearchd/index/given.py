"""Which words of a query are given as values: names, places, files, what something is called or about.

A tool does not carry the value that it will be called with. So these words, where no tool carries them, say
nothing of what is asked for, and a product among them is not the place that the query wants to work at.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator

from toolsearchd.index import text
from toolsearchd.nfkc import nfkc

_TOKEN = re.compile(r"\S+")
_QUOTED = re.compile(r"\"([^\"]+)\"|(?<!\w)'([^']+)'(?!\w)|“([^“”]+)”|«([^«»]+)»|`([^`]+)`")
_JOINED = re.compile(r"\w[./@:\\=#]+\w|^[~/.]+/|^[A-Z][A-Z0-9]*_[A-Z0-9_]+$")  # not `create_issue`
_DIGIT = re.compile(r"\d")
_ENDS = tuple(".!?:;")  # a capital after one of these is the sentence's

# A service stands behind these: `post it on Mastodon`.
_AT = frozenset(("on", "via", "using", "through", "with", "inside"))
_OWN = frozenset(("my", "our", "your", "the", "a", "an", "their"))

# Before a name that a tool is asked about, rather than the place that it works at.
_ABOUT = r"of|about|for|at|by|called|named|titled|mentions?|mentioning|regarding|concerning"
_PLACE = r"on|in|to|into|via|through|using|with|within|inside"
_EXCHANGE = r"replac\w*|renam\w*|swap\w*|substitut\w*|chang\w*"


def given(query: str) -> frozenset[str]:
    """The words, case folded, that stand in the form of a name or a file; known ones may be among them."""
    query = nfkc(query)
    found = {word for match in _QUOTED.finditer(query) for word in _words(match[match.lastindex or 0])}
    tokens = [token.strip("()[]{},\"'“”«»`") for token in _TOKEN.findall(query)]
    words = [token for token in tokens if token[:1].isalpha()]
    is_sentence = 2 * sum([word[0].islower() for word in words]) >= len(words)
    named: set[str] = set()
    begins: set[str] = set()  # capitals there are the sentence's
    for at, token in enumerate(tokens):
        bare = token.rstrip(".,!?:;")
        if not bare:
            continue
        if _JOINED.search(bare) or _DIGIT.search(bare):
            found.update(_words(bare))
        elif not at or tokens[at - 1].endswith(_ENDS):
            begins.update(_words(bare))
        elif is_sentence and bare[0].isupper():
            before = tokens[at - 1].lower()
            if before in _OWN and at > 1:
                before = tokens[at - 2].lower()
            if before not in _AT:
                named.update(_words(bare))
    return frozenset(found | named - begins)


def _words(part: str) -> Iterator[str]:
    for run in text.runs(part):
        yield from text.parts(run)


def is_value(
    product: str, query: str, here: Collection[str] = (), is_known: Callable[[str], bool] = lambda word: False
) -> bool:
    """Is every mention of the product part of a longer name (`linear.app`), what something is about, one of
    several things that a tool is for (`the foo image`), or what stands at another service?

    `here`: products that the query names and a tool carries. One that the query works in, as in `pause the
    Foo app in bar`, makes `foo` the value. `is_known`: of a word, does a tool carry it? A query that begins
    with `jira_` is a tool's name.
    """
    name = _name(product)
    forms = (
        rf"(?<=\w)[._\-/@:]{name}(?![^\W_])",
        rf"(?<![^\W_]){name}[./@:](?=\w)",
        rf"(?<=\s){name}[_\-](?=\w)",
        rf"\b(?:{_ABOUT})\s+(?:(?!{_PLACE})\w+\s+){{0,2}}?{name}(?![^\W_])",
        rf"\b(?:{_EXCHANGE})\s+{name}\s+(?:with|by|to|into|as)\b",
        rf"\bfrom\s+{name}\s+(?:{_ABOUT})\b",  # a sender
    )
    folded = nfkc(query).casefold()
    rest = re.sub("|".join(forms), " ", folded)
    if re.search(rf"(?<![^\W_]){name}(?![^\W_])", rest) is None:
        return True
    if is_place(product, query):
        return False
    kind_of = re.search(rf"\b(?:the|this|that)\s+{name}\s+(\w+)", rest)
    if kind_of and is_known(kind_of[1]):
        return True
    return any(is_place(other, query, leads=False) for other in here)


def is_place(product: str, query: str, *, leads: bool = True) -> bool:
    """Does a query begin with the product, if `leads`, or work `on` or `in` it?"""
    at = (r"^\W*|" if leads else "") + rf"\b(?:{_PLACE})\s+(?:(?:my|our|your|the|an?|their)\s+)?"
    return re.search(rf"(?:{at}){_name(product)}(?![^\W_])", nfkc(query).casefold()) is not None


def _name(product: str) -> str:
    return r"[\W_]+".join(map(re.escape, product.split()))
