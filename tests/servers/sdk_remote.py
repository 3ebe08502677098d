"""The official SDK's server over HTTP: `sdk_remote.py TRANSPORT PORT` (streamable-http or sse)."""

import sys

from mcp.server import MCPServer

server = MCPServer("remote")


@server.tool()
def multiply(a: int, b: int) -> int:
    """Multiply two numbers."""
    return a * b


if __name__ == "__main__":
    server.run(sys.argv[1], host="127.0.0.1", port=int(sys.argv[2]))
