"""How do clients that speak only MCP get in?"""
