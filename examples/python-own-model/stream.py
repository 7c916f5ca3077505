"""A route that streams the answer of your own model. When the page goes away, the memory has what it was shown.

Beside "make run": uvicorn stream:app
"""

from collections.abc import AsyncIterator
from functools import cache
from typing import Annotated

import httpx
from fastapi import Cookie, FastAPI
from fastapi.responses import StreamingResponse
from main import BASE, STREAM, credential
from openai import AsyncOpenAI
from pydantic import BaseModel
from throughline import AsyncClient
from throughline.models import BegunTurn

app = FastAPI()
server = AsyncClient(BASE, credential, stream_url=STREAM)


class Said(BaseModel):
    session: str
    message: str


@cache
def provider() -> AsyncOpenAI:
    """Returns your model's client. This one is of the offline model of the local stack."""
    return AsyncOpenAI(base_url=httpx.get(BASE + "/dev/info").json()["openaiBaseUrl"], api_key="offline")


async def model(turn: BegunTurn) -> AsyncIterator[str]:
    """Yields the answer of your model as it comes."""
    chunks = await provider().chat.completions.create(
        model="throughline-offline", stream=True, **turn.prompt.openai_chat)
    async for chunk in chunks:
        if chunk.choices and chunk.choices[0].delta.content:
            yield chunk.choices[0].delta.content


@app.post("/api/chat")
async def chat(said: Said, user: Annotated[str, Cookie()]) -> StreamingResponse:
    """Answers a message. The user is whom your sign-in names."""
    memory = server.as_user(user)
    await memory.get_or_create_session(said.session, context="coach_conversation", coach_id="kim")
    turn = await memory.begin_turn(session_id=said.session, message=said.message, format="openai-chat")
    return StreamingResponse(memory.finish_streaming(turn.turn_id, model(turn)), media_type="text/plain")
