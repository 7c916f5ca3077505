"""Messages of Strands, as the memory stores them."""

from __future__ import annotations

from typing import Any

from strands.types.content import ContentBlock, Message


def read(message: Message, id: str | None, names: dict[str, str]) -> dict[str, Any] | None:
    """Return a message for the memory, or None for one of which nothing can be stored. Strands has the results of tools
    in messages of the user. names has the names of tools by call, and gets those of the message."""
    parts = [part for block in message["content"] if (part := _part(block, names)) is not None]
    if not parts:
        return None
    results = any(part["type"] == "tool-result" for part in parts)
    text = "\n".join(part["text"] for part in parts if part["type"] == "text")
    read: dict[str, Any] = {"role": "tool" if results else message["role"], "content": text}
    if any(part["type"] != "text" for part in parts):
        read["parts"] = parts
    if id is not None:
        read["clientMessageId"] = id
    return read


def _part(block: ContentBlock, names: dict[str, str]) -> dict[str, Any] | None:
    if block.get("text"):
        return {"type": "text", "text": block["text"]}
    if "toolUse" in block:
        use = block["toolUse"]
        names[use["toolUseId"]] = use["name"]
        return {"type": "tool-call", "toolCallId": use["toolUseId"], "toolName": use["name"], "input": use["input"]}
    if "toolResult" in block:
        result = block["toolResult"]
        output = [piece.get("json", piece.get("text")) for piece in result["content"]]
        part = {"type": "tool-result", "toolCallId": result["toolUseId"],
                "toolName": names.get(result["toolUseId"], "tool"), "output": output[0] if len(output) == 1 else output}
        return part | ({"isError": True} if result.get("status") == "error" else {})
    return None
