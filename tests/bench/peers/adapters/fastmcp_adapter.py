"""FastMCP's BM25 search transform, asked through its server: what a client's call costs without the wire."""

import asyncio

from fastmcp import FastMCP
from fastmcp.server.transforms.search import BM25SearchTransform
from fastmcp.tools.base import Tool, ToolResult
from peer_protocol import flat_names, serve

LIMIT = 10


class Listed(Tool):
    async def run(self, arguments):
        return ToolResult(content="ok")


def build(tools):
    server = FastMCP("peers")
    ids = flat_names(tools)
    for name, tool in zip(ids, tools, strict=True):
        schema = tool.get("input_schema") or {"type": "object"}
        server.add_tool(Listed(name=name, description=tool.get("description") or "", parameters=schema))
    server.add_transform(BM25SearchTransform(max_results=LIMIT))
    runner = asyncio.Runner()

    def search(query, limit):
        reply = runner.run(server.call_tool("search_tools", {"query": query}))
        found = reply.structured_content["result"] if reply.structured_content else []
        return [ids[one["name"]] for one in found[:limit]]

    return search


serve(build)
