"""Streamable HTTP in front of a stdio MCP server: `http_bridge.py [--door SERVER] COMMAND…`. Prints its port.

A process per session. `--door SERVER`: the command is the daemon's door, and what that says of SERVER is
given and taken under the names that SERVER itself uses, so that a test written for SERVER runs against it.
Standard library only.
"""

import argparse
import json
import queue
import subprocess
import sys
import threading
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

LOCAL = ("localhost", "127.0.0.1", "[::1]")
NAMED = ("tools", "prompts", "resources", "resourceTemplates")

parser = argparse.ArgumentParser()
parser.add_argument("--door")
parser.add_argument("command", nargs=argparse.REMAINDER)
options = parser.parse_args()
PREFIXES = (f"{options.door}__", f"toolsearchd://{options.door}/") if options.door else ("", "")


def bare(item):
    """An item of a list, or a content, as its server names it."""
    for key, prefix in (("name", PREFIXES[0]), ("uri", PREFIXES[1]), ("uriTemplate", PREFIXES[1])):
        if isinstance(item.get(key), str):
            item = item | {key: item[key].removeprefix(prefix)}
    return item


def from_door(message):
    result = message.get("result")
    if isinstance(result, dict):
        for field in (*NAMED, "contents"):
            if isinstance(result.get(field), list):
                result[field] = [bare(item) for item in result[field]]
    if message.get("method") == "notifications/resources/updated":
        message["params"] = bare(message["params"])
    return message


def to_door(message):
    method, params = message.get("method"), message.get("params") or {}
    if method in ("tools/call", "prompts/get"):
        params["name"] = PREFIXES[0] + params["name"]
    elif method in ("resources/read", "resources/subscribe", "resources/unsubscribe"):
        params["uri"] = PREFIXES[1] + params["uri"]
    elif method == "completion/complete":
        key, prefix = ("name", PREFIXES[0]) if "name" in params["ref"] else ("uri", PREFIXES[1])
        params["ref"][key] = prefix + params["ref"][key]
    return message


class Session:
    def __init__(self):
        self.process = subprocess.Popen(
            options.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        self.lock = threading.Lock()
        self.answering = {}  # request id → queue of its POST's stream, in order of arrival
        self.listening = queue.Queue()  # of the GET's stream
        threading.Thread(target=self.read, daemon=True).start()

    def write(self, message):
        with self.lock:
            self.process.stdin.write(json.dumps(to_door(message)) + "\n")
            self.process.stdin.flush()

    def read(self):
        for line in self.process.stdout:
            message = from_door(json.loads(line))
            if "method" not in message and message.get("id") in self.answering:
                stream = self.answering.pop(message["id"])
                stream.put(message)
                stream.put(None)
            else:
                streams = list(self.answering.values())
                (streams[-1] if streams else self.listening).put(message)


sessions = {}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def refused(self):
        host = self.headers.get("Host", "").rpartition(":")[0] or self.headers.get("Host", "")
        origin = self.headers.get("Origin", "http://localhost").partition("://")[2]
        if host in LOCAL and (origin.rpartition(":")[0] or origin) in LOCAL:
            return False
        self.reply(403)
        return True

    def reply(self, status, **headers):
        self.send_response(status)
        self.send_header("Content-Length", "0")
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()

    def stream(self, messages, session_id):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Mcp-Session-Id", session_id)
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        try:
            self.wfile.flush()
            while (message := messages.get()) is not None:
                self.wfile.write(b"event: message\ndata: " + json.dumps(message).encode() + b"\n\n")
                self.wfile.flush()
        except OSError:
            pass  # the client went away

    def do_GET(self):
        if self.refused():
            return None
        session_id = self.headers.get("Mcp-Session-Id")
        if session_id not in sessions:
            return self.reply(404)
        return self.stream(sessions[session_id].listening, session_id)

    def do_DELETE(self):
        session = sessions.pop(self.headers.get("Mcp-Session-Id"), None)
        if session is not None:
            session.process.stdin.close()
        self.reply(200)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.refused():
            return None
        message = json.loads(body)
        session_id = self.headers.get("Mcp-Session-Id")
        if message.get("method") == "initialize":
            session_id = uuid.uuid4().hex
            sessions[session_id] = Session()
        if session_id not in sessions:
            return self.reply(404 if session_id else 400)
        session = sessions[session_id]
        if "id" not in message or "method" not in message:
            session.write(message)
            return self.reply(202)
        messages = session.answering[message["id"]] = queue.Queue()
        session.write(message)
        return self.stream(messages, session_id)


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
server.handle_error = lambda *_: None  # a client that went away
threading.Thread(target=server.serve_forever, daemon=True).start()
print(server.server_address[1], flush=True)
sys.stdin.read()  # until the test goes away
for session in sessions.values():
    session.process.kill()
