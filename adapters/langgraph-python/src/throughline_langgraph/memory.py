"""The nodes of a graph that remembers."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph import MessagesState
from throughline import Client
from throughline.adapter import (
    During, Left, Place, Softness, escape, is_outage, memory_of, soft, store_later, store_waiting, wrap,
)
from throughline.models import Prompt

from .history import mirror

_MOST = 256 * 1024
"""Bytes of a message, with its parts."""


class MemoryState(MessagesState):
    """The state of a graph with the nodes of Memory. memory is the block for the model, prompt_id says what is in it."""

    memory: str
    prompt_id: str


class Memory:
    """Has the two nodes: recall before the model, save after its last answer.

    The configurable user_id of a run names the user that the server's client acts for, and thread_id the session. With
    context and coach_id, a session that does not exist is made. It may be used by runs at the same time."""

    def __init__(
        self, client: Client, *, context: str | None = None, coach_id: str | None = None, agent_id: str | None = None,
        recipe: str | None = None, budget: int | None = None, timeout: float = 1.5,
        on_error: Callable[[Exception, During], None] | None = None,
    ) -> None:
        """timeout is the seconds that the graph waits for the memory, each time. on_error gets the memory's errors, and the
        graph goes on without memory; by default an outage is logged, and a mistake of the app is raised."""
        self._client, self._softness = client, Softness(timeout, on_error)
        self._options: dict[str, Any] = {
            "context": context, "coach_id": coach_id, "agent_id": agent_id, "recipe": recipe, "budget": budget}

    def recall(self, state: MemoryState, config: RunnableConfig) -> dict[str, Any]:
        """Store the user's last message, and read the memory for it. A repeated step stores nothing twice. What followed
        the message before it is replaced, so that a state which was forked at an older message, or whose message was
        edited, is the session's history, too. Where the memory fails, memory and prompt_id are empty."""
        said, _ = last_turn(state["messages"])
        if said is None or not said.text:
            return {"memory": "", "prompt_id": ""}
        client, place, text = client_of(self._client, config), self._place(config), said.text
        before, message = _sent_by(state["messages"])

        def read(left: Left) -> Prompt:
            store_waiting(place.session_id, left)
            stored = mirror(client, place, before, message, left)
            context = place.context or client.get_session(place.session_id, timeout=left()).context
            about = {"coach_id": place.coach_id} if place.coach_id else {}
            return client.build_prompt(
                session_id=place.session_id, context=context, message=text, message_id=stored, timeout=left(), **about,
                **place.reading())

        prompt = soft(self._softness, "begin", read, None)
        if prompt is None:
            return {"memory": "", "prompt_id": ""}
        return {"memory": wrap(memory_of(prompt)), "prompt_id": prompt.prompt_id}

    def save(self, state: MemoryState, config: RunnableConfig) -> dict[str, Any]:
        """Store the answer to the user's last message, with the calls of tools and their results. It replaces another
        answer to the message. Where the memory fails, the turn is stored by a later step of the session in this
        process."""
        said, steps = last_turn(state["messages"])
        last = steps[-1] if steps else None
        text = _text_of(steps)
        if said is None or not said.text or not isinstance(last, AIMessage) or last.tool_calls or not text:
            return {}
        client, place = client_of(self._client, config), self._place(config)
        before, message = _sent_by(state["messages"])
        key, parts = message["clientMessageId"], parts_of(steps)
        answer = {"role": "assistant", "content": text, "clientMessageId": _answer_key(key, text),
                  "metadata": {"promptId": state.get("prompt_id", ""), **_about(steps)}}
        if any(part["type"] != "text" for part in parts) and _bytes(text, parts) <= _MOST:
            answer["parts"] = parts

        def store(left: Left) -> None:
            if not state.get("prompt_id"):  # The user's message is there, unless the memory failed then.
                mirror(client, place, before, message, left)
            mirror(client, place, [key], answer, left)

        def now(left: Left) -> None:
            try:
                store(left)
            except Exception as failure:
                if is_outage(failure):
                    store_later(place.session_id, store)
                raise

        soft(self._softness, "finish", now, None)
        return {}

    def _place(self, config: RunnableConfig) -> Place:
        return Place(str(config["configurable"]["thread_id"]), **self._options)


