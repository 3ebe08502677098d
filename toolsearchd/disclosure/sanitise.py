"""The one sanitiser: whatever a server wrote passes here before a model or a terminal sees it.

Removed: control characters and escape sequences, bidirectional overrides, the Unicode tag block, zero-width
and other invisible characters. Kept: letters of every script, and the joiners and the variation selector that
scripts and emoji need, where they join something. Cleaning twice changes nothing more. Whole messages and
errors pass through `gate`, which uses this.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import quote

import msgspec

Clean = Callable[[str], str]

_ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"  # OSC, DCS, SOS, PM, APC
    r"|\x1b[ -/]*[0-~]"  # the short ones
)
# Members of character classes.
_INVISIBLES = (
    "\x00-\x08\x0e-\x1f\x7f-\x9f"  # controls, but tab and newline
    "\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f"
    "\u2800\u3164\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff\ufe00-\ufe0e\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff"
)
_JOINER = "\u200c\u200d\ufe0f"
_OTHER_LINE_ENDS = "\x0b\x0c\x85\u2028\u2029"

_LINE_ENDS = re.compile(f"\r\n?|[{_OTHER_LINE_ENDS}]")
_INVISIBLE = re.compile(f"[{_INVISIBLES}]")
_JOINERS = re.compile(f"[{_JOINER}]+")
_JOINING = frozenset(("\u200c", "\u200d", "\ufe0f", "\ufe0f\u200d"))
_NOT_PLAIN = re.compile(r"[^ -~]")
_SPACE = re.compile(r"\s+")
_ODD_ENDS = re.compile("\r(?!\n)|[\u2028\u2029]")  # a lone return has the next line hide this one
_BREAKS = re.compile("[\t\n\r\x0b\x0c\u2028\u2029]+")
_SUSPECT = re.compile(f"[{_INVISIBLES}{_JOINER}{_OTHER_LINE_ENDS}\r]")
_NOT_SEEN_IN_URIS = re.compile(f"{_INVISIBLE.pattern}|{_JOINERS.pattern}|{_BREAKS.pattern}")
_PARAGRAPHS = re.compile(r"\n{3,}")
_SENTENCE_END = re.compile(r"[.!?](?=\s|$)")
_ABBREVIATION = re.compile(r"(?:^|[^\w])(?:e\.g|i\.e|etc)$", re.IGNORECASE)

_WALKED = frozenset((str, dict, list, tuple))
_NO_FIELDS: Mapping[str, Clean] = {}

SHORT_CHARS = 60
_LOOKED_AT_CHARS = 4096  # of a text of which a few hundred characters are shown, however long it is


# Not behind a scheme, a host or a word: `https://host/path` and `and/or` are none.
_PART = r"[^\s/'\"`,;:()\[\]{}<>|]+"
_LOCAL_PATH = re.compile(rf"(?<![\w/:.~@%-])(?:~|\.{{1,2}})?/(?:{_PART}/)*({_PART})/?")


def without_paths(text: str, *known: str) -> str:
    """A line that a model may see: of each path of this machine only the last part is left. `known`: paths
    that may stand there and hold blanks."""
    for path in known:
        if "/" in path:
            text = text.replace(path, path.rstrip("/").rpartition("/")[2] or "/")
    return _LOCAL_PATH.sub(r"\1", text)


def clean(text: str) -> str:
    """Text of several lines, without what hides or moves text; all else of it as it is."""
    if _is_plain(text):
        return text
    text = _INVISIBLE.sub("", _LINE_ENDS.sub("\n", _ESCAPES.sub("", text)))
    return text if text.isascii() else _JOINERS.sub(_joiner, text)


def clean_shown(text: str) -> str:
    """As `clean`, for a person's screen: at most one blank line at a stretch."""
    text = clean(text)
    return _PARAGRAPHS.sub("\n\n", text) if "\n\n\n" in text else text


def clean_result(text: str) -> str:
    """A tool's result, without what hides text; its lines and blanks stay as they are."""
    if _is_plain(text):
        return text
    text = _ODD_ENDS.sub("\n", _INVISIBLE.sub("", _ESCAPES.sub("", text)))
    return text if text.isascii() else _JOINERS.sub(_joiner, text)


def _is_plain(text: str) -> bool:
    """Nothing in it that any of the patterns is about. Printable ASCII, lines and tabs are most of what there
    is, and far faster seen than searched through."""
    if text.isascii():
        return text.isprintable() or text.replace("\n", "").replace("\t", "").isprintable()
    return _SUSPECT.search(text) is None


def _joiner(match: re.Match[str]) -> str:
    """A joiner stays between two characters beyond ASCII, a variation selector behind a sign that has one.

    Anything else, and any run of them, is only there to hide something.
    """
    run, text = match[0], match.string
    before, after = text[match.start() - 1 : match.start()], text[match.end() : match.end() + 1]
    if run == "\ufe0f":
        return run if before > "\x7f" or before in tuple("0123456789#*") else ""
    return run if run in _JOINING and before > "\x7f" and after > "\x7f" else ""


