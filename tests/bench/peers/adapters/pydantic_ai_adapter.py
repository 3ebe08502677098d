"""pydantic-ai's own tool search (keyword overlap), asked as an agent's model would ask it."""

import asyncio

from peer_protocol import flat_names, serve
from pydantic_ai import RunContext, RunUsage
from pydantic_ai.exceptions import ModelRetry
from pydantic_ai.models.test import TestModel
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import ExternalToolset
from pydantic_ai.toolsets._tool_search import ToolSearchToolset

SEARCH = "search_tools"


def build(tools):
    ids = flat_names(tools)
    definitions = [
        ToolDefinition(
            name=name,
            description=tool.get("description") or "",
            parameters_json_schema=tool.get("input_schema") or {"type": "object"},
            defer_loading=True,
        )
        for name, tool in zip(ids, tools, strict=True)
    ]
    toolset = ToolSearchToolset(wrapped=ExternalToolset(definitions))
    context = RunContext(deps=None, model=TestModel(), usage=RunUsage())
    runner = asyncio.Runner()
    search_tool = runner.run(toolset.get_tools(context))[SEARCH]

    def search(query, limit):
        asked = toolset.call_tool(SEARCH, {"queries": [query]}, context, search_tool)
        try:
            found = runner.run(asked)["discovered_tools"]
        except ModelRetry:  # how it says that a query has no words
            return []
        return [ids[one["name"]] for one in found[:limit]]

    return search


serve(build)
