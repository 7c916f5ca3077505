"""The facts about the user, as items of a store."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from langgraph.store.base import Item, PutOp, SearchItem, SearchOp
from throughline import Client, ProblemError
from throughline import models as m

from .names import Namespace

_MOST = 100
"""Facts that a search returns at most."""


class Facts:
    """Reads, changes and deletes the facts of a user under one namespace, whose next label is a fact's type."""

    def __init__(self, client: Client, namespace: Namespace) -> None:
        self._client, self._namespace = client, namespace

    def get(self, namespace: Namespace, key: str) -> Item | None:
        """Return a fact of a type."""
        try:
            fact = self._client.get_memory(key)
        except ProblemError as problem:
            if problem.code != "not_found":
                raise
            return None
        item = Item(**self._fields(fact))
        return item if item.namespace == namespace else None

    def search(self, op: SearchOp) -> list[SearchItem]:
        """Return current facts: first those that a query finds, and then the others, the newest first."""
        types = list(op.namespace_prefix[len(self._namespace):])
        if len(types) > 1:
            return []
        wanted = (item for item in self._in_order(op, types) if _passes(item.value, op.filter or {}))
        return list(islice(wanted, op.offset, op.offset + op.limit))

    def put(self, op: PutOp) -> None:
        """Change or delete a fact."""
        known = self.get(op.namespace, op.key)
        if op.value is None:
            if known:
                self._client.delete_memory(op.key)
            return
        if not known:
            raise ValueError("a new fact gets its id from the memory: use the tool remember")
        fields = {"content", "pinned"}
        other = sorted(name for name in op.value.keys() - fields if op.value[name] != known.value.get(name))
        if other:
            raise ValueError(f"a fact's content and pinned can be changed, and not its {', '.join(other)}")
        self._client.change_memory(op.key, **{name: op.value[name] for name in fields & op.value.keys()})

    def _in_order(self, op: SearchOp, types: list[str]) -> Iterator[SearchItem]:
        scored = set()
        if op.query:
            asked: Any = {"types": types} if types else {}
            for found in self._client.search_memories(query=op.query, limit=_MOST, **asked).items:
                scored.add(found.id)
                yield SearchItem(**self._fields(found), score=found.score)
        only: Any = {"type": types[0]} if types else {}
        for fact in self._client.list_memories(valid="true", **only):
            if fact.id not in scored:
                yield SearchItem(**self._fields(fact))

    def _fields(self, fact: m.Memory | m.FoundMemory) -> dict[str, Any]:
        value = {"content": fact.content, "type": fact.type, "pinned": fact.pinned, "source": fact.source}
        return {
            "namespace": (*self._namespace, fact.type), "key": fact.id, "value": value,
            "created_at": fact.created_at, "updated_at": fact.updated_at or fact.created_at,
        }


def _passes(value: dict[str, Any], asked: dict[str, Any]) -> bool:
    if any(isinstance(wanted, dict) for wanted in asked.values()):
        raise ValueError("facts are filtered by equality only")
    return all(value.get(name) == wanted for name, wanted in asked.items())
