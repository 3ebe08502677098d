"""What does an MCP server look like? Three small ones, for a first run with nothing configured."""
