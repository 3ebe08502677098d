"""An MCP server on stdio that hides something in every text of every message; standard library only.

What it is sent stands in the file that its first argument names, a JSON line each. `--stateless`: it speaks
the 2026-07-28 revision only, and asks round by round.
"""

import json
import sys

MARK = "\x1b[31mR\u202e\u200b\U000e0041\x9b31m\x00\ud83d\u2028E"
LINE = MARK + "\n\r" + MARK  # where one line is expected
NAME = LINE.replace("\ud83d", "")  # no name that holds half a character can be asked for
STATELESS = "--stateless" in sys.argv
RESOURCE, TEMPLATE, PROMPT, ARGUMENT = (
    f"marked://one/{NAME}",
    "marked://{" + NAME + "}",
    f"greet{NAME}",
    f"who{NAME}",
)
SCHEMA = {
    "type": "object",
    "title": LINE,
    "description": MARK,
    "properties": {
        "n": {"type": "integer", "description": MARK, "default": MARK, "examples": [MARK, {MARK: MARK}]},
        f"p{LINE}": {"enum": [MARK, f"x{MARK}"], "title": LINE},
        "p": {"type": "string", f"x-{LINE}": LINE},
    },
    f"x-{LINE}": {MARK: [MARK]},
}
META = {f"a.b/{MARK}": {MARK: [MARK]}, f"a.b/{MARK}\u200b": 1}
NOTES = {"audience": ["user"], "title": LINE, f"x{MARK}": MARK}
LINK = {
    "type": "resource_link",
    "uri": RESOURCE,
    "name": LINE,
    "title": LINE,
    "description": MARK,
    "mimeType": f"text/{LINE}",
    "annotations": {f"x{MARK}": MARK},
    "_meta": META,
}
EMBEDDED = {
    "type": "resource",
    "resource": {
        "uri": RESOURCE,
        "mimeType": f"text/{LINE}",
        "text": f"two\n\n\n\nlines {MARK}",
        "_meta": META,
    },
    "annotations": {f"x{MARK}": MARK},
}
BLOCKS = [
    {"type": "text", "text": f"one\n\n\n\ttwo {MARK}", "_meta": META, f"x{MARK}": MARK},
    {"type": "image", "data": "aGVsbG8=", "mimeType": f"image/{LINE}", "_meta": META},
    {"type": "audio", "data": "aGVsbG8=", "mimeType": f"audio/{LINE}"},
    LINK,
    EMBEDDED,
    {"type": "resource", "resource": {"uri": RESOURCE, "blob": "aGVsbG8=", "mimeType": LINE}},
]
RESULT = {
    "content": BLOCKS,
    "structuredContent": {MARK: 1, f"{MARK}\u200b": 2, "RE": 3, "name": "a\nb", "deep": [{MARK: [MARK]}]},
    "_meta": META,
}
QUESTION = {
    "message": f"Name? {MARK}",
    "requestedSchema": {
        "type": "object",
        "properties": {"name": {"type": "string", "title": LINE, "description": MARK}},
    },
}
SAMPLING = {
    "messages": [{"role": "user", "content": {"type": "text", "text": MARK}}],
    "systemPrompt": MARK,
    "stopSequences": [MARK],
    "modelPreferences": {"hints": [{"name": LINE}]},
    "metadata": {MARK: MARK},
    "maxTokens": 5,
}
ASKED = {
    "ask": ("elicitation/create", QUESTION),
    "sample": ("sampling/createMessage", SAMPLING),
    "roots": ("roots/list", {"_meta": META}),
}
TOOLS = (*ASKED, "blocks", "unknown", "refuse", "fail", "log", "change", "long", f"odd{NAME}", "validated")


