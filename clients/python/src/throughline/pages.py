"""Lists, which the API answers page by page."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")


class Page(NamedTuple, Generic[T]):
    """One page of a list. next_cursor is None on the last page."""

    items: list[T]
    next_cursor: str | None


class Pages(Generic[T]):
    """A list. Iterating over it gets page after page, and yields their items."""

    def __init__(self, get: Callable[[str | None], Page[T]]) -> None:
        self._get = get

    def page(self, cursor: str | None = None) -> Page[T]:
        """Get one page: the first, or that of a cursor."""
        return self._get(cursor)

    def __iter__(self) -> Iterator[T]:
        cursor: str | None = None
        while True:
            items, cursor = self._get(cursor)
            yield from items
            if cursor is None:
                return


class AsyncPages(Generic[T]):
    """A list, for asyncio. Iterating over it gets page after page, and yields their items."""

    def __init__(self, get: Callable[[str | None], Awaitable[Page[T]]]) -> None:
        self._get = get

    async def page(self, cursor: str | None = None) -> Page[T]:
        """Get one page: the first, or that of a cursor."""
        return await self._get(cursor)

    async def __aiter__(self) -> AsyncIterator[T]:
        cursor: str | None = None
        while True:
            items, cursor = await self._get(cursor)
            for item in items:
                yield item
            if cursor is None:
                return
