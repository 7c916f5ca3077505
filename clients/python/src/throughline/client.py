"""The clients: one for threads, one for asyncio."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import (
    AsyncGenerator, AsyncIterable, AsyncIterator, Awaitable, Callable, Generator, Iterable, Iterator, Mapping,
)
from typing import Any, Unpack

import httpx

from .base import Attempted, Base
from .calls import Call, ChatEvent, Events, Lines, Operation, read_line
from .errors import LostAnswerError, read_problem
from .models import BegunTurn, FinishedTurn
from .operations import AsyncOperations, BeginTurn, Operations
from .pages import AsyncPages, Page, Pages
from .tokens import AsyncTokens, AsyncTokenSource, Tokens, TokenSource


def reason(failure: BaseException) -> str:
    """Return what finish_turn says of a failure."""
    return (str(failure) or type(failure).__name__)[:500]


def further(call: Call, after: str | None) -> Call | None:
    """Return the call for the next answer of an export, or None at its end."""
    if after is None:
        return None
    call.query = {**call.query, "after": after}
    return call


class Client(Base[Tokens], Operations):
    """Calls the API. It may be used by several threads.

    token is a token, or a function that gets one: the user's, or in a server the credential that has the scope
    throughline/on-behalf. stream_url is the address of the chat, turns and the export where that is another. timeout is
    the seconds for a call with all its repeats (default 30); a stream without a sign of the server for so long is joined
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

    def finish_streaming(self, turn_id: str, texts: Iterable[str]) -> Generator[str, None, None]:
        """Yield the texts of an answer as they come, and finish the turn with them. When texts raises, or the reader goes
        away and the generator is closed, what was yielded is stored as an interrupted answer."""
        said = ""
        try:
            for text in texts:
                said += text
                yield text
        except BaseException as failure:
            with contextlib.suppress(Exception):
                self.finish_turn(turn_id, content=said, error=reason(failure))
            raise
        self.finish_turn(turn_id, content=said)

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


class AsyncClient(Base[AsyncTokens], AsyncOperations):
    """Calls the API, for asyncio. Cancelling the task cancels the call. The arguments are those of Client; token may be
    a coroutine function, too."""

    def __init__(
        self, base_url: str, token: AsyncTokenSource, *, stream_url: str | None = None, timeout: float | None = None,
        attempts: int = 5, log: Callable[[Attempted], None] | None = None, http: httpx.AsyncClient | None = None,
    ) -> None:
        super().__init__(base_url, AsyncTokens(token), stream_url, timeout, attempts, log)
        self._http = http or httpx.AsyncClient()
        self._ending: set[asyncio.Task[FinishedTurn]] = set()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Wait for the turns that are being finished, and close the connections."""
        await asyncio.gather(*self._ending, return_exceptions=True)
        await self._http.aclose()

    async def turn(self, answer: Callable[[BegunTurn], Awaitable[Mapping[str, Any]]], **begin: Unpack[BeginTurn]) -> FinishedTurn:
        """Run one turn with the app's own model, as Client.turn does. answer is a coroutine function."""
        turn = await self.begin_turn(**begin)
        try:
            said = await answer(turn)
        except BaseException as failure:
            with contextlib.suppress(Exception):
                await self._end(turn.turn_id, error=reason(failure))
            raise
        return await self._end(turn.turn_id, **said)

    async def finish_streaming(self, turn_id: str, texts: AsyncIterable[str]) -> AsyncGenerator[str, None]:
        """Yield the texts of an answer as they come, and finish the turn with them, as Client.finish_streaming does. A
        reader that goes away may cancel the task, as a server does when a page is closed."""
        said = ""
        try:
            async for text in texts:
                said += text
                yield text
        except BaseException as failure:
            with contextlib.suppress(Exception):
                await self._end(turn_id, content=said, error=reason(failure))
            raise
        await self._end(turn_id, content=said)

    async def _end(self, turn_id: str, **said: Any) -> FinishedTurn:
        """Finish a turn, even when the task is cancelled: each await of a cancelled task may be cancelled again."""
        ending = asyncio.create_task(self._send_end(turn_id, said))
        self._ending.add(ending)
        ending.add_done_callback(self._ending.discard)
        return await asyncio.shield(ending)

    async def _send_end(self, turn_id: str, said: Mapping[str, Any]) -> FinishedTurn:
        return await self.finish_turn(turn_id, **said)

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
