"""A memory store for the MemoryManager."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable
from typing import Any

from strands.memory import MemoryEntry
from strands.memory.extraction.triggers import InvocationTrigger
from strands.memory.extraction.types import ExtractionConfig
from strands.memory.types import AddMessagesContext, MemoryStore, Metadata, SearchOptions
from strands.types.content import Message
from throughline import Client
from throughline.adapter import During, Left, Place, Softness, in_session, is_outage, soft, store_later, store_waiting, tools

from .messages import read

_MOST = 40
"""Messages in one call: those with ids of their own are limited to about half of the others."""


class ThroughlineMemoryStore(MemoryStore):
    """Searches all that the user said and that is known of the user, and stores the conversation after each invocation.

    client acts for the user. The session of a new conversation is made with context and coach_id. run names the life of
    one agent, whose messages Strands counts from 0: an app that builds its agent again and repeats the same messages
    gives the same. It may be used by several agents only if each has a session of its own."""

    def __init__(
        self, client: Client, *, session_id: str, context: str | None = None, coach_id: str | None = None,
        name: str = "throughline", description: str | None = None, max_search_results: int | None = 8,
        writable: bool = True, extraction: ExtractionConfig | bool | None = None, kind: str = "PROFILE",
        run: str | None = None, timeout: float = 1.5, on_error: Callable[[Exception, During], None] | None = None,
    ) -> None:
        """timeout is the seconds that the agent waits for the memory, each time. on_error gets the memory's errors, and the
        agent goes on without memory; by default an outage is logged, and a mistake of the app is raised."""
        self.name, self.max_search_results, self.writable = name, max_search_results, writable
        self.description = description or "What this user said and what is known of this user, in all conversations."
        if extraction is None and writable:
            extraction = ExtractionConfig(trigger=[InvocationTrigger()])
        self.extraction = extraction
        self._client, self._kind, self._softness = client, kind, Softness(timeout, on_error)
        self._place = Place(session_id, context, coach_id)
        self._run = run or uuid.uuid4().hex
        self._names: dict[str, str] = {}

    async def search(self, query: str, options: SearchOptions | None = None) -> list[MemoryEntry]:
        """Return what is relevant to a query, the most relevant first, without this conversation. It is nothing where the
        memory fails."""
        limit = (options or {}).get("max_search_results") or self.max_search_results or 8
        return await asyncio.to_thread(soft, self._softness, "begin", lambda left: self._search(query, limit, left), [])

    async def add(self, content: str, metadata: Metadata | None = None) -> str:
        """Store one fact and return its id. metadata may have its type."""
        kind = str((metadata or {}).get("type", self._kind))
        return str((await asyncio.to_thread(tools.remember, self._client, content, kind))["id"])

    async def add_messages(self, messages: list[Message], context: AddMessagesContext | None = None) -> None:
        """Store messages. One that is stored already, by its number, is not stored again. Where the memory fails, they are
        stored before the next ones of the session in this process."""
        numbers = context.sequence_numbers if context else None
        ids = [f"{self._run}-{number}" for number in numbers] if numbers else [None] * len(messages)
        read_all = [read(message, id, self._names) for message, id in zip(messages, ids, strict=True)]
        stored = [message for message in read_all if message is not None]
        await asyncio.to_thread(soft, self._softness, "finish", lambda left: self._add(stored, left), None)

    def _search(self, query: str, limit: int, left: Left) -> list[MemoryEntry]:
        # Messages of this conversation are found, too, and left out.
        found = self._client.search(query=query, limit=min(100, 2 * limit), timeout=left()).items
        others = [item for item in found if item.session_id is None or item.session_id != self._place.session_id]
        return [_entry(item) for item in others[:limit]]

    def _add(self, messages: list[dict[str, Any]], left: Left) -> None:
        try:
            store_waiting(self._place.session_id, left)
            self._append(messages, left)
        except Exception as failure:
            if is_outage(failure):
                store_later(self._place.session_id, lambda later: self._append(messages, later))
            raise

    def _append(self, messages: list[dict[str, Any]], left: Left) -> None:
        """Store messages with ids of their own, so that a repeat stores nothing twice."""
        for start in range(0, len(messages), _MOST):
            batch = messages[start:start + _MOST]
            in_session(self._client, self._place, lambda: self._client.append_messages(
                self._place.session_id, messages=batch, timeout=left()))


def _entry(item: Any) -> MemoryEntry:
    about = {"kind": item.kind, "id": item.id or item.message_id, "score": item.score, "context": item.context}
    return MemoryEntry(content=item.content or item.text or "", metadata={
        name: value for name, value in about.items() if value is not None})
