"""One turn of the user: the message is stored, the memory is read once, and the answer is stored."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from .. import models as m
from ..client import Client
from ..errors import ProblemError, ThroughlineError
from ..session_id import encode_session_id
from .block import memory_of, wrap
from .soft import Left, Softness, is_outage, soft, store_later, store_waiting

T = TypeVar("T")
Part = Mapping[str, Any]
"""A part of a message, with the API's own names."""

Replaces = Literal["last"] | Mapping[str, Any]
"""What a turn takes the place of: the session's last turn, that of {"messageId": …}, or all after {"afterSeq": …}."""


_MOST = 256 * 1024
"""Bytes of a message, with its parts. Larger parts are left out, and the text stays."""


@dataclass(frozen=True)
class Place:
    """Where a conversation takes place. session_id is any text: one that the API does not take is encoded. With context
    and coach_id, a session that does not exist is made. budget is the tokens for what is taken from the memory."""

    session_id: str
    context: str | None = None
    coach_id: str | None = None
    agent_id: str | None = None
    recipe: Any = None
    budget: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "session_id", encode_session_id(self.session_id))

    def reading(self) -> dict[str, Any]:
        """Return how the memory is read."""
        budget = None if self.budget is None else {"tokens": self.budget}
        given = {"agent_id": self.agent_id, "recipe": self.recipe, "budget": budget}
        return {name: value for name, value in given.items() if value is not None}


@dataclass
class Turn:
    """A turn that has begun. memory is the block for the model, and prompt_id says what is in it: both are empty where
    the memory failed."""

    _begin: Callable[[Left], m.BegunTurn]
    _client: Client
    _session_id: str
    _softness: Softness
    memory: str = ""
    prompt_id: str = ""
    _begun: m.BegunTurn | None = field(default=None)

    def finish(self, content: str, parts: Sequence[Part] = (), **about: Any) -> str | None:
        """Store the answer and return its id. A repeat stores nothing. It returns None for an answer without a text, and
        where the memory fails: then the turn is stored with the next one of the session. about has the other arguments
        of finish_turn, such as usage."""
        has_more = any(part["type"] != "text" for part in parts) and _bytes(content, parts) <= _MOST
        said = {"content": content} if content else {}
        body: dict[str, Any] = {**said, **({"parts": list(parts)} if has_more else {}), **about}

        def store(left: Left) -> str | None:
            self._begun = self._begun or self._begin(left)
            return self._client.finish_turn(self._begun.turn_id, **body, timeout=left()).message_id

        def now(left: Left) -> str | None:
            try:
                return store(left)
            except Exception as failure:
                if is_outage(failure):
                    store_later(self._session_id, store)
                raise

        return soft(self._softness, "finish", now, None)


def begin_turn(
    client: Client, place: Place, message: str, key: str, softness: Softness = Softness(),
    replaces: Replaces | None = None,
) -> Turn:
    """Store the user's message and get the memory. The key, of at most 100 characters, names the turn in its session: for
    a day, a turn that is begun again is the same one. With replaces the earlier turn is over: its answer, whole or cut,
    is deleted in the same step."""
    session_id = place.session_id

    replaced = replaces

    def begin(left: Left) -> m.BegunTurn:
        nonlocal replaced
        if replaced == "last":  # once: a turn that is begun again has to name the same
            replaced = _last_question(client, session_id, left)
        about: dict[str, Any] = {"replaces": replaced} if replaced else {}
        return in_session(client, place, lambda: client.begin_turn(
            session_id=session_id, message=message, idempotency_key=key, timeout=left(), **about, **place.reading()))

    def now(left: Left) -> m.BegunTurn:
        store_waiting(session_id, left)
        return begin(left)

    turn = Turn(begin, client, session_id, softness)
    begun = soft(softness, "begin", now, None)
    if begun is not None:
        turn._begun, turn.memory, turn.prompt_id = begun, wrap(memory_of(begun.prompt)), begun.prompt.prompt_id
    return turn


def _bytes(content: str, parts: Sequence[Part]) -> int:
    return len(content.encode()) + len(json.dumps(list(parts), ensure_ascii=False).encode())


def _last_question(client: Client, session_id: str, left: Left) -> dict[str, Any] | None:
    """Return the last message of the user in a session, or None in a session without any."""
    try:
        for message in client.list_messages(session_id, order="desc", timeout=left()):
            if message.role == "user":
                return {"messageId": message.message_id}
    except ProblemError as problem:
        if problem.code != "not_found":
            raise
    return None


def in_session(client: Client, place: Place, call: Callable[[], T]) -> T:
    """Make a call in a session, which is made first if it does not exist."""
    try:
        return call()
    except ProblemError as problem:
        if problem.code != "not_found":
            raise
        if not place.context or not place.coach_id:
            raise ThroughlineError(
                f"there is no session {place.session_id}: name a context and a coach_id, with which it is made") from problem
    client.get_or_create_session(place.session_id, context=place.context, coach_id=place.coach_id)
    return call()
