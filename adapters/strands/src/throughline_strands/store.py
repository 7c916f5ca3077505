"""A memory store for the MemoryManager."""

from __future__ import annotations

import asyncio
import uuid
from typing import Any

from strands.memory import MemoryEntry
from strands.memory.extraction.triggers import InvocationTrigger
from strands.memory.extraction.types import ExtractionConfig
from strands.memory.types import AddMessagesContext, Metadata, SearchOptions
from strands.types.content import Message
from throughline import Client
from throughline_adapters import Place, in_session, tools

from .messages import read

_MOST = 40
"""Messages in one call: those with ids of their own are limited to about half of the others."""


class ThroughlineMemoryStore:
    """Searches all that the user said and that is known of the user, and stores the conversation after each invocation.

    client acts for the user. The session of a new conversation is made with context and coach_id. run names the life of
    one agent, whose messages Strands counts from 0: an app that builds its agent again and repeats the same messages
    gives the same. It may be used by several agents only if each has a session of its own."""

    def __init__(
        self, client: Client, *, session_id: str, context: str | None = None, coach_id: str | None = None,
        name: str = "throughline", description: str | None = None, max_search_results: int | None = 8,
        writable: bool = True, extraction: ExtractionConfig | bool | None = None, kind: str = "PROFILE",
        run: str | None = None,
    ) -> None:
        self.name, self.max_search_results, self.writable = name, max_search_results, writable
        self.description = description or "What this user said and what is known of this user, in all conversations."
        if extraction is None and writable:
            extraction = ExtractionConfig(trigger=[InvocationTrigger()])
        self.extraction = extraction
        self._client, self._kind = client, kind
        self._place = Place(session_id, context, coach_id)
        self._run = run or uuid.uuid4().hex
        self._names: dict[str, str] = {}

    async def search(self, query: str, options: SearchOptions | None = None) -> list[MemoryEntry]:
        """Return what is relevant to a query, the most relevant first, without this conversation."""
        limit = (options or {}).get("max_search_results") or self.max_search_results or 8
        return await asyncio.to_thread(self._search, query, limit)

    async def add(self, content: str, metadata: Metadata | None = None) -> str:
        """Store one fact and return its id. metadata may have its type."""
        kind = str((metadata or {}).get("type", self._kind))
        return str((await asyncio.to_thread(tools.remember, self._client, content, kind))["id"])

    async def add_messages(self, messages: list[Message], context: AddMessagesContext | None = None) -> None:
        """Store messages. One that is stored already, by its number, is not stored again."""
        numbers = context.sequence_numbers if context else None
        ids = [f"{self._run}-{number}" for number in numbers] if numbers else [None] * len(messages)
        read_all = [read(message, id, self._names) for message, id in zip(messages, ids, strict=True)]
        stored = [message for message in read_all if message is not None]
        for start in range(0, len(stored), _MOST):
            await asyncio.to_thread(self._append, stored[start:start + _MOST])

    def _search(self, query: str, limit: int) -> list[MemoryEntry]:
        # Messages of this conversation are found, too, and left out.
        found = self._client.search(query=query, limit=min(100, 2 * limit)).items
        others = [item for item in found if item.session_id is None or item.session_id != self._place.session_id]
        return [_entry(item) for item in others[:limit]]

    def _append(self, messages: list[dict[str, Any]]) -> None:
        key = uuid.uuid4().hex
        in_session(self._client, self._place, lambda: self._client.append_messages(
            self._place.session_id, messages=messages, idempotency_key=key))


def _entry(item: Any) -> MemoryEntry:
    about = {"kind": item.kind, "id": item.id or item.message_id, "score": item.score, "context": item.context}
    return MemoryEntry(content=item.content or item.text or "", metadata={
        name: value for name, value in about.items() if value is not None})
