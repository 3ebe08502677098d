"""How are MCP servers started, kept and spoken to?"""
