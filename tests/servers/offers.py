"""An MCP server on stdio with prompts and resources, that asks its client; standard library only.

Resources come in pages of 3. Tools: `ask` (elicitation; gives back what came), `hold` (never answers), `log`,
`change` (tells that lists and a resource changed), `echo`. With `--stateless` it speaks the 2026-07-28
revision only, has tools alone, and `ask` asks round by round.
"""

import json
import sys

TOOLS = ("ask", "hold", "log", "change", "echo")
PROMPTS = [{"name": "greet", "title": "Greet", "arguments": [{"name": "who"}]}, {"name": "broken"}]
URIS = [f"offers://page/{number}" for number in range(7)]
PAGE = 3
ASKED = "asked-1"
FORM = {"type": "object", "properties": {"name": {"type": "string"}}}

STATELESS = "--stateless" in sys.argv

waiting = []  # ids of the calls of `ask`


def send(**message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def text(value):
    return {"content": [{"type": "text", "text": value}]}


def resources(params):
    at = int(params.get("cursor", 0))
    page = {"resources": [{"uri": uri, "name": uri} for uri in URIS[at : at + PAGE]]}
    return page | ({"nextCursor": str(at + PAGE)} if at + PAGE < len(URIS) else {})


def call(request_id, name, arguments):
    """The result, or None where none comes now."""
    if name == "ask":
        waiting.append(request_id)
        send(id=ASKED, method="elicitation/create", params={"message": "Name?", "requestedSchema": FORM})
        return None
    if name == "hold":
        return None
    if name == "log":
        for level, more in (("debug", {}), ("info", {}), ("error", {"logger": "its own"})):
            data = {"debug": "chatter", "info": "at work", "error": "odd"}[level]
            if level != "debug":
                send(method="notifications/message", params={"level": level, "data": data} | more)
    if name == "change":
        send(method="notifications/prompts/list_changed")
        send(method="notifications/resources/list_changed")
        send(method="notifications/resources/updated", params={"uri": URIS[3]})
    return text(arguments.get("text", name))


def answer_stateless(method, params):
    complete = {"resultType": "complete"}
    if method == "server/discover":
        said = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}
        return complete | said | {"ttlMs": 0, "cacheScope": "private"}
    if method == "tools/list":
        tools = [{"name": name, "inputSchema": {"type": "object"}} for name in TOOLS]
        return complete | {"tools": tools, "ttlMs": 0, "cacheScope": "private"}
    if method == "tools/call" and params["name"] == "ask":
        rounds = int(params.get("requestState", 0))
        if rounds < 2:
            asked = {
                "method": "elicitation/create",
                "params": {"message": f"Round {rounds}?", "requestedSchema": FORM},
            }
            return {
                "resultType": "input_required",
                "inputRequests": {"q": asked},
                "requestState": str(rounds + 1),
            }
        return complete | text(json.dumps(params["inputResponses"]["q"]))
    if method in ("tools/call", "prompts/get") and params["name"] == "ask_both":
        if "inputResponses" in params:
            said = json.dumps(params["inputResponses"])
            return complete | (
                text(said) if method == "tools/call" else {"messages": [], "description": said}
            )
        asked = {"method": "elicitation/create", "params": {"message": "Which?", "requestedSchema": FORM}}
        return {"resultType": "input_required", "inputRequests": {"who": asked, "q 2": asked}}
    if method == "tools/call":
        return complete | text(params["name"])
    return None


def answer(request_id, method, params):
    if STATELESS:
        return answer_stateless(method, params)
    if method == "initialize":
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}, "prompts": {}, "resources": {"subscribe": True}},
            "serverInfo": {"name": "offers", "version": "1"},
        }
    if method == "tools/list":
        return {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in TOOLS]}
    if method == "tools/call":
        return call(request_id, params["name"], params.get("arguments") or {})
    if method == "prompts/list":
        return {"prompts": PROMPTS}
    if method == "prompts/get" and params["name"] == "greet":
        return {"messages": [{"role": "user", "content": {"type": "text", "text": "hello"}}]}
    if method == "resources/list":
        return resources(params)
    if method == "resources/read":
        number = params["uri"].rpartition("/")[2]
        return {"contents": [{"uri": params["uri"], "text": f"page {number}"}]}
    return {}


for line in sys.stdin:
    message = json.loads(line)
    if message.get("id") == ASKED and "method" not in message:
        outcome = message["result"] if "result" in message else message["error"]["message"]
        send(id=waiting.pop(), result=text(json.dumps(outcome)))
    elif message.get("method") == "prompts/get" and message["params"]["name"] == "broken":
        error = {"code": -32_077, "message": "no such mood", "data": {"mood": "odd"}}
        send(id=message["id"], error=error)
    elif "id" in message:
        result = answer(message["id"], message["method"], message.get("params") or {})
        if result is not None:
            send(id=message["id"], result=result)
        elif STATELESS:
            send(id=message["id"], error={"code": -32_601, "message": "no such method"})
