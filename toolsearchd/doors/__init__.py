"""How does a client that knows nothing of this daemon get in? The MCP door."""
