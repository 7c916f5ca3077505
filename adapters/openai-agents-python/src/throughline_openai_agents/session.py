"""A session that keeps a run's items in the memory."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from functools import partial
from itertools import islice
from typing import Any, TypeVar, cast

from agents import SessionSettings, TResponseInputItem
from agents.memory import SessionABC
from throughline import Client, ProblemError
from throughline.adapter import (
    During, Left, Place, Softness, in_session, is_outage, memory_of, soft, store_later, store_waiting, wrap,
)

from .items import Item, to_item, to_message

T = TypeVar("T")

_MOST = 50
"""Messages in one call."""

_ATTEMPTS = 100
"""How often a change is tried where others change the session at the same time."""


class ThroughlineSession(SessionABC):
    """Keeps the items of one conversation.

    client acts for the user. With context and coach_id, a session that does not exist is made. It may be used by runs
    at the same time, and by several processes."""

    def __init__(
        self, session_id: str, client: Client, *, context: str | None = None, coach_id: str | None = None,
        agent_id: str | None = None, recipe: str | None = None, budget: int | None = None,
        session_settings: SessionSettings | dict[str, Any] | None = None, timeout: float = 1.5,
        on_error: Callable[[Exception, During], None] | None = None,
    ) -> None:
        """timeout is the seconds that a run waits for the memory, each time. on_error gets the memory's errors, and the run
        goes on without memory; by default an outage is logged, and a mistake of the app is raised."""
        self.session_id, self.session_settings = session_id, SessionSettings().resolve(session_settings)
        self._client, self._softness = client, Softness(timeout, on_error)
        self._place = Place(session_id, context, coach_id, agent_id, recipe, budget)
        self._said: dict[str, str] = {}
        self._recalled: tuple[Any, asyncio.Future[str]] | None = None

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Return the latest items, the oldest first: none where the memory fails."""
        most = self.session_settings.limit if limit is None else limit
        return await asyncio.to_thread(soft, self._softness, "begin", lambda _: self._items(most), [])

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Store items, up to 50 at once. A repeat after a lost answer stores nothing twice. Where the memory fails, they are
        stored before the next items of the session in this process."""
        messages = [to_message(cast(Item, item)) for item in items]
        batches = [messages[start:start + _MOST] for start in range(0, len(messages), _MOST)]
        await asyncio.to_thread(soft, self._softness, "finish", lambda _: self._add(batches, self._patience), None)

    async def pop_item(self) -> TResponseInputItem | None:
        """Remove the last item and return it."""
        return await asyncio.to_thread(self._pop)

    async def clear_session(self) -> None:
        """Remove all items. What was drawn only from them goes, too."""
        await asyncio.to_thread(_found, lambda: self._client.clear_messages(self._place.session_id))

    async def recall(self, message: str, turn: Any = None) -> str:
        """Return the block with what the memory has for a message of the user. A turn reads it once."""
        if self._recalled is None or self._recalled[0] != (message, turn):
            self._recalled = (message, turn), asyncio.ensure_future(asyncio.to_thread(self._recall, message))
        return await self._recalled[1]

    def _patience(self) -> float:
        """Return the seconds for each call: a long history takes several."""
        return self._softness.timeout

    def _items(self, most: int | None) -> list[TResponseInputItem]:
        if most is not None and most <= 0:
            return []
        page: Any = {} if most is None else {"limit": min(200, most)}

        def read() -> list[Item]:
            found = map(to_item, self._client.list_messages(self._place.session_id, order="desc", timeout=self._patience(), **page))
            return list(islice((item for item in found if item is not None), most))

        return cast(list[TResponseInputItem], (_found(read) or [])[::-1])

    def _add(self, batches: list[list[dict[str, Any]]], left: Left) -> None:
        """Store batches after what waits. From the first that fails on, they wait, too."""
        failure: Exception | None = None
        try:
            store_waiting(self._place.session_id, left)
        except Exception as raised:
            failure = raised
        for messages in batches:
            append = partial(self._append, messages, secrets.token_hex(16))
            try:
                if failure is None:
                    append(left)
            except Exception as raised:
                failure = raised
            if failure is not None and is_outage(failure):
                store_later(self._place.session_id, append)
        if failure is not None:
            raise failure

    def _append(self, messages: list[dict[str, Any]], key: str, left: Left) -> None:
        stored = in_session(self._client, self._place, lambda: self._client.append_messages(
            self._place.session_id, messages=messages, idempotency_key=key, timeout=left()))
        self._said = {m.content: m.message_id for m in stored.messages if m.role == "user"} or self._said

    def _pop(self) -> TResponseInputItem | None:
        for _ in range(_ATTEMPTS):
            last = _found(lambda: next(iter(self._client.list_messages(self._place.session_id, order="desc", limit=1)), None))
            if last is None:
                return None
            # Another call may have popped it, or added items, and a message of another screen may be no item.
            if self._cut(last.message_id) and (item := to_item(last)) is not None:
                return cast(TResponseInputItem, item)
        raise RuntimeError("others change the session all the time")

    def _cut(self, last: str) -> bool:
        """Remove the last message in one step. It returns False where another one is the last by now."""
        try:
            self._client.truncate_messages(self._place.session_id, last_n=1, expected=[last])
        except ProblemError as problem:
            if problem.code not in ("conflict", "not_found"):
                raise
            return False
        return True

    def _recall(self, message: str) -> str:
        place, stored = self._place, self._said.get(message)
        about: dict[str, Any] = {"message_id": stored} if stored else {}
        if place.coach_id:
            about["coach_id"] = place.coach_id

        def read(left: Left) -> str:
            prompt = in_session(self._client, place, lambda: self._client.build_prompt(
                session_id=place.session_id, context=place.context or self._context(), message=message, timeout=left(),
                **about, **place.reading()))
            return wrap(memory_of(prompt))

        return soft(self._softness, "begin", read, "")

    def _context(self) -> str:
        return self._client.get_session(self._place.session_id).context


def _found(call: Callable[[], T]) -> T | None:
    """Make a call. A session that does not exist has nothing."""
    try:
        return call()
    except ProblemError as problem:
        if problem.code != "not_found":
            raise
        return None


