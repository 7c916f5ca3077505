"""A capability of an agent that remembers."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic_ai import FunctionToolset, RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import ModelMessage, ModelRequest, UserPromptPart
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.run import AgentRunResult
from pydantic_ai.toolsets import AbstractToolset
from throughline import Client
from throughline.adapter import During, Place, Replaces, Softness, Turn, begin_turn, escape, tools

from .parts import parts_of


@dataclass
class ThroughlineMemory(AbstractCapability[Any]):
    """Gets the memory once in each run, gives it to the model as what was said and not as an instruction, stores the
    user's message and the answer, and has the tools search, remember, and forget by exact id.

    client acts for the user. With context and coach_id, a session that does not exist is made. turn_id names the turn,
    such as the id of the user's message: a run that is repeated with it stores nothing twice. It is given to each run,
    or to an agent of one conversation, and may be used by runs at the same time. replaces is what the turn takes the place
    of, when an answer is generated again or a message edited: "last", or {"messageId": …}; it needs a turn_id of its own.

    timeout is the seconds that the agent waits for the memory, each time. on_error gets the memory's errors, and the agent
    goes on without memory; by default an outage is logged, and a mistake of the app is raised."""

    client: Client
    session_id: str
    context: str | None = None
    coach_id: str | None = None
    agent_id: str | None = None
    recipe: str | None = None
    budget: int | None = None
    turn_id: str | None = None
    replaces: Replaces | None = None
    timeout: float = 1.5
    on_error: Callable[[Exception, During], None] | None = None
    types: Sequence[str] = tools.TYPES
    limit: int = 8
    with_tools: bool = True
    _turn: asyncio.Future[Turn] | None = field(default=None, repr=False)

    @classmethod
    def get_serialization_name(cls) -> str | None:
        """Return None: a client has no name in a file."""
        return None

    async def for_run(self, ctx: RunContext[Any]) -> ThroughlineMemory:
        """Return the capability of one run."""
        return replace(self, turn_id=self.turn_id or ctx.run_id, _turn=None)

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext,
    ) -> ModelRequestContext:
        """Put the memory before the user's words, in this request only."""
        said = _last(request_context.messages)
        if said is None:
            return request_context
        place, text = said
        if self._turn is None:
            self._turn = asyncio.ensure_future(asyncio.to_thread(
                begin_turn, self.client, self._place(), text, self._key(), Softness(self.timeout, self.on_error),
                self.replaces))
        memory = (await self._turn).memory
        messages = list(request_context.messages)
        messages[place] = _with_memory(messages[place], memory)
        return replace(request_context, messages=messages)

    async def after_run(self, ctx: RunContext[Any], *, result: AgentRunResult[Any]) -> AgentRunResult[Any]:
        """Store the answer, with the calls of tools and their results."""
        if self._turn is None:
            return result
        turn = await self._turn
        text, parts = parts_of(result.new_messages())
        usage = ctx.usage
        await asyncio.to_thread(
            turn.finish, text, parts,
            usage={"promptTokens": usage.input_tokens, "completionTokens": usage.output_tokens,
                   "totalTokens": usage.input_tokens + usage.output_tokens})
        return result

    def get_toolset(self) -> AbstractToolset[Any] | None:
        """Return the tools."""
        if not self.with_tools:
            return None
        toolset: FunctionToolset[Any] = FunctionToolset()

        async def search(query: str) -> list[dict[str, Any]]:
            return await asyncio.to_thread(tools.search, self.client, query, self.limit)

        async def remember(ctx: RunContext[Any], content: str, type: str = self.types[0]) -> dict[str, Any]:
            call = f"{ctx.run_id}-{ctx.tool_call_id}"
            return await asyncio.to_thread(tools.remember, self.client, content, type, call)

        async def forget(id: str) -> dict[str, Any]:
            return await asyncio.to_thread(tools.forget, self.client, id)

        toolset.add_function(search, description=tools.SEARCH)
        toolset.add_function(remember, description=f"{tools.REMEMBER} type is one of {', '.join(self.types)}.")
        toolset.add_function(forget, description=tools.FORGET)
        return toolset

    def _place(self) -> Place:
        return Place(self.session_id, self.context, self.coach_id, self.agent_id, self.recipe, self.budget)

    def _key(self) -> str:
        return hashlib.sha256(str(self.turn_id).encode()).hexdigest()


def _last(messages: Sequence[ModelMessage]) -> tuple[int, str] | None:
    """Return the place and the text of the user's last message."""
    for place in range(len(messages) - 1, -1, -1):
        message = messages[place]
        if isinstance(message, ModelRequest):
            texts = [_text(part) for part in message.parts if isinstance(part, UserPromptPart)]
            if texts:
                text = "\n".join(filter(None, texts))
                return (place, text) if text else None
    return None


def _text(part: UserPromptPart) -> str:
    if isinstance(part.content, str):
        return part.content
    return "\n".join(piece for piece in part.content if isinstance(piece, str))


def _with_memory(message: ModelMessage, memory: str) -> ModelMessage:
    if not memory or not isinstance(message, ModelRequest):
        return message
    parts = list(message.parts)
    place = next(n for n, part in enumerate(parts) if isinstance(part, UserPromptPart))
    part = parts[place]
    assert isinstance(part, UserPromptPart)
    said = [part.content] if isinstance(part.content, str) else list(part.content)
    shown = [escape(piece) if isinstance(piece, str) else piece for piece in said]
    parts[place] = replace(part, content=[memory, *shown])
    return replace(message, parts=parts)
