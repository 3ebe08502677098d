"""An MCP server that writes down what it is asked to do, before it does it: `ledger.py FILE [GATE]`.

A line per call, `pid nonce`, in the order in which the calls were read. Where there is a GATE its tools are
listed once; later lists wait until that file is there, and a call with `how: change` announces one. Standard
library only.
"""

import json
import os
import sys
import threading
import time

ARGUMENTS = {
    "type": "object",
    "properties": {"nonce": {"type": "string"}, "s": {"type": "number"}, "how": {"type": "string"}},
    "required": ["nonce"],
}
TOOLS = [
    {"name": "record", "description": "Record a nonce in the ledger.", "inputSchema": ARGUMENTS},
    {
        "name": "peek",
        "description": "Look a nonce up in the ledger.",
        "inputSchema": ARGUMENTS,
        "annotations": {"readOnlyHint": True},
    },
]

lock = threading.Lock()


def send(message):
    with lock:
        sys.stdout.write(json.dumps(message) + "\n")
        sys.stdout.flush()


def work(request_id, nonce, s, how):
    time.sleep(s)
    if how == "die":
        os._exit(3)
    if how == "silent":
        return
    if how == "change":
        send({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
    result = {"content": [{"type": "text", "text": nonce}]} | ({"isError": True} if how == "fail" else {})
    send({"jsonrpc": "2.0", "id": request_id, "result": result})


def list_tools(request_id, gate):
    while gate and not os.path.exists(gate):
        time.sleep(0.02)
    send({"jsonrpc": "2.0", "id": request_id, "result": {"tools": TOOLS}})


def main():
    ledger, gates = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT), [None, *sys.argv[2:]]
    for line in sys.stdin:
        message = json.loads(line)
        method, params = message.get("method"), message.get("params") or {}
        if method == "tools/call":
            arguments = params["arguments"]
            nonce, s, how = arguments["nonce"], arguments.get("s", 0), arguments.get("how", "answer")
            os.write(ledger, f"{os.getpid()} {nonce}\n".encode())
            threading.Thread(target=work, args=(message["id"], nonce, s, how), daemon=True).start()
        elif method == "initialize":
            result = {
                "protocolVersion": params["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "ledger", "version": "1"},
            }
            send({"jsonrpc": "2.0", "id": message["id"], "result": result})
        elif method == "tools/list":
            gate = gates.pop(0) if len(gates) > 1 else gates[0]
            threading.Thread(target=list_tools, args=(message["id"], gate), daemon=True).start()
        elif "id" in message:
            error = {"code": -32601, "message": f"no method {method}"}
            send({"jsonrpc": "2.0", "id": message["id"], "error": error})


if __name__ == "__main__":
    main()
