"""What is known to be secret of one server, or of a whole config: hidden wherever a text about it shows it.

A server may print its own environment, an error may quote the url that was asked: the exact values go, in the
forms in which programs write them. `masked` adds the rules of `masking` for what nobody knows.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote, unquote

from toolsearchd.config.masking import (
    MASK,
    is_secret_section,
    masked,
    names_secret,
    url_secrets,
    word_secrets,
)
from toolsearchd.config.model import ServerSpec

_LEAST_CHARS = 6  # shorter values stand in ordinary words
_LINE_CHARS = 12  # of a value of several lines, such as a private key, each line counts that is so long


class SecretValues:
    """`values`: as they are configured; what is short is hidden only where it stands in quotes."""

    def __init__(self, values: Iterable[str]) -> None:
        found: set[str] = set()
        for value in values:
            found |= _forms(value)
        self._long = sorted((v for v in found if len(v) >= _LEAST_CHARS), key=lambda v: (-len(v), v))
        self._short = sorted(v for v in found if 0 < len(v) < _LEAST_CHARS)

    def hidden(self, text: str, *, is_cut: bool = False) -> str:
        """Without the known values. `is_cut`: either end of the text may lie within one."""
        for value in self._long:  # the longest first: a line of a value is not looked for before the whole
            text = text.replace(value, MASK)
            if is_cut:
                text = _without_end(_without_beginning(text, value), value)
        return text

    def masked(self, text: str, *, is_cut: bool = False) -> str:
        """Without the known values and without what looks like a credential."""
        return masked(self.hidden(text, is_cut=is_cut))

    def masked_source(self, text: str) -> str:
        """A piece of a config file, in which short values stand in quotes."""
        for value in self._short:
            for mark in "\"'":
                text = text.replace(f"{mark}{value}{mark}", f"{mark}{MASK}{mark}")
        return self.masked(text)

    def hidden_tree(self, value: Any) -> Any:
        """`hidden` for each text of a JSON-like value."""
        if isinstance(value, str):
            return self.hidden(value)
        if isinstance(value, Mapping):
            return {self.hidden_tree(key): self.hidden_tree(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self.hidden_tree(item) for item in value]
        return value


def _without_end(text: str, value: str) -> str:
    """Without the beginning of `value` at the end of `text`."""
    start = max(0, len(text) - len(value) + 1)
    at = text.find(value[:_LEAST_CHARS], start)
    while at >= 0:
        if value.startswith(text[at:]):
            return text[:at] + MASK
        at = text.find(value[:_LEAST_CHARS], at + 1)
    return text


def _without_beginning(text: str, value: str) -> str:
    """Without the end of `value` at the beginning of `text`."""
    end = min(len(text), len(value) - 1)
    while (at := text.rfind(value[-_LEAST_CHARS:], 0, end)) >= 0:
        end = at + _LEAST_CHARS
        if value.endswith(text[:end]):
            return MASK + text[end:]
        end -= 1
    return text


def secrets_of(spec: ServerSpec, environment: Mapping[str, str] | None = None) -> SecretValues:
    """Of a server: its env and headers, credentials of its command and url, and of the `environment` it is
    started with what was passed on by name or is named like a secret."""
    given = environment or {}
    passed = [value for name, value in given.items() if name in spec.pass_env or names_secret(name)]
    values = [*spec.env.values(), *spec.headers.values(), *passed]
    return SecretValues([*values, *word_secrets(spec.command), *url_secrets(spec.url)])


def secrets_of_environment(environ: Mapping[str, str]) -> SecretValues:
    """Of variables, those that are named like a secret."""
    return SecretValues(value for name, value in environ.items() if names_secret(name))


def secrets_in(*documents: Any) -> SecretValues:
    """Of config documents, whatever their client's form."""
    found: list[str] = []
    for document in documents:
        _collect(document, found, is_secret=False)
    return SecretValues(found)


def _collect(value: Any, found: list[str], *, is_secret: bool) -> None:
    if isinstance(value, Mapping):
        for key, item in value.items():
            name = str(key)
            below = is_secret or is_secret_section(name) or names_secret(name)
            if name in ("args", "command") and isinstance(item, list):
                found += word_secrets([str(word) for word in item])
            _collect(item, found, is_secret=below)
    elif isinstance(value, list):
        for item in value:
            _collect(item, found, is_secret=is_secret)
    elif isinstance(value, str):
        found += [value] if is_secret else word_secrets([value])
    elif is_secret and value is not None and not isinstance(value, bool):
        found.append(str(value))


def _forms(value: str) -> set[str]:
    """A value as programs write it: whole, line by line, without its scheme, escaped, in a url."""
    plain = {value, value.strip(), " ".join(value.split())}
    plain |= {line.strip() for line in value.splitlines() if len(line.strip()) >= _LINE_CHARS}
    scheme, _, credential = value.strip().partition(" ")
    if scheme.lower() in ("bearer", "basic", "token", "apikey", "digest", "negotiate"):
        plain.add(credential.strip())
        if scheme.lower() == "basic":
            plain |= _basic(credential.strip())
    plain |= {unquote(text) for text in tuple(plain) if "%" in text}
    forms = set(plain)
    for text in plain:
        forms.add(quote(text, safe="", errors="replace"))
        forms.add(quote(text, errors="replace"))
        forms.add(json.dumps(text)[1:-1])
        forms.add(json.dumps(text, ensure_ascii=False)[1:-1])
        forms.add(repr(text)[1:-1])
    return {form for form in forms if form.strip()}


def _basic(credential: str) -> set[str]:
    try:
        user, _, password = base64.b64decode(credential, validate=True).decode().partition(":")
    except (binascii.Error, ValueError):
        return set()
    return {password, f"{user}:{password}"} if password else set()
