"""A Streamable HTTP server in this process, whose answers to tools/call and tools/list a test writes."""

from __future__ import annotations

import itertools
import json
import queue
import sys
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TOOL = {"name": "echo", "description": "Echo.", "inputSchema": {"type": "object"}}


class Script:
    """`answers`: what the next calls get, each (status, body, headers) or the text of a JSON-RPC answer with
    ID for its id; then calls are answered. `list_pages`: {cursor as JSON: result}. `reply(body)` shapes every
    successful body: (headers, bytes). `drips`: what the next calls get, each (status, beginning of a body
    that never ends). `sessions`: None for a server without any."""

    def __init__(self):
        self.answers, self.calls, self.sessions = [], 0, itertools.count(1)
        self.drips, self.ended = [], threading.Event()
        self.list_pages = {"null": {"tools": [TOOL]}}
        self.reply = lambda body: ({"Content-Type": "application/json"}, body)
        self.live = set()  # sessions
        self.began = 0
        self.legacy = False  # HTTP with SSE: answers come on the stream of a GET

    def forget(self):
        self.live.clear()


@contextmanager
def http_server(script):
    """The url."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):
            pass

        def give(self, status, body=b"", **headers):
            self.send_response(status)
            for key, value in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(key.replace("_", "-"), value)
            self.end_headers()
            self.wfile.write(body)

        def is_forgotten(self):
            has_sessions = not script.legacy and script.sessions is not None
            return has_sessions and self.headers.get("Mcp-Session-Id") not in script.live

        def drip(self, status, beginning, reply):
            """The body's beginning, and no more while the server runs; in a legacy session with a success
            the answer comes all the same."""
            script.calls += 1
            self.close_connection = True
            self.send_response(status)
            self.send_header("Content-Length", "1000")
            self.end_headers()
            self.wfile.write(beginning)
            self.wfile.flush()
            if status < 400:
                script.events.put(json.dumps(reply).encode())
            script.ended.wait(60)

        def do_GET(self):
            if not script.legacy:
                return self.give(405)
            script.events = queue.SimpleQueue()
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            self.close_connection = True
            heard = script.events
            try:
                self.wfile.write(b"event: endpoint\ndata: /post\n\n")
                while (body := heard.get()) is not None:
                    self.wfile.write(b"event: message\ndata: " + body + b"\n\n")
                    self.wfile.flush()
            except OSError:
                pass
            return None

        def do_DELETE(self):
            self.give(200)

        def do_POST(self):
            message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if "id" not in message:
                return self.give(202)
            method, headers = message["method"], {}
            reply = {"jsonrpc": "2.0", "id": message["id"]}
            if method == "initialize":
                script.began += 1
                if script.sessions is not None:
                    session = f"s{next(script.sessions)}"
                    script.live.add(session)
                    headers["Mcp_Session_Id"] = session
                reply["result"] = {
                    "protocolVersion": message["params"]["protocolVersion"],
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "script", "version": "1"},
                }
            elif self.is_forgotten():
                return self.give(404)
            elif method == "tools/list":
                cursor = (message.get("params") or {}).get("cursor")
                page = script.list_pages.get(json.dumps(cursor))
                if page is None:
                    reply["error"] = {"code": -32602, "message": "no such cursor"}
                else:
                    reply["result"] = page
            elif script.drips:
                text = message["params"]["arguments"].get("text", "")
                reply["result"] = {"content": [{"type": "text", "text": text}]}
                return self.drip(*script.drips.pop(0), reply)
            elif script.answers:
                script.calls += 1
                answer = script.answers.pop(0)
                if not isinstance(answer, str):
                    status, body, more = answer
                    return self.give(status, body, **more)
                reply = json.loads(answer.replace("ID", json.dumps(message["id"])))
            else:
                script.calls += 1
                text = message["params"]["arguments"].get("text", "")
                reply["result"] = {"content": [{"type": "text", "text": text}]}
            if script.legacy:
                script.events.put(json.dumps(reply).encode())
                return self.give(202)
            shaped, body = script.reply(json.dumps(reply).encode())
            return self.give(200, body, **headers, **shaped)

    class Server(ThreadingHTTPServer):
        def handle_error(self, *where):
            if not isinstance(sys.exception(), OSError):  # whom it answered has gone
                super().handle_error(*where)

    server = Server(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/mcp"
    finally:
        script.ended.set()
        if script.legacy:
            script.events.put(None)
        server.shutdown()
        server.server_close()
        thread.join()
