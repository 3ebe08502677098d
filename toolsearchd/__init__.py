"""One daemon per user that holds the MCP servers of all agents and lets models find their tools."""

__version__ = "0.1.0"
