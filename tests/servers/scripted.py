"""A stdio server that says what a file tells it: `scripted.py SCRIPT.json`. Standard library only.

Keys of the script, all optional: `initialize` (parts of that result, or the whole under `answer`), `tools`,
`pages` ([{asked_with, answer}] of tools/list), `lines` ({tool: the line that answers it, ID for the id}),
`results` ({tool: result}), `slow` ({tool: [seconds, seconds between progress or null]}). A call of any other
tool is answered with {"arguments": …, "environment": …} as text.
"""

import json
import os
import sys
import time


def send(message):
    sys.stdout.write((message if isinstance(message, str) else json.dumps(message)) + "\n")
    sys.stdout.flush()


def page(script, params):
    for known in script.get("pages", ()):
        if known["asked_with"].get("cursor") == params.get("cursor"):
            return known["answer"]
    return {"tools": script.get("tools", [])}


def call(script, message):
    name, params = message["params"]["name"], message["params"]
    reply = {"jsonrpc": "2.0", "id": message["id"]}
    if name in script.get("lines", ()):
        return script["lines"][name].replace("ID", json.dumps(message["id"]))
    if name in script.get("slow", ()):
        seconds, every = script["slow"][name]
        ends, done = time.monotonic() + seconds, 0
        while (left := ends - time.monotonic()) > 0:
            time.sleep(min(left, every or left))
            done += 1
            token = params.get("_meta", {}).get("progressToken")
            if every and token is not None:
                told = {"progressToken": token, "progress": done}
                send({"jsonrpc": "2.0", "method": "notifications/progress", "params": told})
    if name in script.get("results", ()):
        return reply | {"result": script["results"][name]}
    said = {"arguments": params.get("arguments"), "environment": dict(os.environ), "cwd": os.getcwd()}
    return reply | {"result": {"content": [{"type": "text", "text": json.dumps(said)}]}}


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        script = json.load(file)
    for line in sys.stdin:
        message = json.loads(line)
        method = message.get("method")
        reply = {"jsonrpc": "2.0", "id": message.get("id")}
        if method == "initialize":
            plain = {
                "protocolVersion": message["params"]["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "scripted", "version": "1"},
            }
            send(reply | {"result": script.get("answer") or plain | script.get("initialize", {})})
        elif method == "tools/list":
            send(reply | {"result": page(script, message.get("params") or {})})
        elif method == "tools/call":
            send(call(script, message))
        elif "id" in message:
            send(reply | {"error": {"code": -32601, "message": "no such method"}})


if __name__ == "__main__":
    main()
