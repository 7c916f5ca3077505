"""What the model gets of the memory."""

from __future__ import annotations

from typing import Any, cast

from agents import TResponseInputItem
from agents.run import CallModelData, CallModelInputFilter, ModelInputData
from throughline.adapter import escape

from .items import Item, text_of
from .session import ThroughlineSession


def with_memory(session: ThroughlineSession) -> CallModelInputFilter:
    """Return a filter for RunConfig(call_model_input_filter=…). It puts the memory before the user's last words, for the
    model only: the session keeps the words as they are. The steps of a turn read the memory once."""

    async def add(data: CallModelData[Any]) -> ModelInputData:
        given = data.model_data
        items = list(given.input)
        place = next((n for n in range(len(items) - 1, -1, -1) if cast(Item, items[n]).get("role") == "user"), None)
        if place is None or not (text := text_of(cast(Item, items[place]))):
            return given
        memory = await session.recall(text, place)
        if memory:
            items[place] = _with(cast(Item, items[place]), memory)
        return ModelInputData(input=items, instructions=given.instructions)

    return add


def _with(item: Item, memory: str) -> TResponseInputItem:
    content = item["content"]
    said = [{"type": "input_text", "text": content}] if isinstance(content, str) else content
    said = [{**piece, "text": escape(piece["text"])} if isinstance(piece.get("text"), str) else piece for piece in said]
    return cast(TResponseInputItem, {**item, "content": [{"type": "input_text", "text": memory}, *said]})
