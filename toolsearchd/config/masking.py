"""What looks like a credential in a text that is shown: the rules, in one place. Pure, linear in the text.

Names of variables, flags and headers, hosts and paths stay: they are what a person mends by. Values whose
name says what they are, parts of urls that carry keys, and runs of characters that nobody writes by hand are
`***`. What is known to be secret, whatever it looks like, is `secret_values`' to hide.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

MASK = "***"

_LEAST_CHARS = 6  # a text as short as that is no credential with a name
_PLAIN_CHARS = 12  # of a word in a part of a url that carries keys
_LOOKED_AT_CHARS = 512  # of a run of characters: enough to tell whether somebody wrote it
_RANDOM_CHARS = 20  # at least: 100 bits; shorter ones can't be told from names

_NAMES = frozenset(
    (
        *("token", "tokens", "secret", "secrets", "password", "passwd", "pass", "passphrase", "pwd", "pw"),
        *("key", "keys", "apikey", "accesskey", "privatekey", "auth", "authorization", "login", "jwt", "pat"),
        *("credential", "credentials", "creds", "cookie", "cookies", "signature", "sig", "bearer", "dsn"),
        *("otp", "pin", "webhook"),
    )
)
_NAME_ENDS = ("token", "secret", "password", "apikey")
_PLACES = frozenset(("file", "path", "dir", "directory", "name", "id", "store", "type", "url", "helper"))
"""Last words of names that tell where a secret is, or which, and hold none."""
_SECTIONS = frozenset(("env", "environment", "headers", "httpheaders"))
_NAME_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_P_OPTION = re.compile(
    r"-p(?:ort|ath|roject|rofile|rint|refix|roxy|id|rivate|ublic|reset|lugin|attern|ackage|latform|aram|arse)"
    r"|-p(?:ass(?:word|wd|phrase)?|wd|at|in)$"
)
"""Options of one dash, as some programs have them, which are no `-pPASSWORD`."""
_HEADER_FLAGS = ("-H", "--header", "--headers")
_ENV_FLAGS = ("-e", "--env", "--build-arg", "--set", "--define", "-D")

_REFERENCE = re.compile(r"(?:(?:Bearer|Basic|Token) +)?(?:\$\{(?:env:|input:)?[A-Za-z_][\w-]*\}|\{env:\w+\})")
"""A value that only names a variable: shown, since nothing of it is secret."""
_URL = re.compile(r"(?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]{1,15}://[^\s\"'<>`]+")
_PARTS = (
    r"(?P<host>[^/?#]*)(?P<path>[^?#]*)(?:\?(?P<query>[^#]*))?(?:#(?P<fragment>.*))?"  # of RFC 3986, roughly
)
_URL_PARTS = re.compile(rf"(?P<scheme>[^:/]+://)(?:(?P<user>[^/?#]*)@)?{_PARTS}", re.DOTALL)
_ODD_PARTS = re.compile(rf"(?P<scheme>[^:/]+://)(?P<user>.*)@{_PARTS}", re.DOTALL)
_HOST = re.compile(r"\[[^\]]*\](?::\d*)?|[^:]*(?::(?:\d*|\$\{.*\}))?")
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_PRIVATE_KEY = re.compile(
    r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----.*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|\Z)", re.DOTALL
)
_HEADER = re.compile(
    r"(?i)(?<![\w-])((?:proxy-)?authorization|(?:set-)?cookie|x-[a-z-]{0,24}(?:key|token|auth|secret)[a-z-]{0,24})"
    r"([\"']?\s{0,4}[:=]\s{0,4}+[\"']?+)(?!\*\*\*)([^\n\"']+)"
)
_SCHEME = re.compile(r"(?i)(?<![\w-])(bearer|basic|apikey|negotiate)( {1,4}+)(?!\*\*\*)([^\s\"',;]{6,})")
_ASSIGNED = re.compile(
    r"(?<![\w.-])(?P<name>[A-Za-z_][\w.-]{0,80})(?P<mid>[\"']?\s{0,2}[=:]\s{0,2})"
    r"(?P<value>\"[^\"\n]*\"|'[^'\n]*'|[^\s,;&\"']+)"
)
_FLAG = re.compile(
    r"(?<![\w-])(?P<name>--?[A-Za-z][\w-]{0,80})(?P<mid>\s{1,4})(?!\*\*\*)(?P<value>[^\s-]\S*)"
)
_KNOWN = re.compile(  # as their makers mark them, and JSON Web Tokens
    r"(?<![A-Za-z0-9])(?:gh[opsur]_\w{10,}|github_pat_\w{10,}|glpat-[\w-]{10,}|sk-[\w-]{10,}"
    r"|[rsp]k_(?:live|test)_\w{8,}|xox[a-z]-[\w-]{8,}|xapp-[\w-]{8,}|(?:AKIA|ASIA)[0-9A-Z]{12,}"
    r"|AIza[\w-]{20,}|ya29\.[\w-]{10,}|hf_\w{10,}|npm_\w{10,}|pypi-[\w-]{10,}|dop_v1_\w{10,}"
    r"|SG\.[\w-]{10,}(?:\.[\w-]+)?|lin_api_\w{8,}|ntn_\w{8,}|eyJ[\w-]{8,}(?:\.[\w-]+){0,4})"
)
_PLAIN_WORD = re.compile(r"[a-z-]{1,12}")
_QUOTED = re.compile(r"(?<![\w'\"])'.{2,}'|(?<![\w'\"])\".{2,}\"", re.DOTALL)
_RUN = re.compile(r"(?<![A-Za-z0-9+_-])[A-Za-z0-9+_-]{20,}={0,2}")
_HEX = re.compile(r"[0-9a-f]{32,}|[0-9A-F]{32,}")
_UPPER = re.compile(r"[A-Z_][A-Z0-9_]*")
_SHELL_WORD = re.compile(r"""((?:"[^"]*"|'[^']*'|[^\s"']|["'])++)""")
_TAKES_LINE = re.compile(r"-[a-z]{0,4}c")  # of shells
_WORD = re.compile(r"(?P<name>-{0,2}[A-Za-z_][\w.-]*)=(?P<value>.*)", re.DOTALL)


def names_secret(name: str) -> bool:
    """Does a variable, flag, header or key of this name hold a credential? `--token-file` holds a place."""
    words = [word.lower() for word in _NAME_WORD.findall(name[:200])]
    if not words or words[-1] in _PLACES:
        return False
    return any(word in _NAMES or word.endswith(_NAME_ENDS) for word in words)


def is_secret_section(key: str) -> bool:
    """Below this key of an entry every value is secret."""
    return key.lower().replace("_", "") in _SECTIONS


def is_random(run: str) -> bool:
    """A run of letters and digits that nobody writes by hand."""
    run = run.rstrip("=")[:_LOOKED_AT_CHARS]
    if len(run) < _RANDOM_CHARS or _UUID.fullmatch(run):
        return False
    if _HEX.fullmatch(run):
        return not run.isdigit()
    kinds = ["u" if c.isupper() else "l" if c.islower() else "d" if c.isdigit() else "-" for c in run]
    changes = sum(a != b and "-" not in (a, b) for a, b in pairwise(kinds))
    digits = kinds.count("d")
    return changes >= 0.45 * len(run) or (4 <= digits < len(run) and changes >= 0.25 * len(run))


# --- texts ----------------------------------------------------------------------------------------------


def masked(text: str) -> str:
    """The text with each credential in it as `***`, as far as it can be told from what is none."""
    if len(text) < _LEAST_CHARS:
        return text
    text = _PRIVATE_KEY.sub(MASK, text)
    if "://" in text:
        text = _URL.sub(lambda match: masked_url(match[0]), text)
    text = _SCHEME.sub(_behind, _HEADER.sub(_behind, text))
    text = _FLAG.sub(_assigned, _ASSIGNED.sub(_assigned, text))
    return _RUN.sub(lambda match: MASK if is_random(match[0]) else match[0], _KNOWN.sub(MASK, text))


def _behind(match: re.Match[str]) -> str:
    return match[0] if _is_reference(match[3]) else f"{match[1]}{match[2]}{MASK}"


def _assigned(match: re.Match[str]) -> str:
    name, mid, value = match["name"], match["mid"], match["value"]
    bare = value.strip("\"'")
    if not bare or _is_reference(bare) or not names_secret(name):
        return match[0]
    if ":" in mid and value == bare and len(bare) < _RANDOM_CHARS and not any(c.isdigit() for c in bare):
        return match[0]  # prose: "invalid token: expected a text"
    quote = value[0] if value != bare else ""
    return f"{name}{mid}{quote}{MASK}{quote}"


def _is_reference(value: str) -> bool:
    return _REFERENCE.fullmatch(value.strip()) is not None


def unquoted(message: str) -> str:
    """A library's message without the value that it quotes, unless that is a plain word: what stands in a
    config may be anything."""
    return _QUOTED.sub(lambda match: match[0] if _PLAIN_WORD.fullmatch(match[0][1:-1]) else "…", message)


# --- urls -----------------------------------------------------------------------------------------------


def masked_url(url: str) -> str:
    """Scheme, host, port, plain path and the names of parameters stay."""
    parts = _parts(url)
    if parts is None:
        return url
    host = parts["host"]
    if not _HOST.fullmatch(host):
        host = f"{host.partition(':')[0]}:{MASK}"  # no port: somebody's password, in the wrong place
    shown = parts["scheme"] + (f"{MASK}@" if parts["user"] is not None else "") + host
    shown += _masked_path(parts)
    if parts["query"] is not None:
        shown += "?" + "&".join(map(_masked_parameter, parts["query"].split("&")))
    if parts["fragment"]:
        shown += f"#{parts['fragment'] if _is_reference(parts['fragment']) else MASK}"
    return shown


def url_secrets(url: str) -> list[str]:
    """What of a url `masked_url` hides, as it stands there."""
    parts = _parts(url)
    if parts is None:
        return []
    user = parts["user"] or ""
    found = [user, user.partition(":")[2], parts["fragment"] or ""]
    # What stands in the place of a port is told as a bad one, without what surrounds it.
    found += [_odd_port(parts["host"]), _odd_port(user.partition("/")[0]) if "/" in user else ""]
    for pair in (parts["query"] or "").split("&"):
        name, equals, value = pair.partition("=")
        found.append(value if equals else name if _masked_parameter(pair) == MASK else "")
    for was, now in zip(parts["path"].split("/"), _masked_path(parts).split("/"), strict=True):
        found += [] if was == now else [was.partition("=")[2] if now != MASK else was]
    return [text for text in found if text and not _is_reference(text)]


def _odd_port(host: str) -> str:
    return "" if _HOST.fullmatch(host) else host.partition(":")[2]


def _parts(url: str) -> re.Match[str] | None:
    parts = _URL_PARTS.fullmatch(url)
    if parts is not None and parts["user"] is None and not _HOST.fullmatch(parts["host"]):
        return _ODD_PARTS.fullmatch(url) or parts  # somebody's password has a slash in it
    return parts


def _masked_path(parts: re.Match[str]) -> str:
    is_hook = "hook" in parts["host"].lower()
    shown = []
    for part in parts["path"].split("/"):
        is_key = bool(_UUID.fullmatch(part) or _KNOWN.search(part) or ":" in part) or is_random(part)
        is_plain = part.isalpha() and part.islower() and len(part) <= _PLAIN_CHARS
        if part and (is_key or (is_hook and not is_plain)) and not _is_reference(part):
            shown.append(MASK)
        else:
            name, equals, _ = part.partition("=")
            shown.append(f"{name}={MASK}" if equals else part)
        is_hook = is_hook or "hook" in part.lower() or names_secret(part)
    return "/".join(shown)


def _masked_parameter(pair: str) -> str:
    name, equals, value = pair.partition("=")
    if equals:
        return f"{name}={value if not value or _is_reference(value) else MASK}"
    is_plain = name.isalpha() and len(name) <= _PLAIN_CHARS
    return name if not name or is_plain or _is_reference(name) else MASK


# --- command lines and documents ------------------------------------------------------------------------


def masked_words(words: Sequence[str]) -> list[str]:
    """A command line. Besides what `masked` sees: the value of any NAME=value, of flags that name a secret,
    of `-p` and of headers, in a shell's whole line too."""
    pairs = zip(words, ["", *words], strict=False)
    return [
        masked_line(word) if " " in word and _TAKES_LINE.fullmatch(before) else _word(word, before)[0]
        for word, before in pairs
    ]


