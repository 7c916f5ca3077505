"""A model of one's own with the memory of Throughline: two screens, one memory.

Beside "make run": python main.py
"""

import os
import sys
from typing import Any

import httpx
from throughline import Client

BASE = os.environ.get("THROUGHLINE", "http://localhost:8080")
STREAM = os.environ.get("THROUGHLINE_STREAM")  # on AWS turns have an address of their own, CoachUrl, beside ApiUrl


def credential() -> str:
    """Returns the server's credential. This is the local stack's; on AWS it is your issuer's, by client credentials."""
    return str(httpx.post(BASE + "/dev/tokens", json={"server": True}).raise_for_status().json()["token"])


def model(messages: list[dict[str, Any]]) -> tuple[str, dict[str, int]]:
    """Answers messages of OpenAI's form: here goes your model. This one is the offline model of the local stack."""
    url = httpx.get(BASE + "/dev/info").json()["openaiBaseUrl"] + "/chat/completions"
    body, headers = {"model": "throughline-offline", "messages": messages}, {"Authorization": "Bearer offline"}
    answer = httpx.post(url, json=body, headers=headers, timeout=60).raise_for_status().json()
    return answer["choices"][0]["message"]["content"], answer["usage"]


def say(memory: Client, session: str, message: str, turn: str) -> str:
    """Answers a message of the user. A turn that is begun again under its name, for a day, is the same one."""
    begun = memory.begin_turn(
        session_id=session, message=message, format="openai-chat", idempotency_key=f"{session}-{turn}")
    try:
        text, usage = model(begun.prompt.openai_chat["messages"])
    except httpx.HTTPError as error:
        memory.finish_turn(begun.turn_id, error=type(error).__name__)
        raise
    used = {"promptTokens": usage["prompt_tokens"], "completionTokens": usage["completion_tokens"]}
    memory.finish_turn(begun.turn_id, content=text, usage=used, model="throughline-offline")
    return text


def main(user: str) -> None:
    """Tells the designer something, and asks the coach."""
    memory = Client(BASE, credential, stream_url=STREAM).as_user(user)
    memory.get_or_create_session("designer", context="program_designer", coach_id="kim")
    memory.get_or_create_session("coach", context="coach_conversation", coach_id="kim")
    swap = "I only have bands at home: swap the hip thrusts for glute bridges."
    print(say(memory, "designer", swap, "1"))
    print(say(memory, "coach", "What did I swap the hip thrusts for?", "1"))


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "eva")
