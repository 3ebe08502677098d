"""Stands in for a real MCP server: lists the tools that a catalog file has of it. Standard library only.

    stand_in.py CATALOG SERVER      CATALOG: JSONL of {server, name, description, input_schema}

Tools come 20 at a time, verbatim; a tool without a schema takes any object. A call answers with what it was
given.
"""

import json
import sys

PAGE = 20


def tools_of(catalog, server):
    with open(catalog, encoding="utf-8") as opened:
        found = [tool for tool in map(json.loads, opened) if tool["server"] == server]
    return [
        {
            "name": tool["name"],
            "description": tool.get("description") or "",
            "inputSchema": tool.get("input_schema") or {"type": "object"},
        }
        for tool in found
    ]


def answer(method, params, server, tools):
    """The result, or None where there is no such method."""
    if method == "initialize":
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": server, "version": "1"},
        }
    if method == "tools/list":
        start = int(params.get("cursor") or 0)
        page = {"tools": tools[start : start + PAGE]}
        return page | ({"nextCursor": str(start + PAGE)} if start + PAGE < len(tools) else {})
    if method == "tools/call":
        return {"content": [{"type": "text", "text": json.dumps(params, ensure_ascii=False)}]}
    return {} if method == "ping" else None


def main():
    catalog, server = sys.argv[1:]
    tools = tools_of(catalog, server)
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message or "method" not in message:
            continue
        reply = {"jsonrpc": "2.0", "id": message["id"]}
        result = answer(message["method"], message.get("params") or {}, server, tools)
        if result is None:
            reply["error"] = {"code": -32601, "message": f"no method {message['method']}"}
        else:
            reply["result"] = result
        sys.stdout.write(json.dumps(reply) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
