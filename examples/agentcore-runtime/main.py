"""An agent for Amazon Bedrock AgentCore Runtime whose memory is Throughline.

THROUGHLINE is the address of the API. MODEL is a model of Bedrock; with OPENAI_BASE_URL, it is one of that service.
MEMORY_SECONDS is how long an answer waits for the memory.
"""

import os
from collections.abc import AsyncIterator
from typing import Any

from bedrock_agentcore import BedrockAgentCoreApp, RequestContext
from strands import Agent
from strands.memory import MemoryManager
from strands.models import Model
from strands.models.bedrock import BedrockModel
from strands.models.openai import OpenAIModel
from throughline import Client
from throughline_strands import ThroughlineMemoryStore, ThroughlineSessionManager

app = BedrockAgentCoreApp()


def model() -> Model:
    if url := os.environ.get("OPENAI_BASE_URL"):
        key = os.environ.get("OPENAI_API_KEY", "none")
        return OpenAIModel(client_args={"base_url": url, "api_key": key}, model_id=os.environ["MODEL"])
    return BedrockModel(model_id=os.environ["MODEL"])


def agent(context: RequestContext, screen: str) -> Agent:
    """Return the agent of a runtime session, with what it knew before. The runtime has checked the user's token, and hands it
    on: so does the agent, and the memory is that user's."""
    scheme, _, token = (context.request_headers or {}).get("Authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not context.session_id:
        raise PermissionError("the runtime passes on a token and the id of a session")
    user = Client(os.environ["THROUGHLINE"], lambda: token)
    patience = float(os.environ.get("MEMORY_SECONDS", "1.5"))
    place: dict[str, Any] = {"session_id": context.session_id, "context": screen, "coach_id": "kim"}
    return Agent(
        model=model(), callback_handler=None,
        system_prompt="You are a coach. Be brief.",
        session_manager=ThroughlineSessionManager(user, timeout=patience, **place),
        memory_manager=MemoryManager(stores=[ThroughlineMemoryStore(user, writable=False, timeout=patience, **place)]),
    )


@app.entrypoint
async def invoke(payload: dict[str, Any], context: RequestContext) -> AsyncIterator[str]:
    """Stream the answer to {"prompt": …, "screen": …}."""
    coach = agent(context, payload.get("screen", "coach_conversation"))
    async for event in coach.stream_async(payload["prompt"]):
        if "data" in event:
            yield event["data"]


if __name__ == "__main__":
    app.run(port=int(os.environ.get("PORT", "8080")))
