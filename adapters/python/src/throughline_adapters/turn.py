"""One turn of the user: the message is stored, the memory is read once, and the answer is stored."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from throughline import Client, ProblemError

from .block import memory_of, wrap

T = TypeVar("T")
Part = Mapping[str, Any]
"""A part of a message, with the API's own names."""

_MOST = 256 * 1024
"""Bytes of a message, with its parts."""


@dataclass(frozen=True)
class Place:
    """Where a conversation takes place. With context and coach_id, a session that does not exist is made. budget is the
    tokens for what is taken from the memory."""

    session_id: str
    context: str | None = None
    coach_id: str | None = None
    agent_id: str | None = None
    recipe: str | None = None
    budget: int | None = None

    def options(self) -> dict[str, Any]:
        """Return what is said about a prompt beside its session and context."""
        budget = None if self.budget is None else {"tokens": self.budget}
        given = {"coach_id": self.coach_id, "agent_id": self.agent_id, "recipe": self.recipe, "budget": budget}
        return {name: value for name, value in given.items() if value is not None}


@dataclass(frozen=True)
class Turn:
    """A turn that has begun. memory is the block for the model, or empty."""

    prompt_id: str
    memory: str
    message_id: str


def begin_turn(client: Client, place: Place, message: str, key: str) -> Turn:
    """Store the user's message and get the memory. The key, of at most 100 characters, names the turn in its session:
    a repeat stores nothing, whenever it comes."""
    body: Any = [{"role": "user", "content": message, "clientMessageId": key}]
    appended = in_session(client, place, lambda: client.append_messages(
        place.session_id, messages=body, idempotency_key=key))
    stored = appended.messages[0]
    context: Any = place.context or client.get_session(place.session_id).context
    prompt = client.build_prompt(
        session_id=place.session_id, context=context, message=message, message_id=stored.message_id, **place.options())
    return Turn(prompt.prompt_id, wrap(memory_of(prompt)), stored.message_id)


def store_answer(
    client: Client, session_id: str, key: str, content: str, parts: Sequence[Part] = (), **metadata: Any,
) -> str | None:
    """Store the answer of the turn with the key, and return its id. A repeat stores nothing. It returns None for an
    answer without text, and where another run has answered this turn. Parts are stored where they have more than the
    text, and are not too large."""
    if not content:
        return None
    key = f"{key}-answer"
    message: dict[str, Any] = {"role": "assistant", "content": content, "metadata": metadata, "clientMessageId": key}
    if any(part["type"] != "text" for part in parts) and _bytes(content, parts) <= _MOST:
        message["parts"] = list(parts)
    try:
        stored = client.append_messages(session_id, messages=[message], idempotency_key=key)
    except ProblemError as problem:
        if problem.code not in ("idempotency_mismatch", "conflict"):
            raise
        return None
    return stored.messages[0].message_id


def _bytes(content: str, parts: Sequence[Part]) -> int:
    return len(content.encode()) + len(json.dumps(list(parts), ensure_ascii=False).encode())


def in_session(client: Client, place: Place, call: Callable[[], T]) -> T:
    """Make a call in a session, which is made first if it does not exist."""
    try:
        return call()
    except ProblemError as problem:
        if problem.code != "not_found" or not place.context or not place.coach_id:
            raise
    context: Any = place.context
    client.get_or_create_session(place.session_id, context=context, coach_id=place.coach_id)
    return call()
