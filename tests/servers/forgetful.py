"""A Streamable HTTP server that lets go of its clients: `forgetful.py PORT MODE`. Standard library only.

`sessions`: POST /forget ends all sessions; a call in one that ended is answered 404 with an error.
`tokens`: after one call, each is answered 401 until `initialize` comes again.
"""

import itertools
import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

MODE = sys.argv[2]
TOOL = {
    "name": "echo",
    "description": "Echo a text.",
    "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}},
}
sessions, ids = set(), itertools.count(1)
calls = itertools.count()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body=None, **headers):
        data = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        for key, value in headers.items():
            self.send_header(key.replace("_", "-"), value)
        if data:
            self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        self.answer(405)

    def do_DELETE(self):
        self.answer(200)

    def do_POST(self):
        global calls
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        if self.path == "/forget":
            sessions.clear()
            return self.answer(200)
        message = json.loads(body)
        if "id" not in message:
            return self.answer(202)
        reply, method = {"jsonrpc": "2.0", "id": message["id"]}, message["method"]
        if method == "initialize":
            calls = itertools.count()
            session = f"s{next(ids)}"
            sessions.add(session)
            reply["result"] = {
                "protocolVersion": message["params"]["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "forgetful", "version": "1"},
            }
            return self.answer(200, reply, mcp_session_id=session)
        if self.headers.get("mcp-session-id") not in sessions:
            error = {"code": -32001, "message": "Session not found"}
            return self.answer(404, {"jsonrpc": "2.0", "id": None, "error": error})
        if method == "tools/list":
            reply["result"] = {"tools": [TOOL]}
        elif method == "tools/call":
            if MODE == "tokens" and next(calls):
                return self.answer(401, {"error": "invalid_token"})
            said = message["params"]["arguments"].get("text", "")
            reply["result"] = {"content": [{"type": "text", "text": said}]}
        else:
            reply["error"] = {"code": -32601, "message": "no such method"}
        return self.answer(200, reply)


ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
