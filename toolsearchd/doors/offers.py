"""What the granted servers offer beside tools: prompts, resources and templates, under names of the door.

A prompt is named as a tool at the door is, `<server>__<prompt>`. A resource keeps its URI behind one that
names the server, `toolsearchd://<server>/<URI>`, so that no server can take another's; a URI as its server
wrote it (a tool's result may link to one) is understood where one granted server alone means it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple, Protocol
from urllib.parse import quote, unquote

import trio

from toolsearchd.catalog.naming import door_name
from toolsearchd.catalog.pages import Pages, json_bytes
from toolsearchd.errors import ToolsearchdError
from toolsearchd.limits import Limits
from toolsearchd.system import guard

log = logging.getLogger(__name__)

SCHEME = "toolsearchd://"
_METHOD_NOT_FOUND = -32_601
_OURS = ("_meta", "inputResponses", "requestState")
_LINKS = 4096  # of tools' results, remembered per session: whose they are
_NOT_FOUND = -32_002  # MCP: resource not found


class Kind(NamedTuple):
    method: str
    field: str  # of the answer
    key: str  # what names an item
    capability: str


PROMPTS = Kind("prompts/list", "prompts", "name", "prompts")
RESOURCES = Kind("resources/list", "resources", "uri", "resources")
TEMPLATES = Kind("resources/templates/list", "resourceTemplates", "uriTemplate", "resources")
KINDS = {kind.method: kind for kind in (PROMPTS, RESOURCES, TEMPLATES)}


class OfferingServers(Protocol):
    """Where requests go: the fleet."""

    def capabilities(self, server: str) -> frozenset[str]: ...
    async def request(
        self, server: str, method: str, params: Mapping[str, Any], *, timeout_s: float, client: Any
    ) -> dict[str, Any]: ...


class Granting(Protocol):
    """The session's view, as far as servers go."""

    @property
    def granted_servers(self) -> Iterable[str]: ...


