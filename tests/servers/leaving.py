"""An MCP server that leaves things behind: `leaving.py MODE PLACE [SECONDS]`. Standard library only.

`daemon`: a grandchild in a session of its own, with an empty environment, deaf to SIGTERM, that tries the
sockets in PLACE/run and writes what came of it to PLACE/report-PID. Its parent lives SECONDS longer.
`flight`: the same, and the server ends at once.
`kin`: a child in the server's own session with an empty environment, and the server ignores EOF and SIGTERM.
`crowd`: each call leaves that many children (the argument `n`) that end at once, behind parents that ended.
"""

import json
import os
import signal
import socket
import sys
import time
from pathlib import Path

TOOL = {"name": "echo", "description": "Echo.", "inputSchema": {"type": "object"}}
HELLO = b"\x83\xa2op\xa5hello\xa8protocol\x01\xa6client\xa1x"
PING = b"\x82\xa2op\xa4ping\xa2id\x01"


def again(*words):
    """This program as something else, with nothing in its environment."""
    os.execve(sys.executable, [sys.executable, "-I", __file__, *map(str, words)], {})


def detach(then):
    """As daemons do: fork, a session of its own, fork. The one in between lives as long as it is told to."""
    if os.fork() == 0:
        os.setsid()
        between = os.getpid()
        if os.fork() == 0:
            again("grandchild", PLACE, between)
        time.sleep(then)
        os._exit(0)


def grandchild(between):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while os.getppid() == between:
        time.sleep(0.01)
    said = {"pid": os.getpid(), "parent": os.getppid()}
    for name, message in (("agent", HELLO), ("control", PING)):
        with socket.socket(socket.AF_UNIX) as sock:
            sock.settimeout(10)
            sock.connect(str(PLACE / "run" / f"{name}.sock"))
            try:
                sock.sendall(len(message).to_bytes(4, "big") + message)
            except BrokenPipeError:
                pass  # refused before it had said a word; why can still be read
            said[name] = sock.recv(65536).decode("latin-1")
    new = PLACE / f"new-{os.getpid()}"
    new.write_text(json.dumps(said))
    new.rename(PLACE / f"report-{os.getpid()}")
    time.sleep(3600)


def crowd(n):
    for _ in range(n):
        if os.fork() == 0:
            if os.fork() == 0:
                os.setsid()
                os._exit(7)
            os._exit(0)
        os.wait()


def serve(on_call=lambda arguments: None):
    for line in sys.stdin.buffer:
        message = json.loads(line)
        match message.get("method"):
            case "initialize":
                version = message["params"]["protocolVersion"]
                who = {"name": "leaving", "version": "1"}
                result = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": who}
            case "tools/list":
                result = {"tools": [TOOL]}
            case "tools/call":
                on_call(message["params"].get("arguments") or {})
                result = {"content": [{"type": "text", "text": "ok"}]}
            case _:
                continue
        sys.stdout.buffer.write(
            json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode() + b"\n"
        )
        sys.stdout.buffer.flush()


MODE, PLACE = sys.argv[1], Path(sys.argv[2])
match MODE:
    case "daemon":
        detach(float(sys.argv[3]))
        serve()
    case "flight":
        detach(float(sys.argv[3]))
        os.wait()
    case "grandchild":
        grandchild(int(sys.argv[3]))
    case "kin":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if os.fork() == 0:
            again("deaf", PLACE)
        serve()
        time.sleep(3600)
    case "deaf":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        (PLACE / "kin").write_text(str(os.getpid()))
        time.sleep(3600)
    case "crowd":
        serve(lambda arguments: crowd(arguments.get("n", 0)))
