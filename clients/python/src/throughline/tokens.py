"""Tokens, which are kept until they are about to expire."""

from __future__ import annotations

import asyncio
import base64
import json
import math
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Union

TokenSource = Union[str, Callable[[], str]]
AsyncTokenSource = Union[str, Callable[[], Union[str, Awaitable[str]]]]

MARGIN = 30.0
"""How many seconds before its end a token is no longer used."""


class Kept:
    """One token and the time at which it expires."""

    def __init__(self) -> None:
        self._token: str | None = None
        self._ends = 0.0

    def current(self) -> str | None:
        """Return the token that is kept, or None where another is needed."""
        return self._token if time.time() < self._ends - MARGIN else None

    def keep(self, token: str) -> str:
        """Keep a token and return it."""
        self._token, self._ends = token, expiry(token)
        return token

    def drop(self) -> None:
        """Forget a token that was refused."""
        self._token = None


class Tokens(Kept):
    """The tokens of a source. Threads that wait for a token share one."""

    def __init__(self, source: TokenSource) -> None:
        super().__init__()
        self._lock, self.source = threading.Lock(), source

    def get(self) -> str:
        with self._lock:
            source = self.source
            return self.current() or self.keep(source if isinstance(source, str) else source())


class AsyncTokens(Kept):
    """The tokens of a source, for asyncio. Tasks that wait for a token share one."""

    def __init__(self, source: AsyncTokenSource) -> None:
        super().__init__()
        self._lock, self.source = asyncio.Lock(), source

    async def get(self) -> str:
        async with self._lock:
            if token := self.current():
                return token
            got = self.source if isinstance(self.source, str) else self.source()
            return self.keep(got if isinstance(got, str) else await got)


def expiry(token: str) -> float:
    """Return the time at which a JWT expires, or infinity for a token that does not say."""
    try:
        part = token.split(".")[1]
        ends = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))).get("exp")
    except (IndexError, ValueError, AttributeError):
        return math.inf
    return float(ends) if isinstance(ends, (int, float)) else math.inf
