"""Tools by which a model uses the user's memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, InjectedToolCallId, tool
from throughline import Client
from throughline.adapter import tools

from .memory import client_of


def memory_tools(
    client: Client, *, types: Sequence[str] = tools.TYPES, limit: int = 8,
) -> list[BaseTool]:
    """Return the tools search, remember, and forget by exact id, for ToolNode and bind_tools. The configurable user_id
    of a run names the user. A fact without a type has the first of types."""

    @tool(description=tools.SEARCH)
    def search(query: str, config: RunnableConfig) -> list[dict[str, Any]]:
        return tools.search(client_of(client, config), query, limit)

    @tool(description=f"{tools.REMEMBER} type is one of {', '.join(types)}.")
    def remember(
        content: str, config: RunnableConfig, call: Annotated[str, InjectedToolCallId], type: str = types[0],
    ) -> dict[str, Any]:
        return tools.remember(client_of(client, config), content, type, call)

    @tool(description=tools.FORGET)
    def forget(id: str, config: RunnableConfig) -> dict[str, Any]:
        return tools.forget(client_of(client, config), id)

    return [search, remember, forget]