def with_memory(messages: Sequence[AnyMessage], memory: str) -> list[AnyMessage]:
    """Return the messages for the model: the memory is before the user's words, in the user's last message."""
    said, steps = last_turn(messages)
    if said is None or not memory:
        return list(messages)
    blocks = [said.content] if isinstance(said.content, str) else said.content
    texts = [{"type": "text", "text": block} if isinstance(block, str) else block for block in blocks]
    texts = [{**text, "text": escape(text["text"])} if isinstance(text.get("text"), str) else text for text in texts]
    shown = said.model_copy(update={"content": [{"type": "text", "text": memory}, *texts]})
    return [*messages[:len(messages) - len(steps) - 1], shown, *steps]


def last_turn(messages: Sequence[AnyMessage]) -> tuple[HumanMessage | None, list[AnyMessage]]:
    """Return the user's last message, and what follows it."""
    for position in range(len(messages) - 1, -1, -1):
        message = messages[position]
        if isinstance(message, HumanMessage):
            return message, list(messages[position + 1:])
    return None, []


def client_of(client: Client, config: RunnableConfig) -> Client:
    """Return the client that acts for the user of a run."""
    user = config.get("configurable", {}).get("user_id")
    return client.as_user(user) if user else client


def key_of(message: HumanMessage) -> str:
    """Return the key of a turn: the same for a repeat, and another one where the message was edited."""
    if message.id is None:
        raise ValueError("the user's message has no id: the messages of a state need the reducer add_messages")
    return hashlib.sha256(json.dumps([message.id, message.text]).encode()).hexdigest()


def _sent_by(messages: Sequence[AnyMessage]) -> tuple[list[str], dict[str, Any]]:
    """Return the keys of the turn before the last one, of its answer and of its message, and the user's last message as it
    is stored."""
    said, steps = last_turn(messages)
    assert said is not None
    earlier, answers = last_turn(messages[:len(messages) - len(steps) - 1])
    before = []
    if earlier is not None and earlier.text:
        before = [_answer_key(key_of(earlier), _text_of(answers)), key_of(earlier)]
    return before, {"role": "user", "content": said.text, "clientMessageId": key_of(said)}


def _answer_key(key: str, content: str) -> str:
    """Return the key of an answer to the message with a key."""
    return f"{key}-{hashlib.sha256(content.encode()).hexdigest()[:16]}"


def _text_of(steps: Sequence[AnyMessage]) -> str:
    return "\n".join(step.text for step in steps if isinstance(step, AIMessage) and step.text)


def _bytes(content: str, parts: Sequence[dict[str, Any]]) -> int:
    return len(content.encode()) + len(json.dumps(parts, ensure_ascii=False).encode())


def parts_of(steps: Sequence[AnyMessage]) -> list[dict[str, Any]]:
    """Return the texts, the calls of tools and their results as parts."""
    parts: list[dict[str, Any]] = []
    names: dict[str, str] = {}
    for step in steps:
        if isinstance(step, AIMessage):
            if step.text:
                parts.append({"type": "text", "text": step.text})
            for call in step.tool_calls:
                names[str(call["id"])] = call["name"]
                parts.append({"type": "tool-call", "toolCallId": str(call["id"]), "toolName": call["name"],
                              "input": call["args"]})
        elif isinstance(step, ToolMessage):
            parts.append({"type": "tool-result", "toolCallId": step.tool_call_id, "output": step.text,
                          "toolName": step.name or names.get(step.tool_call_id, "tool"),
                          **({"isError": True} if step.status == "error" else {})})
    return parts


def _about(steps: Sequence[AnyMessage]) -> dict[str, Any]:
    """Return the tokens that the steps used, and the model."""
    answers = [step for step in steps if isinstance(step, AIMessage)]
    used = [answer.usage_metadata for answer in answers if answer.usage_metadata]
    about: dict[str, Any] = {}
    if used:
        prompt, completion = (sum(one[name] for one in used) for name in ("input_tokens", "output_tokens"))
        about["usage"] = {"promptTokens": prompt, "completionTokens": completion, "totalTokens": prompt + completion}
    model = answers[-1].response_metadata.get("model_name")
    return about | ({"model": model} if model else {})
