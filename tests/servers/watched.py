"""An MCP server on stdio with resources that clients listen to; standard library only.

`--stateless`: it speaks the 2026-07-28 revision only. Tools: `touch` (the resource `uri` changes), `watched`
(which ones are listened to), `end` (it exits), `drop` (its streams end). `x:refused` is not listened to.
"""

import json
import sys

STATELESS = "--stateless" in sys.argv
watched = {}  # URI → id of the stream that tells of it; None in the handshake era
streams = []


def send(**message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def stamped(stream, **params):
    return params | {"_meta": {"io.modelcontextprotocol/subscriptionId": stream}}


def call(name, arguments):
    uri = arguments.get("uri")
    if name == "touch" and uri in watched:
        params = {"uri": uri} if watched[uri] is None else stamped(watched[uri], uri=uri)
        send(method="notifications/resources/updated", params=params)
    if name == "end":
        sys.exit(0)
    while name == "drop" and streams:
        send(id=streams.pop(), result={"resultType": "complete"})
    return {"content": [{"type": "text", "text": json.dumps(sorted(watched))}]}


def listen(request_id, wanted):
    uris = [uri for uri in wanted.get("resourceSubscriptions") or () if uri != "x:refused"]
    watched.clear()
    watched.update(dict.fromkeys(uris, request_id))
    streams[:] = [request_id]
    send(
        method="notifications/subscriptions/acknowledged",
        params=stamped(request_id, notifications=wanted | {"resourceSubscriptions": uris}),
    )


def answer(method, params):
    frame = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"} if STATELESS else {}
    offered = {"tools": {}, "resources": {"subscribe": True}}
    if method == "server/discover" and STATELESS:
        return frame | {"supportedVersions": ["2026-07-28"], "capabilities": offered}
    if method == "initialize" and not STATELESS:
        info = {"serverInfo": {"name": "watched", "version": "1"}}
        return {"protocolVersion": params["protocolVersion"], "capabilities": offered} | info
    if method == "tools/list":
        names = ("touch", "watched", "end", "drop")
        return frame | {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in names]}
    if method == "tools/call":
        return frame | call(params["name"], params.get("arguments") or {})
    if method == "resources/list":
        return frame | {"resources": [{"uri": "x:a", "name": "a"}, {"uri": "x:b", "name": "b"}]}
    if method == "resources/subscribe" and not STATELESS and params["uri"] != "x:refused":
        watched[params["uri"]] = None
        return {}
    if method == "resources/unsubscribe" and not STATELESS:
        watched.pop(params["uri"], None)
        return {}
    return None


for line in sys.stdin:
    message = json.loads(line)
    method, params = message.get("method"), message.get("params") or {}
    if method == "subscriptions/listen":
        listen(message["id"], params.get("notifications") or {})
    elif "id" in message:
        result = answer(method, params)
        error = {"code": -32_602, "message": f"no {method} of that"}
        send(id=message["id"], **({"error": error} if result is None else {"result": result}))
