"""Messages of Pydantic AI, as the memory stores them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic_ai.messages import (
    ModelMessage, ModelResponse, RetryPromptPart, TextPart, ToolCallPart, ToolReturnPart,
)
from pydantic_core import to_jsonable_python


def parts_of(messages: Sequence[ModelMessage]) -> tuple[str, list[dict[str, Any]]]:
    """Return the text of an answer, and its parts: texts, calls of tools and their results."""
    parts = [read for message in messages for part in message.parts if (read := _part(part)) is not None]
    said = [part for message in messages if isinstance(message, ModelResponse) for part in message.parts]
    text = "\n".join(part.content for part in said if isinstance(part, TextPart) and part.content)
    return text, parts


def _part(part: Any) -> dict[str, Any] | None:
    if isinstance(part, TextPart) and part.content:
        return {"type": "text", "text": part.content}
    if isinstance(part, ToolCallPart):
        return {"type": "tool-call", **_of(part), "input": part.args_as_dict()}
    if isinstance(part, ToolReturnPart):
        return {"type": "tool-result", **_of(part), "output": to_jsonable_python(part.content)}
    if isinstance(part, RetryPromptPart) and part.tool_name is not None:
        return {"type": "tool-result", **_of(part), "output": part.model_response(), "isError": True}
    return None


def _of(part: ToolCallPart | ToolReturnPart | RetryPromptPart) -> dict[str, Any]:
    return {"toolCallId": part.tool_call_id, "toolName": part.tool_name}
