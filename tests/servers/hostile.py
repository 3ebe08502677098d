"""An MCP server that means harm, another way with each call: `hostile.py anything|cursors|breeder`.

`anything` answers with what is no answer, no JSON, no text or no number; `cursors` announces changes and then
lists pages that never end; `breeder` leaves a child that has let go of its parent, session and environment.
Standard library only; the argument behind the mode seeds the choices.
"""

import json
import os
import random
import sys
import time

OUT = sys.stdout.buffer
TOOL = {"name": "provoke", "description": "Provoke an odd answer.", "inputSchema": {"type": "object"}}
EVIL = "\x1b[31mred\u202egnissim\u200b\x00\U000e0041"
BIG = b"7" * 400
BODIES = (
    b'"result": {"content": [{"type": "text", "text": "\\ud83d"}]}',
    b'"result": {"content": [{"type": "text", "text": "x"}], "structuredContent": {"n": 1e999, "m": %s}}'
    % BIG,
    b'"result": {"content": null}',
    b'"result": 5',
    b'"result": {"content": [], "_meta": {"\\ud800": NaN}}',
    b'"error": {"code": %s, "message": "a code past all bounds"}' % BIG,
    b'"error": {"code": "text", "message": 7}',
    b'"error": "a text"',
    b'"error": {"code": -1, "message": "\\ud800", "data": {"x": -Infinity}}',
    b'"nothing": true',
    b'"result": {"content": []}, "error": {"code": 1, "message": "both"}',
    b'"result": ' + b'{"x":' * 400 + b"1" + b"}" * 400,
    b'"result": {"content": [' + b'{"type":"text","text":"' + b"\\\\" * 4000,  # broken off
    b'"result": {"content": [{"type": "text", "text": "' + b"x" * (9 << 20) + b'"}]}',
)


def send(message):
    OUT.write(json.dumps(message).encode() + b"\n")
    OUT.flush()


def provoke(chance, request_id):
    choice = chance.random()
    if choice < 0.2:
        content = [{"type": "text", "text": EVIL}, {"type": EVIL, EVIL: EVIL}]
        send({"jsonrpc": "2.0", "id": request_id, "result": {"content": content, EVIL: {EVIL: [EVIL]}}})
        return
    if choice < 0.3:
        for progress in (1e308, -1, 2**70, EVIL, None):
            params = {"progressToken": request_id, "progress": progress, "message": EVIL}
            send({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})
        send(
            {
                "jsonrpc": "2.0",
                "method": "notifications/message",
                "params": {"level": EVIL, "data": {EVIL: 1}},
            }
        )
    body = chance.choice(BODIES)
    OUT.write(b'{"jsonrpc": "2.0", "id": %s, %s}\n' % (json.dumps(request_id).encode(), body))
    OUT.flush()


def breed():
    """A child as daemons are made: two forks, a session of its own, nothing in its environment."""
    if os.fork():
        return
    os.setsid()
    if os.fork():
        os._exit(0)
    os.execve(sys.executable, [sys.executable, "-c", "import time; time.sleep(3600)"], {})


def main():
    mode, seed = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "0"
    chance = random.Random(f"{seed} {os.getpid()}")
    calls = 0
    if mode == "breeder":
        breed()
    for line in sys.stdin:
        message = json.loads(line)
        method, request_id = message.get("method"), message.get("id")
        if method == "initialize":
            info = {"name": EVIL * (50_000 if mode == "cursors" else 1), "version": EVIL}
            result = {
                "protocolVersion": message["params"]["protocolVersion"],
                "capabilities": {"tools": {"listChanged": True}},
                "serverInfo": info,
                "instructions": EVIL * 1000,
            }
            send({"jsonrpc": "2.0", "id": request_id, "result": result})
        elif method == "tools/list":
            result = {"tools": [TOOL]}
            if mode == "cursors" and calls:
                result["nextCursor"] = f"{time.monotonic_ns()}" + "c" * 200_000
            send({"jsonrpc": "2.0", "id": request_id, "result": result})
        elif method == "tools/call":
            calls += 1
            if mode == "anything":
                provoke(chance, request_id)
                continue
            send(
                {"jsonrpc": "2.0", "id": request_id, "result": {"content": [{"type": "text", "text": "ok"}]}}
            )
            if mode == "cursors":
                send({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        elif request_id is not None:
            error = {"code": -32601, "message": "no such method"}
            send({"jsonrpc": "2.0", "id": request_id, "error": error})


if __name__ == "__main__":
    main()
