"""The clients: one for threads, one for asyncio."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import re
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar, Unpack

import httpx

from .calls import Call, ChatEvent, Events, Lines, Operation, Settings, new_call, read_line
from .errors import LostAnswerError, read_problem
from .models import BegunTurn, FinishedTurn
from .operations import AsyncOperations, BeginTurn, Operations
from .pages import AsyncPages, Page, Pages
from .tokens import AsyncTokens, AsyncTokenSource, Tokens, TokenSource

T = TypeVar("T", Tokens, AsyncTokens)
C = TypeVar("C", bound="_Settings")


class _Settings(Generic[T]):
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


def reason(failure: BaseException) -> str:
    """Return what finish_turn says of a failure."""
    return (str(failure) or type(failure).__name__)[:500]


def further(call: Call, after: str | None) -> Call | None:
    """Return the call for the next answer of an export, or None at its end."""
    if after is None:
        return None
    call.query = {**call.query, "after": after}
    return call


class Client(_Settings[Tokens], Operations):
    """Calls the API. It may be used by several threads.

    token is a token, or a function that gets one: the user's, or in a server the credential that has the scope
    throughline/on-behalf. stream_url is the address of the chat and the export where that is another. timeout is the
    seconds for a call with all its repeats (default 30); a stream without a sign of the server for so long is joined
    again. A call is made at most attempts times, over about 8 seconds. log gets each attempt."""

    def __init__(
        self, base_url: str, token: TokenSource, *, stream_url: str | None = None, timeout: float | None = None,
        attempts: int = 5, log: Callable[[Attempted], None] | None = None, http: httpx.Client | None = None,
    ) -> None:
        super().__init__(base_url, Tokens(token), stream_url, timeout, attempts, log)
        self._http = http or httpx.Client()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def turn(self, answer: Callable[[BegunTurn], Mapping[str, Any]], **begin: Unpack[BeginTurn]) -> FinishedTurn:
        """Run one turn with the app's own model. It stores the user's message, calls answer with the prompt, and stores
        what answer returns: the arguments of finish_turn. begin has those of begin_turn. When answer raises, the turn is
        ended with that error, which is then raised here."""
        turn = self.begin_turn(**begin)
        try:
            said = answer(turn)
        except BaseException as failure:
            with contextlib.suppress(Exception):
                self.finish_turn(turn.turn_id, error=reason(failure))
            raise
        return self.finish_turn(turn.turn_id, **said)

    def _call(self, operation: Operation, *given: Any) -> Any:
        call = self._new(operation, *given)
        if operation.kind == "page":
            return Pages(lambda cursor: self._page(self._new(operation, *given), cursor))
        if operation.kind == "events":
            return self._events(call)
        if operation.kind == "lines":
            return self._lines(lambda: self._new(operation, *given))
        return self._send(call, self._once)

    def _page(self, call: Call, cursor: str | None) -> Page[Any]:
        if cursor is not None:
            call.query = {**call.query, "cursor": cursor}
        page = self._send(call, self._once)
        return Page(page.items, page.next_cursor)

    def _send(self, call: Call, attempt: Callable[[Call], Any]) -> Any:
        """Make attempts until one succeeds. All operations of the API can be repeated."""
        while True:
            try:
                return attempt(call)
            except Exception as failure:
                if self._renews(call, failure):
                    continue
                time.sleep(call.wait(failure))

    def _once(self, call: Call) -> Any:
        answer = self._ask(call)
        if call.gone(answer):
            return None
        if answer.status_code >= 400:
            raise read_problem(answer)
        return call.read(answer)

    def _ask(self, call: Call, stream: bool = False) -> httpx.Response:
        request, begun, answer = call.request(self._http, self._tokens.get()), time.monotonic(), None
        try:
            answer = self._http.send(request, stream=stream)
            return answer
        finally:
            self._answered(request, begun, answer)

    def _open(self, call: Call) -> httpx.Response:
        answer = self._ask(call, stream=True)
        if answer.status_code >= 400:
            try:
                answer.read()
            finally:
                answer.close()
            raise read_problem(answer)
        return answer

    def _events(self, call: Call) -> Generator[ChatEvent, None, None]:
        """Yield the events of a chat. After a cut, and where the stream stalls, ask again with the same key, and go on
        where the text ended."""
        events = Events()
        while True:
            answer = self._send(call, self._open)
            events.restart()
            try:
                if answer.status_code == 204:  # there is no answer to join
                    return
                for piece in answer.iter_bytes():
                    call.extend()
                    for event in events.feed(piece):
                        yield event
                        if event.event == "done":
                            return
                raise LostAnswerError("the answer was cut")
            except (LostAnswerError, httpx.TransportError) as failure:
                time.sleep(call.cut(failure))
            finally:
                answer.close()

    def _lines(self, begin: Callable[[], Call]) -> Iterator[dict[str, Any]]:
        """Yield the records of the export, over as many answers as it takes."""
        call: Call | None = begin()
        while call is not None:
            after = yield from self._part(call)
            call = further(begin(), after)

    def _part(self, call: Call) -> Generator[dict[str, Any], None, str | None]:
        """Yield the records of an answer, and return where another goes on. It raises if the export was cut: then the
        app begins again."""
        answer, lines = self._send(call, self._open), Lines()
        call.most = 0
        try:
            for piece in answer.iter_bytes():
                for line in lines.feed(piece):
                    record = read_line(line)
                    if record["kind"] == "cursor":
                        return str(record["after"])
                    yield record
                    if record["kind"] == "end":
                        return None
            raise LostAnswerError("the export was cut")
        except httpx.TransportError as failure:
            call.wait(failure)
        finally:
            answer.close()


class AsyncClient(_Settings[AsyncTokens], AsyncOperations):
    """Calls the API, for asyncio. Cancelling the task cancels the call. The arguments are those of Client; token may be
    a coroutine function, too."""

    def __init__(
        self, base_url: str, token: AsyncTokenSource, *, stream_url: str | None = None, timeout: float | None = None,
        attempts: int = 5, log: Callable[[Attempted], None] | None = None, http: httpx.AsyncClient | None = None,
    ) -> None:
        super().__init__(base_url, AsyncTokens(token), stream_url, timeout, attempts, log)
        self._http = http or httpx.AsyncClient()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def turn(self, answer: Callable[[BegunTurn], Awaitable[Mapping[str, Any]]], **begin: Unpack[BeginTurn]) -> FinishedTurn:
        """Run one turn with the app's own model, as Client.turn does. answer is a coroutine function."""
        turn = await self.begin_turn(**begin)
        try:
            said = await answer(turn)
        except BaseException as failure:
            with contextlib.suppress(Exception):
                await asyncio.shield(self.finish_turn(turn.turn_id, error=reason(failure)))
            raise
        return await self.finish_turn(turn.turn_id, **said)

    def _call(self, operation: Operation, *given: Any) -> Any:
        call = self._new(operation, *given)
        if operation.kind == "page":
            return AsyncPages(lambda cursor: self._page(self._new(operation, *given), cursor))
        if operation.kind == "events":
            return self._events(call)
        if operation.kind == "lines":
            return self._lines(lambda: self._new(operation, *given))
        return self._send(call, self._once)

    async def _page(self, call: Call, cursor: str | None) -> Page[Any]:
        if cursor is not None:
            call.query = {**call.query, "cursor": cursor}
        page = await self._send(call, self._once)
        return Page(page.items, page.next_cursor)

    async def _send(self, call: Call, attempt: Callable[[Call], Any]) -> Any:
        """Make attempts until one succeeds. All operations of the API can be repeated."""
        while True:
            try:
                return await attempt(call)
            except Exception as failure:
                if self._renews(call, failure):
                    continue
                await asyncio.sleep(call.wait(failure))

    async def _once(self, call: Call) -> Any:
        answer = await self._ask(call)
        if call.gone(answer):
            return None
        if answer.status_code >= 400:
            raise read_problem(answer)
        return call.read(answer)

    async def _ask(self, call: Call, stream: bool = False) -> httpx.Response:
        request, begun, answer = call.request(self._http, await self._tokens.get()), time.monotonic(), None
        try:
            answer = await self._http.send(request, stream=stream)
            return answer
        finally:
            self._answered(request, begun, answer)

    async def _open(self, call: Call) -> httpx.Response:
        answer = await self._ask(call, stream=True)
        if answer.status_code >= 400:
            try:
                await answer.aread()
            finally:
                await answer.aclose()
            raise read_problem(answer)
        return answer

    async def _events(self, call: Call) -> AsyncGenerator[ChatEvent, None]:
        """Yield the events of a chat. After a cut, and where the stream stalls, ask again with the same key, and go on
        where the text ended."""
        events = Events()
        while True:
            answer = await self._send(call, self._open)
            events.restart()
            try:
                if answer.status_code == 204:  # there is no answer to join
                    return
                async for piece in answer.aiter_bytes():
                    call.extend()
                    for event in events.feed(piece):
                        yield event
                        if event.event == "done":
                            return
                raise LostAnswerError("the answer was cut")
            except (LostAnswerError, httpx.TransportError) as failure:
                await asyncio.sleep(call.cut(failure))
            finally:
                await answer.aclose()

    async def _lines(self, begin: Callable[[], Call]) -> AsyncIterator[dict[str, Any]]:
        """Yield the records of the export, over as many answers as it takes."""
        call: Call | None = begin()
        while call is not None:
            after = None
            async for record in self._part(call):
                if record["kind"] == "cursor":
                    after = str(record["after"])
                else:
                    yield record
            call = further(begin(), after)

    async def _part(self, call: Call) -> AsyncIterator[dict[str, Any]]:
        """Yield the records of an answer, and where another goes on. It raises if the export was cut: then the app begins
        again."""
        answer, lines = await self._send(call, self._open), Lines()
        call.most = 0
        try:
            async for piece in answer.aiter_bytes():
                for line in lines.feed(piece):
                    record = read_line(line)
                    yield record
                    if record["kind"] in ("end", "cursor"):
                        return
            raise LostAnswerError("the export was cut")
        except httpx.TransportError as failure:
            call.wait(failure)
        finally:
            await answer.aclose()