def plain_line(text: str) -> str:
    """One line: as `clean`, with white space collapsed."""
    return _SPACE.sub(" ", clean(text)).strip()


def clean_line(text: str) -> str:
    """A name, a title, a key: as it is, without what hides text and without an end of line in it."""
    if text.isascii() and text.isprintable():
        return text
    return _BREAKS.sub(" ", clean_result(text))


def clean_uri(uri: str) -> str:
    """The same URI with what hides text as `%XX` of its UTF-8, as a URI has to have it (RFC 3986, 2.1)."""
    if uri.isascii() and uri.isprintable():
        return uri
    return _NOT_SEEN_IN_URIS.sub(lambda hidden: quote(hidden[0], safe="", errors="replace"), uri)


def visible(text: str) -> str:
    """JSON text with nothing hidden in it: what `clean` would take away stands there as an escape, which
    means the same to JSON. For text that a person is to judge as it is."""
    if text.isprintable() and _is_plain(text):
        return text
    return _NOT_PLAIN.sub(lambda match: _visible(match[0]), text)


@lru_cache(maxsize=4096)  # what recurs in a text; few scripts have more letters
def _visible(character: str) -> str:
    if character.isprintable() and clean(character) == character:
        return character
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


def clipped(text: str, chars: int) -> str:
    """At most `chars` characters, and an ellipsis where it was cut."""
    return text if len(text) <= chars else text[:chars] + "…"


def excerpt(text: str, chars: int) -> str:
    """The clean beginning of a text of any length: `chars` characters at most, and an ellipsis where cut."""
    looked_at = text[: max(_LOOKED_AT_CHARS, 4 * chars)]
    shown = clipped(clean_shown(looked_at), chars)
    return shown if len(shown) > chars or len(looked_at) == len(text) else shown + "…"


def short_description(text: str, most: int = SHORT_CHARS) -> str:
    """The first sentence, at most 60 characters, cut at a word (the reference's rule for listings)."""
    text = plain_line(text[:_LOOKED_AT_CHARS])
    for end in _SENTENCE_END.finditer(text):
        if text[end.start()] == "." and _ABBREVIATION.search(text[max(0, end.start() - 8) : end.start()]):
            continue
        text = text[: end.end()]
        break
    if len(text) <= most:
        return text
    cut = text[:most]
    if " " in cut:
        cut = cut[: cut.rindex(" ")]
    return cut.rstrip(",;: ") + "…"


def has_plain_text(value: Any) -> bool:
    """True where every text in it is printable ASCII, so that there is nothing to clean. May be False for
    others of which that is true."""
    if isinstance(value, str):
        return value.isascii() and value.isprintable()
    try:
        data = msgspec.json.encode(value)
    except (ValueError, TypeError, OverflowError, RecursionError):
        return False
    # The encoder writes whatever is not printable as an escape, but DEL and what is beyond ASCII.
    return data.isascii() and b"\x7f" not in data and data.count(b"\\") == data.count(b'\\"')


def clean_json(
    value: Any,
    text: Clean = clean,
    fields: Mapping[str, Clean] = _NO_FIELDS,
    free: frozenset[str] = frozenset(),
) -> Any:
    """The same value with every text in it as `text` gives it, keys as one line: schemas carry descriptions,
    defaults, examples. Two keys that become alike stay two. Linear, and without recursion.

    `fields`: what cleans the texts under a key in the place of `text`, but not below a key of `free`.
    """
    if has_plain_text(value):
        return value
    found: list[Any] = [None]
    left: list[tuple[Any, Any, Any, Clean, Mapping[str, Clean]]] = [(found, 0, value, text, fields)]
    while left:
        holder, at, one, rule, rules = left.pop()
        if isinstance(one, str):
            holder[at] = rule(one)
        elif isinstance(one, dict):
            names = _clean_keys(one)
            made = holder[at] = dict(zip(names, one.values(), strict=True))
            for name, (key, item) in zip(names, one.items(), strict=True):
                if type(item) in _WALKED:
                    below = _NO_FIELDS if key in free else rules
                    left.append((made, name, item, below.get(key, text), below))
        elif isinstance(one, list | tuple):
            made_list = holder[at] = list(one)
            left += [
                (made_list, place, item, rule, rules)
                for place, item in enumerate(one)
                if type(item) in _WALKED
            ]
        else:
            holder[at] = one
    return found[0]


def _clean_keys(one: dict[Any, Any]) -> list[Any]:
    """Its keys, each clean and none twice: one that was clean keeps its name, others get a number."""
    keys = list(one)
    names = [clean_line(key) if isinstance(key, str) else key for key in keys]
    if names == keys:
        return keys
    taken = {name for key, name in zip(keys, names, strict=True) if key == name}
    numbers: dict[str, int] = {}  # the last one given behind a name, so that many alike cost no search each
    for place, (key, name) in enumerate(zip(keys, names, strict=True)):
        if key == name:
            continue
        free = name
        while free in taken:
            numbers[name] = numbers.get(name, 1) + 1
            free = f"{name} ({numbers[name]})"
        taken.add(free)
        names[place] = free
    return names