class NotFoundError(Exception):
    """No granted server has it. `code` is MCP's for it."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


class Offers:
    """Of one session. All requests go with `client`, which is asked what a server asks meanwhile."""

    def __init__(self, servers: OfferingServers, client: Any, limits: Limits) -> None:
        self._servers = servers
        self._client = client
        self._limits = limits
        self._prompts: dict[str, tuple[str, str]] = {}  # door name → (server, its own name)
        self._listed: dict[
            str, list[tuple[str, dict[str, Any]]]
        ] = {}  # method → (server, item), as last asked
        self._links: dict[str, str | None] = {}  # URI → the server that linked to it; None: several did

    def offering(self, view: Granting, capability: str) -> tuple[str, ...]:
        """The granted servers that say they have such things, as far as they are connected."""
        return tuple(s for s in view.granted_servers if capability in self._servers.capabilities(s))

    # --- lists ------------------------------------------------------------------------------------

    async def items(self, view: Granting, kind: Kind) -> list[dict[str, Any]]:
        """All items of all granted servers, in catalog order, under their names here. A server that gives no
        list costs its own items."""
        servers = self.offering(view, kind.capability)
        found: dict[str, list[dict[str, Any]]] = {}

        async def ask(server: str) -> None:
            found[server] = await self._items(server, kind)

        async with trio.open_nursery() as nursery:
            for server in servers:
                guard.start(nursery, "asking a server what it offers", ask, server)
        room = self._limits.offered_bytes
        listed: list[tuple[str, dict[str, Any]]] = []
        for server, item in ((name, item) for name in servers for item in found.get(name, ())):
            room -= json_bytes(item) or 0
            if room < 0:
                log.warning("%s: what is behind item %d is left out: too long", kind.method, len(listed))
                break
            listed.append((server, item))
        self._listed[kind.method] = listed
        if kind is PROMPTS:
            self._prompts = {
                door_name(server, item["name"]): (server, item["name"]) for server, item in listed
            }
            return [item | {"name": door_name(server, item["name"])} for server, item in listed]
        return [item | {kind.key: uri_here(server, item[kind.key])} for server, item in listed]

    async def _items(self, server: str, kind: Kind) -> list[dict[str, Any]]:
        """What came within `offers_timeout_s` of all its pages, up to the limits."""
        items: list[dict[str, Any]] = []
        pages = Pages(self._limits, self._limits.offers_bytes)
        cursor: str | float | None = None
        try:
            with trio.move_on_after(self._limits.offers_timeout_s) as patience:
                while True:
                    params = {} if cursor is None else {"cursor": cursor}
                    page = await self._request(server, kind.method, params, self._limits.offers_timeout_s)
                    given = page.get(kind.field)
                    items += (item for item in _fitting(given, kind, pages))
                    cursor = pages.turn(page.get("nextCursor"))
                    if cursor is None or len(items) > self._limits.tools_per_server:
                        break
        except ToolsearchdError as error:
            if error.fields.get("server_code") != _METHOD_NOT_FOUND:
                log.warning("%s of server %s: %s", kind.method, server, error.message)
        cut = f"not all came within {self._limits.offers_timeout_s:g} s" if patience.cancelled_caught else ""
        if cut := cut or pages.cut:
            log.warning("%s of server %s: the rest is left out: %s", kind.method, server, cut)
        return items[: self._limits.tools_per_server]

    # --- items ------------------------------------------------------------------------------------

    async def get_prompt(self, view: Granting, params: Mapping[str, Any]) -> dict[str, Any]:
        """`GetPromptResult`. Raises NotFoundError and what the server answers."""
        server, name = await self._prompt(view, params["name"])
        sent = _asked(params) | {"name": name}
        return await self._request(server, "prompts/get", sent, self._limits.call_timeout_s)

    async def read(self, view: Granting, params: Mapping[str, Any]) -> dict[str, Any]:
        """`ReadResourceResult`, its contents under the URIs of here. Raises as `get_prompt` does."""
        server, uri = await self.resource(view, params["uri"])
        sent = _asked(params) | {"uri": uri}
        result = await self._request(server, "resources/read", sent, self._limits.call_timeout_s)
        if params["uri"] == uri or not isinstance(result.get("contents"), list):
            return result  # asked by its server's own URI, answered by it
        return result | {"contents": [_content_here(server, content) for content in result["contents"]]}

    async def complete(self, view: Granting, params: Mapping[str, Any]) -> dict[str, Any]:
        """`CompleteResult` for an argument of a prompt or a template."""
        ref = dict(params["ref"])
        if ref.get("type") == "ref/prompt":
            server, ref["name"] = await self._prompt(view, ref.get("name", ""))
        else:
            server, ref["uri"] = await self.resource(view, ref.get("uri", ""))
        sent = _asked(params) | {"ref": ref}
        return await self._request(server, "completion/complete", sent, self._limits.offers_timeout_s)

    async def watch(self, server: str, uri: str, *, wanted: bool) -> None:
        """Asks the server to say when a resource changes, or not to any more."""
        method = "resources/subscribe" if wanted else "resources/unsubscribe"
        await self._request(server, method, {"uri": uri}, self._limits.offers_timeout_s)

    async def _request(
        self, server: str, method: str, params: Mapping[str, Any], timeout_s: float
    ) -> dict[str, Any]:
        return await self._servers.request(server, method, params, timeout_s=timeout_s, client=self._client)

    async def _prompt(self, view: Granting, name: str) -> tuple[str, str]:
        if name not in self._prompts:
            await self.items(view, PROMPTS)
        server, own = self._prompts.get(name, ("", ""))
        if server not in view.granted_servers:
            raise NotFoundError(f"there is no prompt {name!r:.200}; prompts/list has them", -32_602)
        return server, own

    # --- whose resource ---------------------------------------------------------------------------

    async def resource(self, view: Granting, uri: str) -> tuple[str, str]:
        """The server whose URI (or template) this is, and how that one writes it. Raises NotFoundError."""
        server, own = uri_there(uri)
        server = server or await self._owner(view, uri)
        if server not in view.granted_servers:
            raise NotFoundError(f"there is no resource {uri!r:.200}; resources/list has them", _NOT_FOUND)
        return server, own

    def note_links(self, server: str, result: Mapping[str, Any]) -> None:
        """Remembers whose the resources are that a tool's result links to."""
        content = result.get("content")
        for block in content if isinstance(content, list) else ():
            uri = (
                block.get("uri") if isinstance(block, dict) and block.get("type") == "resource_link" else None
            )
            if isinstance(uri, str) and len(uri) <= self._limits.path_chars:
                known = self._links.pop(uri, server)
                self._links[uri] = server if known == server else None
                while len(self._links) > _LINKS:
                    del self._links[next(iter(self._links))]

    async def _owner(self, view: Granting, uri: str) -> str:
        """Whose URI this is, by itself; nobody's: an empty text."""
        if linked := self._links.get(uri):
            return linked
        servers = self.offering(view, "resources")
        if len(servers) > 1:
            await self.items(view, RESOURCES)
            await self.items(view, TEMPLATES)
            listed = self._listed[RESOURCES.method] + self._listed[TEMPLATES.method]
            servers = tuple(
                dict.fromkeys(s for s, item in listed if uri in (item.get("uri"), item.get("uriTemplate")))
            )
        if len(servers) > 1:
            meant = " or ".join(uri_here(server, uri) for server in servers)
            raise NotFoundError(f"several servers have {uri!r:.200}: ask for {meant}", _NOT_FOUND)
        return servers[0] if servers else ""


def _asked(params: Mapping[str, Any]) -> dict[str, Any]:
    """What is for the server of a request's parameters."""
    return {key: value for key, value in params.items() if key not in _OURS}


def uri_here(server: str, uri: str) -> str:
    """A server's URI or URI template as this door writes it."""
    return f"{SCHEME}{quote(server, safe='')}/{uri}"


def uri_there(uri: str) -> tuple[str, str]:
    """(the server, its own URI) of a URI of this door; of any other, no server and itself."""
    if not uri.startswith(SCHEME):
        return "", uri
    server, _, own = uri.removeprefix(SCHEME).partition("/")
    return unquote(server), own


def _content_here(server: str, content: Any) -> Any:
    uri = content.get("uri") if isinstance(content, dict) else None
    return content | {"uri": uri_here(server, uri)} if isinstance(uri, str) else content


def _fitting(given: Any, kind: Kind, pages: Pages) -> Iterator[dict[str, Any]]:
    """The items of a page that can be used, up to the first that finds no room."""
    for item in given if isinstance(given, list) else ():
        size = json_bytes(item) if _is_named(item, kind) else None
        if size is not None:
            if not pages.admits(size):
                return
            yield item


def _is_named(item: Any, kind: Kind) -> bool:
    return isinstance(item, dict) and isinstance(item.get(kind.key), str)