def masked_line(line: str) -> str:
    """A command line in one text, as a shell takes it: quotes hold a word together."""
    pieces = _SHELL_WORD.split(line)  # what is between words, a word, what is between words, …
    plain = [_unquoted(word) for word in pieces[1::2]]
    for at, (was, shown) in enumerate(zip(plain, masked_words(plain), strict=True)):
        if was != shown:
            quote = pieces[2 * at + 1][0] if pieces[2 * at + 1][0] in "\"'" else ""
            pieces[2 * at + 1] = f"{quote}{shown}{quote}"
    return masked("".join(pieces))


def _unquoted(word: str) -> str:
    return word.replace('"', "").replace("'", "")


def word_secrets(words: Sequence[str]) -> list[str]:
    """What of a command line `masked_words` hides; of a word that is a shell's whole line, its words too."""
    pairs = zip(words, ["", *words], strict=False)
    found = [hidden for word, before in pairs for hidden in _word(word, before)[1]]
    lines = [[_unquoted(part) for part in _SHELL_WORD.findall(word)] for word in words if " " in word]
    return found + [hidden for line in lines for hidden in word_secrets(line)]


def masked_value(value: Any) -> Any:
    """A value that is secret as a whole, and all in it; a variable's name stays, and what is no text."""
    if isinstance(value, Mapping):
        return {key: masked_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [masked_value(item) for item in value]
    if isinstance(value, bool) or value is None or (isinstance(value, str) and _is_reference(value)):
        return value
    return MASK


def masked_tree(value: Any, key: str = "") -> Any:
    """A config's part as it is shown, `key` its name there: no value of env and headers or of what is named
    like a secret, no credential of a command or in a text."""
    if is_secret_section(key) or (isinstance(value, str) and names_secret(key)):
        return masked_value(value)
    if key in ("args", "command"):
        if isinstance(value, str):
            return masked_line(value)
        if isinstance(value, list | tuple) and all(isinstance(word, str) for word in value):
            return masked_words(value)
    if isinstance(value, Mapping):
        return {_masked_key(name): masked_tree(item, str(name)) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [masked_tree(item) for item in value]
    return masked(value) if isinstance(value, str) else value


def _masked_key(key: Any) -> Any:
    return masked(key) if isinstance(key, str) else key


def _word(word: str, before: str) -> tuple[str, list[str]]:
    """A word of a command line as it is shown, and what of it is hidden."""
    if _is_reference(word):
        return word, []
    if before in _HEADER_FLAGS and ":" in word:
        name, _, value = word.partition(":")
        return f"{name}: {MASK}", [value.strip()]
    is_value = before.startswith("-") and "=" not in before and not word.startswith("-")
    if is_value and (names_secret(before) or (before == "-p" and not word.isdigit())):
        return MASK, [word]
    if match := _WORD.fullmatch(word):
        name, value = match["name"], match["value"]
        if name in _HEADER_FLAGS + _ENV_FLAGS:
            shown, hidden = _word(value, name)
            return f"{name}={shown}", hidden
        is_secret = _UPPER.fullmatch(name) or names_secret(name) or before in _ENV_FLAGS or name == "-p"
        if is_secret and value and not _is_reference(value):
            return f"{name}={MASK}", [value]
    elif word[:2] == "-p" and word[2:] and not (word[2:].isdigit() or _P_OPTION.match(word)):
        return f"-p{MASK}", [word[2:]]
    shown = masked(word)
    if shown == MASK:
        return shown, [word]
    return shown, [part for url in _URL.findall(word) for part in url_secrets(url)]
