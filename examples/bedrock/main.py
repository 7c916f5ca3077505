"""One turn with a model of Amazon Bedrock, which has the memory of Throughline.

Beside "make run": MODEL=us.amazon.nova-lite-v1:0 python main.py
"""

import os
from typing import Any

import boto3
import httpx
from throughline import Client

BASE = os.environ.get("THROUGHLINE", "http://localhost:8080")
MODEL = os.environ.get("MODEL", "us.amazon.nova-lite-v1:0")


def credential() -> str:
    """Returns the server's credential. This is the local stack's; on AWS it is your issuer's, by client credentials."""
    return str(httpx.post(BASE + "/dev/tokens", json={"server": True}).raise_for_status().json()["token"])


def answer_to(memory: Client, bedrock: Any, session: str, message: str) -> str:
    """Answers a message. The turn is ended with the error where the model fails."""
    text = ""

    def answer(turn: Any) -> dict[str, Any]:
        nonlocal text
        call = turn.prompt.bedrock_converse
        while True:
            reply = bedrock.converse(modelId=MODEL, **call)
            said = reply["output"]["message"]
            call["messages"].append(said)
            if reply["stopReason"] != "tool_use":
                break
            uses = [block["toolUse"] for block in said["content"] if "toolUse" in block]
            call["messages"].append({"role": "user", "content": [result(memory, session, use) for use in uses]})
        text = "".join(block.get("text", "") for block in said["content"])
        return {"content": text, "model": MODEL, "usage": {"totalTokens": reply["usage"]["totalTokens"]}}

    memory.turn(answer, session_id=session, message=message, format="bedrock-converse")
    return text


def result(memory: Client, session: str, use: dict[str, Any]) -> dict[str, Any]:
    """Answers the model's call of search_conversations."""
    found = memory.recall(query=use["input"]["query"], session_id=session, tokens=1500).messages
    lines = [{"at": m.timestamp.isoformat(), "screen": m.context, "role": m.role, "text": m.content} for m in found]
    return {"toolResult": {"toolUseId": use["toolUseId"], "content": [{"json": {"messages": lines}}]}}


def main(user: str = "eva") -> None:
    """Tells the designer something, and asks the coach."""
    memory, bedrock = Client(BASE, credential).as_user(user), boto3.client("bedrock-runtime")
    memory.get_or_create_session("designer", context="program_designer", coach_id="kim")
    memory.get_or_create_session("coach", context="coach_conversation", coach_id="kim")
    print(answer_to(memory, bedrock, "designer", "I only have bands at home: swap the hip thrusts for glute bridges."))
    print(answer_to(memory, bedrock, "coach", "What did I swap the hip thrusts for?"))
    bedrock.close()


if __name__ == "__main__":
    main()
