"""Items of a run, as the memory stores them: each is one message."""

from __future__ import annotations

import json
import logging
from typing import Any

_log = logging.getLogger(__name__)

Item = dict[str, Any]

NAME = "openai-agents"
"""The name of the part with the item as it was. An item that its text gives back has none."""

_ROLES = {"user": "user", "assistant": "assistant", "system": "system", "developer": "system"}


def to_message(item: Item) -> dict[str, Any]:
    """Return the message of an item."""
    text = text_of(item)
    role = _ROLES.get(str(item.get("role")), "assistant")
    if text and item == {"role": role, "content": text}:
        return {"role": role, "content": text}
    parts = [*_tool_parts(item), {"type": "data", "name": NAME, "data": item}]
    if parts[0]["type"] == "tool-result":
        role = "tool"
    return {"role": role, "content": text, "parts": parts}


def to_item(message: Any) -> Item | None:
    """Return the item of a message, or None for one that is no item. A text of another screen is an item, too.

    The message says whose an item is. A part with an item of another role is not taken.
    """
    for part in message.parts or []:
        if part.type != "data" or part.name != NAME:
            continue
        item = part.data
        if isinstance(item, dict) and to_message(item)["role"] == message.role:
            return item
        _log.warning("skip a part that is no item of its message: %s", message.message_id)
    if message.role == "tool" or not message.content:
        return None
    return {"role": message.role, "content": message.content}


def text_of(item: Item) -> str:
    """Return what an item says."""
    content = item.get("content")
    if isinstance(content, str):
        return content
    pieces = content if isinstance(content, list) and item.get("role") else []
    return "\n".join(str(piece["text"]) for piece in pieces if isinstance(piece, dict) and piece.get("text"))


def _tool_parts(item: Item) -> list[dict[str, Any]]:
    """Return the call of a tool, or its result, as prompts of other screens can tell it."""
    about = {"toolCallId": str(item.get("call_id"))[:128], "toolName": str(item.get("name") or "tool")[:128]}
    if item.get("type") == "function_call":
        return [{"type": "tool-call", **about, "input": _parsed(item.get("arguments"))}]
    if item.get("type") == "function_call_output":
        return [{"type": "tool-result", **about, "output": item.get("output")}]
    return []


def _parsed(arguments: Any) -> Any:
    try:
        return json.loads(arguments)
    except (TypeError, ValueError):
        return arguments
