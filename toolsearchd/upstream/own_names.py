"""What a server itself calls its prompts, arguments and resources, where others are shown another name.

Shown names pass the gate; a request has to name things as their server does. Pure. Names that the gate leaves
alone, which is nearly all, cost nothing here.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from hashlib import blake2b
from operator import is_not
from typing import Any

from toolsearchd.disclosure.sanitise import clean_line, clean_uri

_KEPT = 1024  # of one server; the oldest go first
_NAME_CHARS = 2048  # a longer one that hides something is not kept, and can't be asked for
_LEVELS = 4  # a prompt's messages, their content, its resource
_URIS = {"uri", "uriTemplate"}
_HOLDERS = {"content", "contents", "messages", "resource", "resources", "resourceTemplates"}
_HOLDERS |= {"prompts", "arguments"}


class OwnNames:
    """Of one server; outlives its connections."""

    def __init__(self) -> None:
        self._own: OrderedDict[str, str] = OrderedDict()  # as shown → as the server writes it

    def note(self, result: dict[str, Any]) -> dict[str, Any]:
        """The result with each URI, and the name of each prompt and argument, as it is shown from now on."""
        noted: dict[str, Any] = self._noted(result, "", _LEVELS)
        return noted

    def _noted(self, value: Any, holder: str, levels: int) -> Any:
        """As deep as MCP's own fields go: what a server nests elsewhere names nothing."""
        if isinstance(value, list) and holder:
            items = [self._noted(item, holder, levels) if isinstance(item, dict) else item for item in value]
            return items if any(map(is_not, items, value)) else value
        if not isinstance(value, dict) or not levels:
            return value
        changed = {}
        for key in value.keys() & _HOLDERS:
            changed[key] = self._noted(value[key], key, levels - 1)
        for key in value.keys() & _URIS:
            if isinstance(uri := value[key], str):
                changed[key] = self._shown(uri, clean_uri(uri))
        if holder in ("prompts", "arguments") and isinstance(name := value.get("name"), str):
            changed["name"] = self._shown(name, _told_apart(name))
        return value | changed if any(item is not value[key] for key, item in changed.items()) else value

    def _shown(self, own: str, shown: str) -> str:
        if shown != own and len(own) <= _NAME_CHARS:
            self._own[shown] = own
            self._own.move_to_end(shown)
            while len(self._own) > _KEPT:
                self._own.popitem(last=False)
        return shown

    def restored(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """The parameters of a request with the server's own names in them."""
        return self._restored(params) if self._own else params

    def _restored(self, value: Mapping[str, Any]) -> dict[str, Any]:
        found = dict(value)
        for key in ("ref", "argument", "context"):
            if isinstance(below := value.get(key), Mapping):
                found[key] = self._restored(below)
        for key in ("uri", "name"):
            if isinstance(shown := value.get(key), str):
                found[key] = self._own.get(shown, shown)
        if isinstance(given := value.get("arguments"), Mapping):
            found["arguments"] = {self._own.get(name, name): text for name, text in given.items()}
        return found


def _told_apart(name: str) -> str:
    """The clean name, with a digest where cleaning changed it: two names must not become one."""
    shown = clean_line(name)
    if shown == name:
        return name
    digest = blake2b(name.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
    return f"{shown}-{digest}"
