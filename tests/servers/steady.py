"""A small, well-behaved MCP server on stdio, standard library only: it starts in tens of milliseconds.

Arguments: names of tools to offer (default: all). `--delay S` waits before the first answer.
`--tools-from FILE`: the list is read from FILE (JSON, a tools array) and announced again when FILE changes.
"""

import json
import os
import socket
import sys
import threading
import time

TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
TOOLS = {
    "echo": ("Echo a text back.", TEXT, {"readOnlyHint": True}),
    "sleep": (
        "Sleep for some seconds, then answer.",
        {"type": "object", "properties": {"s": {"type": "number"}}, "required": ["s"]},
        {},
    ),
    "pid": ("Tell the process id of this server.", {"type": "object"}, {"readOnlyHint": True}),
    "fail": ("Always report an error.", {"type": "object"}, {}),
    "erase": ("Erase everything.", {"type": "object"}, {"destructiveHint": True}),
    "progress": (
        "Report progress in steps.",
        {"type": "object", "properties": {"steps": {"type": "integer"}}, "required": ["steps"]},
        {},
    ),
    "connect": (
        "Connect to a Unix socket and say hello.",
        {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
        {},
    ),
}

lock = threading.Lock()
cancelled = set()


def send(message):
    with lock:
        sys.stdout.write(json.dumps(message, ensure_ascii=False) + "\n")
        sys.stdout.flush()


def text(value, **more):
    return {"content": [{"type": "text", "text": value}], **more}


def listing(names, file):
    if file:
        with open(file, encoding="utf-8") as opened:
            return json.load(opened)
    return [
        {
            "name": name,
            "description": TOOLS[name][0],
            "inputSchema": TOOLS[name][1],
            "annotations": TOOLS[name][2],
        }
        for name in names
    ]


def call(request_id, name, arguments, token):
    if name == "echo":
        return text(arguments["text"])
    if name == "sleep":
        until = time.monotonic() + arguments["s"]
        while time.monotonic() < until and request_id not in cancelled:
            time.sleep(0.01)
        return text("slept")
    if name == "pid":
        return text(str(os.getpid()))
    if name == "fail":
        return text("it failed", isError=True)
    if name == "progress":
        for step in range(arguments["steps"]):
            params = {"progressToken": token, "progress": step + 1, "total": arguments["steps"]}
            if token is not None:
                send({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})
        return text("done")
    if name == "connect":
        with socket.socket(socket.AF_UNIX) as sock:
            sock.connect(arguments["path"])
            sock.settimeout(5)
            return text(repr(sock.recv(4096)))
    return text(f"{name}: {json.dumps(arguments, sort_keys=True)}")


def serve_call(message):
    params = message["params"]
    token = params.get("_meta", {}).get("progressToken")
    try:
        result = call(message["id"], params["name"], params.get("arguments") or {}, token)
    except Exception as error:
        result = text(repr(error), isError=True)
    if message["id"] not in cancelled:
        send({"jsonrpc": "2.0", "id": message["id"], "result": result})


def watch(file):
    seen = os.stat(file).st_mtime_ns
    while True:
        time.sleep(0.02)
        now = os.stat(file).st_mtime_ns
        if now != seen:
            seen = now
            send({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})


def main():
    arguments, file = sys.argv[1:], None
    while arguments and arguments[0].startswith("--"):
        option, value, *arguments = arguments
        if option == "--delay":
            time.sleep(float(value))
        elif option == "--tools-from":
            file = value
    names = arguments or list(TOOLS)
    if file:
        threading.Thread(target=watch, args=(file,), daemon=True).start()
    for line in sys.stdin:
        message = json.loads(line)
        method, params = message.get("method"), message.get("params") or {}
        if method == "initialize":
            result = {
                "protocolVersion": params["protocolVersion"],
                "capabilities": {"tools": {"listChanged": True}},
                "serverInfo": {"name": "steady", "version": "1"},
            }
        elif method == "tools/list":
            result = {"tools": listing(names, file)}
        elif method == "ping":
            result = {}
        elif method == "tools/call":
            threading.Thread(target=serve_call, args=(message,), daemon=True).start()
            continue
        elif method == "notifications/cancelled":
            cancelled.add(params.get("requestId"))
            continue
        elif "id" in message:
            error = {"code": -32601, "message": f"no method {method}"}
            send({"jsonrpc": "2.0", "id": message["id"], "error": error})
            continue
        else:
            continue
        send({"jsonrpc": "2.0", "id": message["id"], "result": result})


if __name__ == "__main__":
    main()