def send(**message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def tool(name):
    return {
        "name": name,
        "title": LINE,
        "description": f"Does {name}. {MARK} And more.",
        "inputSchema": SCHEMA,
        "outputSchema": SCHEMA if name == "roots" else None,
        "annotations": NOTES | {"destructiveHint": name == "validated"},
        "_meta": META,
    }


def call(request_id, name, token):
    """(result, error) or None where the answer comes later."""
    if name in ASKED:
        method, params = ASKED[name]
        if STATELESS:
            return {
                "resultType": "input_required",
                "inputRequests": {name: {"method": method, "params": params}},
            }
        send(id=f"{request_id}:{NAME}", method=method, params=params)
        return None
    if name == "log":
        send(id=f"half {MARK}", method="roots/list", params={})  # no answer can bear this id
        send(
            method="notifications/message", params={"level": "error", "logger": LINE, "data": {MARK: [MARK]}}
        )
        send(method="notifications/message", params={"level": "error", "data": MARK, "_meta": META})
        if token is not None:
            about = {"progressToken": token, "progress": 1, "total": 2, "message": LINE}
            send(method="notifications/progress", params=about)
    if name == "change":
        send(method="notifications/resources/updated", params={"uri": RESOURCE, "_meta": META})
        send(method="notifications/prompts/list_changed", params={"_meta": META})
    if name == "fail":
        return {"content": [{"type": "text", "text": f"failed\n{MARK}"}], "isError": True, "_meta": META}
    if name == "long":
        return {"content": [{"type": "text", "text": f"{MARK}é\n" * 12_000}]}
    if name == "unknown":
        return {"content": [{"type": f"new{LINE}", f"k{LINE}": [MARK, {MARK: MARK}]}, MARK]}
    return RESULT


def answer(method, params):
    if method == "server/discover":
        said = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, "instructions": MARK}
        return said | {"serverInfo": {"name": LINE, "version": LINE}, "ttlMs": 0, "cacheScope": "private"}
    if method == "initialize":
        able = {
            "tools": {},
            "prompts": {},
            "resources": {"subscribe": True},
            "completions": {},
            "logging": {},
        }
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": able | {"experimental": {MARK: {MARK: MARK}}},
            "serverInfo": {"name": f"n{LINE}", "title": LINE, "version": f"1{LINE}", "websiteUrl": LINE},
            "instructions": f"{MARK}\n{MARK}",
            "_meta": META,
        }
    if method == "tools/list":
        return {
            "tools": [*map(tool, TOOLS), tool(f"half\ud83d{LINE}"), tool(f"odd{NAME}"), LINE],
            "_meta": META,
        }
    if method == "prompts/list":
        arguments = [{"name": ARGUMENT, "title": LINE, "description": MARK, "required": False}]
        prompt = {"title": LINE, "description": MARK, "arguments": arguments, "_meta": META}
        listed = [prompt | {"name": PROMPT}, prompt | {"name": f"greet{NAME}\u200b"}]
        return (
            {"prompts": listed[:1], "nextCursor": NAME} if "cursor" not in params else {"prompts": listed[1:]}
        )
    if method == "prompts/get":
        return {
            "description": MARK,
            "messages": [{"role": "user", "content": block} for block in BLOCKS],
            "_meta": META,
        }
    if method == "resources/list":
        return {"resources": [{key: LINK[key] for key in LINK if key != "type"} | {"size": 3}], "_meta": META}
    if method == "resources/templates/list":
        return {
            "resourceTemplates": [{"uriTemplate": TEMPLATE, "name": LINE, "description": MARK, "_meta": META}]
        }
    if method == "resources/read":
        return {"contents": [EMBEDDED["resource"], {"uri": RESOURCE, "blob": "aGVsbG8="}], "_meta": META}
    if method == "completion/complete":
        return {"completion": {"values": [LINE, "plain"], "hasMore": False}, "_meta": META}
    return {}


def serve(message):
    """Answers one message."""
    method, params = message.get("method"), message.get("params") or {}
    refuses = (method, params.get("name")) == ("tools/call", "refuse")
    refuses |= method == "prompts/get" and params["name"] != PROMPT
    if method is None:
        asked = str(message["id"]).partition(":")[0]
        send(id=int(asked), result={"content": [{"type": "text", "text": "asked"}]})
    elif STATELESS and method == "initialize":
        send(id=message["id"], error={"code": -32_601, "message": MARK})
    elif refuses:
        data = {MARK: [MARK, {f"x{LINE}": LINE}]}
        send(id=message["id"], error={"code": -32_077, "message": f"refused\n{MARK}", "data": data})
    elif "id" in message and method == "tools/call":
        token = (params.get("_meta") or {}).get("progressToken")
        result = call(message["id"], params["name"], token)
        if result is not None:
            send(id=message["id"], result=result)
    elif "id" in message:
        send(id=message["id"], result=answer(method, params))


def main():
    words = MARK.replace("\ud83d", "")
    sys.stdout.write(f"{words} is no message\n")
    sys.stderr.write(f"{words} on stderr\n")
    with open(sys.argv[1], "a", encoding="utf-8", buffering=1) as ledger:
        for line in sys.stdin:
            ledger.write(json.dumps(json.loads(line)) + "\n")
            serve(json.loads(line))


if __name__ == "__main__":
    main()
