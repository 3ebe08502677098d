"""What an HTTP status says of a request: refused, sent too often, or in a session that is no more. Pure."""

from __future__ import annotations

import re
from email.utils import parsedate_to_datetime
from typing import Any, Literal

import msgspec

from toolsearchd.disclosure.sanitise import plain_line

MOST_BYTES = 65_536  # of a refusal's body; what is beyond is not read
HINTS = {
    401: "it wants a login, or another token in the entry's headers",
    403: "it refuses these credentials",
    404: "nothing is served at this address",
    405: "what is served at this address is no MCP of this transport",
    429: "it was asked too often",
    500: "it failed inside",
    502: "what stands in front of it can't reach it",
    503: "it takes no requests now",
    504: "what stands in front of it had no answer from it in time",
}
_LONGEST_S = 86_400.0
_WORDS_CHARS = 300
_METHOD_NOT_FOUND, _INVALID_PARAMS = -32_601, -32_602
_PROTOCOLS_OWN = (-32_000, -32_001, -32_600)  # codes by which servers speak of their sessions
_OF_A_SESSION = re.compile(r"session|not initiali[sz]ed", re.IGNORECASE)
# Of what servers say of MCP's own sessions. Any other word names a session of something else: a tool's.
_PROTOCOLS_WORDS = frozenset(
    """a active again already an and any anymore bad been before being begin but by can cannot client closed
    code connect could data deleted detail details does doesn't due dropped end ended error exist exists
    expired false first for found gone handshake has have header headers http id ids idle in inactivity
    initialisation initialise initialised initialization initialize initialized invalid is isn't it jsonrpc
    key known longer lost mcp message method missing must need needs new no not null of on open or
    permission please provided received re recognised recognized reconnect reinitialise reinitialize removed
    request required restart restarted retry send server session sessionid sessions start stale start state
    status streamable successful success supplied terminated that the this timed timeout title to transport
    true try type unknown url use valid was wasn't were with without you your""".split()
)
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
_STATUS_DIGITS = 3
_SESSION_ENDED = re.compile(
    r"(no|invalid|unknown|expired|missing|closed|terminated) (valid )?(mcp[- ])?session"
    r"|session(?: ?id)?\b.{0,80}\b(not found|not exist|unknown|invalid|expired|terminated|closed|ended)"
    r"|server not initiali[sz]ed",
    re.IGNORECASE | re.DOTALL,
)


Grounds = Literal["", "status", "words", "mention"]
"""Why a session is taken to have ended: HTTP's word for it, words that can mean nothing else, words of it."""


class HttpRefusal(msgspec.Struct, frozen=True):
    """Of one request. `words`: the status, a hint, and what the server says itself."""

    status: int
    words: str
    ends_session: Grounds = ""
    retry_after_s: float | None = None
    code: int | None = None  # of the JSON-RPC error that came with it


def refusal_of(
    status: int,
    phrase: str,
    body: bytes,
    *,
    in_session: bool,
    session_id: str = "",
    retry_after: str = "",
    now: float = 0.0,
) -> HttpRefusal | None:
    """None where the body has more to say than the status: a JSON-RPC error, which is an answer.

    `now`: seconds since the epoch, to read a date in `retry_after`.
    """
    error = _error_in(body)
    code = error.get("code") if error is not None else None
    said = _words_in(body, error)
    told = f"it answered {status} {phrase}".rstrip()
    if in_session and (grounds := _ends_session(status, code, said, session_id)):
        told += f"; it says: {said}" if said else ""
        known = code if isinstance(code, int) else None
        return HttpRefusal(status, told, ends_session=grounds, code=known)
    if status in (401, 403, 429) or status >= 500 or error is None:
        told += f": {HINTS[status]}" if status in HINTS else ""
        told += f"; it says: {said}" if said else ""
        return HttpRefusal(status, told, retry_after_s=_seconds(retry_after, now))
    return None


def says_session_ended(error: Any, session_id: str) -> bool:
    """Does a JSON-RPC error, in an answer that came through, say that the session is no more? Of no session
    (`session_id` is empty) none can."""
    if not session_id or not isinstance(error, dict) or error.get("code") not in _PROTOCOLS_OWN:
        return False
    message = error.get("message")
    return isinstance(message, str) and _says_so(message[:_WORDS_CHARS], session_id)


def _ends_session(status: int, code: Any, said: str, session_id: str) -> Grounds:
    if status in (404, 410):
        return "" if code == _METHOD_NOT_FOUND else "status"
    if status != 400 or code == _INVALID_PARAMS or not _OF_A_SESSION.search(said):
        return ""
    return "words" if _says_so(said, session_id) else "mention"


def _says_so(text: str, session_id: str) -> bool:
    """That a session ended, and nothing of what MCP does not know, but the session's own id."""
    if not _SESSION_ENDED.search(text):
        return False
    words = _WORD.findall((text.replace(session_id, " ") if session_id else text).lower())
    return all(
        word in _PROTOCOLS_WORDS or (word.isdecimal() and len(word) <= _STATUS_DIGITS) for word in words
    )


def _error_in(body: bytes) -> dict[str, Any] | None:
    """The JSON-RPC error that the body is."""
    try:
        found = msgspec.json.decode(body, type=dict[str, Any])
    except (ValueError, RecursionError):
        return None
    error = found.get("error")
    return error if "jsonrpc" in found and isinstance(error, dict) else None


def _words_in(body: bytes, error: dict[str, Any] | None) -> str:
    message = error.get("message") if error is not None else None
    text = message if isinstance(message, str) else body[: 4 * _WORDS_CHARS].decode("utf-8", "replace")
    return "" if text.lstrip()[:1] == "<" else plain_line(text)[:_WORDS_CHARS]  # a page for people


def _seconds(retry_after: str, now: float) -> float | None:
    """Retry-After (RFC 9110 §10.2.3): seconds or a date; None where it says neither."""
    text = retry_after.strip()
    if text.isascii() and text.isdigit():
        return min(float(text[:9]), _LONGEST_S)
    try:
        return min(max(0.0, parsedate_to_datetime(text).timestamp() - now), _LONGEST_S)
    except (ValueError, TypeError, OverflowError):
        return None
