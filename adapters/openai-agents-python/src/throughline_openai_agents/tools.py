"""Tools by which a model uses the user's memory."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from agents import Tool, function_tool
from agents.tool_context import ToolContext
from throughline import Client
from throughline.adapter import tools


def memory_tools(
    client: Client, *, types: Sequence[str] = tools.TYPES, limit: int = 8,
) -> list[Tool]:
    """Return the tools search, remember, and forget by exact id. A fact without a type has the first of types."""

    @function_tool(description_override=tools.SEARCH)
    async def search(query: str) -> list[dict[str, Any]]:
        return await asyncio.to_thread(tools.search, client, query, limit)

    @function_tool(description_override=f"{tools.REMEMBER} type is one of {', '.join(types)}.")
    async def remember(context: ToolContext[Any], content: str, type: str = types[0]) -> dict[str, Any]:
        return await asyncio.to_thread(tools.remember, client, content, type, context.tool_call_id)

    @function_tool(description_override=tools.FORGET)
    async def forget(id: str) -> dict[str, Any]:
        return await asyncio.to_thread(tools.forget, client, id)

    return [search, remember, forget]
