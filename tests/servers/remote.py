"""An MCP server over HTTP, standard library only: `remote.py MODE`. Prints its port, then serves for ever.

Modes: `modern` (the 2026-07-28 revision: a call tells which `Mcp-Param-*` headers came),
`json` and `events` (Streamable HTTP, by the form of its answers), `legacy` (HTTP with SSE),
`login` (401 to everything), `forgets` (a session is good for one call).
"""

import json
import queue
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

MODE = sys.argv[1]
LEVELS = 5000
DEEP = b'{"type": "object", "properties": {"x": ' * LEVELS + b"{}" + b"}}" * LEVELS
TOOLS = [
    {"name": "echo", "description": "Echo.", "inputSchema": {"type": "object"}},
    {"name": "deep", "description": "Nested.", "inputSchema": "@deep@"},
]
sessions = {}  # id → queue of the session's event stream
calls = []


def answer_to(message):
    """The JSON text of the answer."""
    method, params = message["method"], message.get("params") or {}
    if raw := params.get("arguments", {}).get("raw"):
        return raw.replace("ID", json.dumps(message["id"])).encode()
    if method == "initialize":
        result = {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {"listChanged": True}},
            "serverInfo": {"name": "remote", "version": "1"},
        }
    elif method == "tools/list":
        result = {"tools": TOOLS}
    elif method == "tools/call":
        calls.append(1)
        result = called(params["arguments"])
    else:
        error = {"code": -32601, "message": "no such method"}
        return json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": error}).encode()
    text = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode()
    return text.replace(b'"@deep@"', DEEP).replace(b'"@nan@"', b"NaN")


def parameter(at, **header):
    return {"type": "object", "properties": {at: {"type": "string"} | header}}


MARKED = [
    {"name": "echo", "inputSchema": parameter("text", **{"x-mcp-header": "Text"})},
    {
        "name": "nested",
        "inputSchema": {
            "type": "object",
            "properties": {"at": parameter("region", **{"x-mcp-header": "Region"})},
        },
    },
    {"name": "plain", "inputSchema": parameter("text")},
    {"name": "no_token", "inputSchema": parameter("text", **{"x-mcp-header": "two words"})},
    {"name": "empty", "inputSchema": parameter("text", **{"x-mcp-header": ""})},
    {"name": "number", "inputSchema": parameter("text", **{"x-mcp-header": "N", "type": "number"})},
    {
        "name": "in_a_list",
        "inputSchema": {"type": "object", "items": {"x-mcp-header": "X", "type": "string"}},
    },
]


def answer_modern(message, headers):
    complete = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
    if message["method"] == "server/discover":
        result = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}
    elif message["method"] == "tools/list":
        result = {"tools": MARKED}
    else:
        params = {
            name.lower(): value for name, value in headers.items() if name.lower().startswith("mcp-param-")
        }
        result = {"content": [{"type": "text", "text": json.dumps(params)}]}
    return json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": complete | result}).encode()


def called(arguments):
    if "bytes" in arguments:
        return {"content": [{"type": "text", "text": "x" * arguments["bytes"]}]}
    if arguments.get("nan"):
        return {"content": [], "structuredContent": {"x": "@nan@"}}
    if arguments.get("grow"):
        TOOLS.append({"name": "grown", "inputSchema": {"type": "object"}})
        for events in sessions.values():
            events.put(b'{"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}')
    return {"content": [{"type": "text", "text": arguments.get("text", "")}]}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def reply(self, status, body=b"", kind="application/json", **headers):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def stream(self, first, events):
        """An event stream: `first`, then what comes."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        self.wfile.write(first)
        self.wfile.flush()
        self.close_connection = True
        try:
            while True:
                self.wfile.write(b"event: message\ndata: " + events.get() + b"\n\n")
                self.wfile.flush()
        except OSError:
            pass

    def do_GET(self):
        if MODE == "login":
            return self.reply(401)
        session = self.headers.get("Mcp-Session-Id") or f"s{len(sessions)}"
        events = sessions.setdefault(session, queue.Queue())
        first = f"event: endpoint\ndata: /post?session_id={session}\n\n" if MODE == "legacy" else ""
        return self.stream(first.encode(), events)

    def do_DELETE(self):
        self.reply(200)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if MODE == "login":
            return self.reply(401)
        message = json.loads(body)
        session = self.headers.get("Mcp-Session-Id")
        if MODE == "forgets" and session and len(calls) >= int(session.removeprefix("s")) + 1:
            return self.reply(404)
        if "id" not in message or "method" not in message:
            return self.reply(202)
        if MODE == "modern":
            return self.reply(200, answer_modern(message, self.headers))
        text = answer_to(message)
        if MODE == "legacy":
            sessions[self.path.partition("session_id=")[2]].put(text)
            return self.reply(202)
        if message["method"] == "initialize":
            session = f"s{len(calls)}"
            sessions[session] = queue.Queue()
        if MODE == "events":
            return self.reply(
                200, b"event: message\ndata: " + text + b"\n\n", "text/event-stream", Mcp_Session_Id=session
            )
        return self.reply(200, text, Mcp_Session_Id=session)


server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2]) if len(sys.argv) > 2 else 0), Handler)
server.daemon_threads = True
threading.Thread(target=server.serve_forever, daemon=True).start()
print(server.server_address[1], flush=True)
sys.stdin.read()  # until the test goes away
