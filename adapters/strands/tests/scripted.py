"""A model that answers as it is made to."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from strands.models import Model


class Scripted(Model):
    """Answers as it is made to, and keeps what it gets."""

    def __init__(self, *answers: Any) -> None:
        self.answers, self.got = list(answers), list[Any]()

    def update_config(self, **_: Any) -> None:
        pass

    def get_config(self) -> Any:
        return {}

    def structured_output(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError

    async def stream(self, messages: Any, *_: Any, **__: Any) -> AsyncIterator[Any]:
        self.got.append(messages)
        answer = self.answers.pop(0)
        yield {"messageStart": {"role": "assistant"}}
        if isinstance(answer, str):
            yield {"contentBlockStart": {"start": {}}}
            yield {"contentBlockDelta": {"delta": {"text": answer}}}
        else:
            yield {"contentBlockStart": {"start": {"toolUse": {"name": answer["name"], "toolUseId": answer["id"]}}}}
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": answer["input"]}}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn" if isinstance(answer, str) else "tool_use"}}
