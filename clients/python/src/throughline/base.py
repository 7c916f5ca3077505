"""What both clients share."""

from __future__ import annotations

import copy
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import httpx

from .calls import Call, Operation, Settings, new_call
from .tokens import AsyncTokens, Tokens

T = TypeVar("T", Tokens, AsyncTokens)
C = TypeVar("C", bound="Base[Any]")


class Base(Generic[T]):
    """What both clients are made with."""

    def __init__(
        self, base_url: str, tokens: T, stream_url: str | None, timeout: float | None, attempts: int,
        log: Callable[[Attempted], None] | None,
    ) -> None:
        _check("base_url", base_url)
        _check("stream_url", stream_url or base_url)
        if not tokens.source:
            raise ValueError("token is missing: a token, or a function that gets one")
        self._base_url, self._stream_url = base_url, stream_url or base_url
        self._tokens: T = tokens
        self._timeout, self._attempts, self._log = timeout, attempts, log
        self._user: str | None = None

    def as_user(self: C, user: str) -> C:
        """Return a client that acts for a user with the server's credential. It shares the token and connections."""
        client = copy.copy(self)
        client._user = user
        return client

    def _new(
        self, operation: Operation, path: Sequence[str], body: dict[str, Any] | None, query: dict[str, Any],
        settings: Settings,
    ) -> Call:
        base = self._stream_url if operation.streams or operation.path.startswith("/v1/turns") else self._base_url
        settings = replace(
            settings, timeout=settings.timeout or self._timeout, attempts=settings.attempts or self._attempts)
        return new_call(operation, base, path, body, query, self._user, settings)

    def _answered(self, request: httpx.Request, begun: float, answer: httpx.Response | None) -> None:
        """Tell the app's log of an attempt."""
        if self._log is not None:
            status, request_id = (answer.status_code, answer.headers.get("X-Request-Id")) if answer else (None, None)
            self._log(Attempted(request.method, str(request.url), status, time.monotonic() - begun, request_id))

    def _renews(self, call: Call, failure: Exception) -> bool:
        """Forget a token that was refused, and report whether another can be had."""
        if isinstance(self._tokens.source, str) or not call.renews(failure):
            return False
        self._tokens.drop()
        return True


@dataclass(frozen=True)
class Attempted:
    """One attempt of a call, for the app's log. It has no token and no content. status is None where no answer came, and
    by request_id the server's log has the request."""

    method: str
    url: str
    status: int | None
    seconds: float
    request_id: str | None


def _check(name: str, address: object) -> None:
    """Raise an error for an address that no path can follow."""
    if not isinstance(address, str) or not re.match(r"https?://[^/]", address):
        raise ValueError(f"{name} is {address!r}: it has to be an address such as https://api.example.com")
    if re.search(r"/v1/?$", address):
        raise ValueError(f"{name} ends in /v1, which the client adds: leave it out")
