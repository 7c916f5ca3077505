"""A store of LangGraph on the memory's documents and facts."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Any

from langgraph.store.base import (
    BaseStore, GetOp, IndexConfig, Item, ListNamespacesOp, Op, PutOp, Result, SearchItem, SearchOp, TTLConfig,
)
from throughline import Client, ProblemError

from .facts import Facts
from .names import Namespace, decode, encode, namespace_of, path_of, pattern_of

_AT_ONCE = 8
"""Calls of one batch at a time."""

_WHOLE = "$"
"""The path of a whole value, which the memory indexes where no paths are named."""


class ThroughlineStore(BaseStore):
    """Keeps items as documents of a user, so that they are exported and erased with the user.

    client acts for the user. Or it is the server's, and user_at is the position of the label that names the user:
    0 for ("eva", "notes"). Then each user's items are their own, and an operation has to name the user. facts is a
    namespace under which the facts about the user can be read, changed and deleted. Of index only fields counts, as the
    default of put: the memory has an embedding model of its own. Calls with asyncio run in threads."""

    supports_ttl = True

    def __init__(
        self, client: Client, *, user_at: int | None = None, facts: Namespace | None = None,
        index: IndexConfig | None = None, ttl: TTLConfig | None = None,
    ) -> None:
        self._client, self._user_at, self._facts = client, user_at, facts
        self.index_config, self.ttl_config = index, ttl
        self._fields = (index or {}).get("fields")

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Execute operations. Reads come before writes. Of several puts of one item, the last counts."""
        asked = list(ops)
        puts = {(op.namespace, op.key): op for op in asked if isinstance(op, PutOp)}
        reads = {place: op for place, op in enumerate(asked) if not isinstance(op, PutOp)}
        found = dict(zip(reads, _each(self._read, reads.values()), strict=True))
        _each(self._put, puts.values())
        return [found.get(place) for place in range(len(asked))]

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Execute operations in a thread."""
        return await asyncio.to_thread(self.batch, list(ops))

    def _read(self, op: Op) -> Result:
        if isinstance(op, GetOp):
            return self._get(op)
        if isinstance(op, SearchOp):
            facts = self._facts_of(op.namespace_prefix)
            return list(facts.search(op) if facts else self._search(op))
        if isinstance(op, ListNamespacesOp):
            return self._namespaces(op)
        raise ValueError(f"unknown operation {type(op).__name__}")

    def _get(self, op: GetOp) -> Item | None:
        facts = self._facts_of(op.namespace)
        if facts:
            return facts.get(op.namespace, op.key)
        try:
            document = self._of(op.namespace).get_document(path_of(op.namespace), encode(op.key))
        except ProblemError as problem:
            if problem.code != "not_found":
                raise
            return None
        return Item(**_fields(document))

    def _search(self, op: SearchOp) -> Iterator[SearchItem]:
        pages: dict[str, Any] = {"limit": max(1, min(200, op.offset + op.limit))}
        if op.namespace_prefix:
            pages["namespace"] = path_of(op.namespace_prefix)
        if op.filter:
            pages["filter"] = json.dumps(op.filter, ensure_ascii=False)
        client = self._of(op.namespace_prefix)
        return islice(self._in_order(client, op.query, pages), op.offset, op.offset + op.limit)

    def _in_order(self, client: Client, query: str | None, pages: dict[str, Any]) -> Iterator[SearchItem]:
        """Yield the items that a search finds, and then all others without a score."""
        scored = set()
        if query:
            for document in client.list_documents(query=query, **pages):
                scored.add((document.namespace, document.key))
                yield SearchItem(**_fields(document), score=document.score)
        for document in client.list_documents(**pages):
            if (document.namespace, document.key) not in scored:
                yield SearchItem(**_fields(document))

    def _namespaces(self, op: ListNamespacesOp) -> list[Namespace]:
        paths: dict[str, Namespace] = {}
        for condition in op.match_conditions or ():
            if condition.match_type in paths:
                raise ValueError(f"the memory takes one {condition.match_type}")
            paths[condition.match_type] = tuple(condition.path)
        asked: dict[str, Any] = {kind: pattern_of(path) for kind, path in paths.items() if path}
        if op.max_depth is not None:
            asked["max_depth"] = op.max_depth
        found = self._of(paths.get("prefix", ())).list_document_namespaces(**asked)
        return [tuple(map(decode, labels)) for labels in islice(found, op.offset, op.offset + op.limit)]

    def _put(self, op: PutOp) -> None:
        facts = self._facts_of(op.namespace)
        try:
            if facts:
                facts.put(op)
            elif op.value is None:
                self._of(op.namespace).delete_document(path_of(op.namespace), encode(op.key))
            else:
                self._of(op.namespace).put_document(
                    path_of(op.namespace), encode(op.key), value=dict(op.value), **self._options(op))
        except ProblemError as problem:
            if op.value is not None or problem.code != "not_found":
                raise

    def _options(self, op: PutOp) -> dict[str, Any]:
        options: dict[str, Any] = {}
        paths = self._fields if op.index is None else op.index
        if paths is not None and _WHOLE not in (paths or ()):
            options["index"] = list(paths or ())
        if op.ttl is not None:
            options["ttl_seconds"] = max(1, math.ceil(op.ttl * 60))
        return options

    def _of(self, namespace: Namespace) -> Client:
        """Return the client that acts for the user of a namespace."""
        if self._user_at is None:
            return self._client
        if len(namespace) <= self._user_at or namespace[self._user_at] == "*":
            raise ValueError(f"the namespace has to name the user, as its label {self._user_at}")
        return self._client.as_user(namespace[self._user_at])

    def _facts_of(self, namespace: Namespace) -> Facts | None:
        """Return the facts where a namespace is theirs. Its labels may begin with the user's."""
        if self._facts is None:
            return None
        start = 0 if self._user_at is None else self._user_at + 1
        ours = (*namespace[:start], *self._facts)
        return Facts(self._of(namespace), ours) if namespace[:len(ours)] == ours else None


def _fields(document: Any) -> dict[str, Any]:
    return {
        "namespace": namespace_of(document.namespace), "key": decode(document.key), "value": document.value,
        "created_at": document.created_at, "updated_at": document.updated_at,
    }


def _each(call: Callable[[Any], Any], ops: Iterable[Any]) -> list[Any]:
    """Make a call for each, some at a time. The first error is raised after all have ended."""
    todo = list(ops)
    if len(todo) < 2:
        return [call(op) for op in todo]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(call, todo))
