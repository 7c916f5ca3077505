"""What a call is, without its connection: the client and the asynchronous client share it."""

from __future__ import annotations

import enum
import json
import random
import re
import secrets
import time
import urllib.parse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import httpx

from . import models as m
from .codec import decode, encode
from .errors import CallTimeoutError, LostAnswerError, ProblemError, problem_of


class Unset(enum.Enum):
    """The type of UNSET."""

    UNSET = enum.auto()


UNSET = Unset.UNSET
"""An argument that is not given. It is not sent, while None is sent as null."""


@dataclass(frozen=True)
class Operation:
    """One operation of the API. Kind is page, events, lines, or empty; answers are the models by status."""

    method: str
    path: str
    kind: str
    keyed: bool
    answers: dict[int, type]

    @property
    def streams(self) -> bool:
        return self.kind in ("events", "lines")


@dataclass(frozen=True)
class PromptEvent:
    """The first event of an answer."""

    data: m.ChatBuilt
    event: Literal["prompt"] = "prompt"


@dataclass(frozen=True)
class TokenEvent:
    """A piece of an answer."""

    data: m.ChatToken
    event: Literal["token"] = "token"


@dataclass(frozen=True)
class DoneEvent:
    """The last event of an answer."""

    data: m.ChatDone
    event: Literal["done"] = "done"


ChatEvent = PromptEvent | TokenEvent | DoneEvent
"""One event of an answer: prompt, then token, then done. An event error is raised as a ProblemError."""


@dataclass(frozen=True)
class Settings:
    """What can be said with each call."""

    timeout: float | None = None
    attempts: int | None = None
    headers: Mapping[str, str] | None = None
    idempotency_key: str | None = None


class Calls:
    """What the operations need of a client."""

    def _call(
        self, operation: Operation, path: Sequence[str], body: dict[str, Any] | None, query: dict[str, Any],
        settings: Settings,
    ) -> Any:
        raise NotImplementedError


@dataclass
class Call:
    """One call of an operation, with all its attempts."""

    operation: Operation
    url: str
    query: dict[str, Any]
    content: bytes | None
    headers: dict[str, str]
    timeout: float
    most: int
    made: int = 0
    lost: bool = False
    renewed: bool = False
    ends: float = field(init=False)

    def __post_init__(self) -> None:
        self.extend()

    def extend(self) -> None:
        """Begin the timeout again, as each event of a stream does."""
        self.ends = time.monotonic() + self.timeout

    def left(self) -> float:
        """Return the seconds that are left for the call."""
        left = self.ends - time.monotonic()
        if left <= 0:
            raise CallTimeoutError(f"no answer within {self.timeout} s")
        return left

    def request(self, http: httpx.Client | httpx.AsyncClient, token: str) -> httpx.Request:
        """Return the request of one attempt."""
        headers = {**self.headers, "Authorization": f"Bearer {token}"}
        return http.build_request(
            self.operation.method, self.url + search(self.query), content=self.content, headers=headers,
            timeout=self.left())

    def gone(self, answer: httpx.Response) -> bool:
        """Report whether an attempt whose answer was lost has deleted what is not found now."""
        return self.lost and answer.status_code == 404 and self.operation.method == "DELETE"

    def wait(self, failure: Exception) -> float:
        """Return the seconds to wait before the next attempt. It raises the failure where none is left."""
        if isinstance(failure, httpx.TimeoutException):
            raise CallTimeoutError(f"no answer within {self.timeout} s") from failure
        if isinstance(failure, httpx.TransportError):
            raised = LostAnswerError(f"{self.operation.method} {self.url} got no whole answer: {failure}")
            raised.__cause__ = failure
            failure = raised
        if not may_help(failure):
            raise failure
        self.lost = self.lost or isinstance(failure, LostAnswerError)
        asked = failure.retry_after if isinstance(failure, ProblemError) else None
        wait = random.uniform(0.5, 1) * min(0.5 * 2**self.made, 8) if asked is None else asked
        # A conflict with Retry-After is the first request with this key, under way: only the timeout ends the wait.
        if not (isinstance(failure, ProblemError) and failure.status == 409):
            self.made += 1
        if self.made >= self.most or time.monotonic() + wait >= self.ends:
            raise failure
        return wait

    def cut(self, failure: Exception) -> float:
        """Return the seconds to wait before a stream is joined again that was cut or has stalled."""
        self.extend()
        if isinstance(failure, httpx.TimeoutException):
            failure = LostAnswerError(f"the server gave no sign for {self.timeout} s")
        return self.wait(failure)

    def renews(self, failure: Exception) -> bool:
        """Report whether a failure is the first refusal of the token."""
        refused = isinstance(failure, ProblemError) and failure.status == 401 and not self.renewed
        self.renewed = self.renewed or refused
        return refused

    def read(self, answer: httpx.Response) -> Any:
        """Return the answer's model, or None for an answer without a body."""
        kind = self.operation.answers.get(answer.status_code)
        if kind is None or not answer.content:
            return None
        try:
            data = json.loads(answer.content)
        except ValueError as cause:
            raise LostAnswerError("the answer was cut") from cause
        return decode(kind, data)


def may_help(failure: Exception) -> bool:
    """Report whether another attempt may succeed."""
    if not isinstance(failure, ProblemError):
        return isinstance(failure, LostAnswerError)
    again = failure.status in (429, 500, 502, 503, 504)
    return again or (failure.status == 409 and failure.retry_after is not None)


def new_call(
    operation: Operation, base: str, path: Sequence[str], body: dict[str, Any] | None, query: dict[str, Any],
    user: str | None, settings: Settings,
) -> Call:
    """Return a call of an operation."""
    names = iter(path)
    filled = re.sub(r"\{\w+\}", lambda _: urllib.parse.quote(next(names), safe=""), operation.path)
    headers = {"User-Agent": f"throughline-python/{m.VERSION}", **(settings.headers or {})}
    content = None
    if body is not None:
        given = {name: encode(value) for name, value in body.items() if value is not UNSET}
        content = json.dumps(given, ensure_ascii=False, allow_nan=False).encode()
        headers["Content-Type"] = "application/json"
    if user is not None:
        headers["Throughline-User"] = urllib.parse.quote(user, safe="")
    if operation.keyed:
        headers["Idempotency-Key"] = settings.idempotency_key or secrets.token_hex(16)
    return Call(operation, base.rstrip("/") + filled, query, content, headers, settings.timeout or 30, settings.attempts or 5)


def search(query: dict[str, Any]) -> str:
    """Return the query of an address, without what is not given."""
    given = {name: encode(value) for name, value in query.items() if value is not UNSET and value is not None}
    return "?" + urllib.parse.urlencode(given, quote_via=urllib.parse.quote) if given else ""


class Lines:
    """Splits pieces of a body into lines. The text after the last line feed is no line: the answer was cut in it."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, piece: bytes) -> Iterator[str]:
        """Yield the lines that end in a piece."""
        *whole, self._rest = (self._rest + piece).split(b"\n")
        for line in whole:
            yield line.removesuffix(b"\r").decode()


class Events:
    """Reads server-sent events, and leaves out of a repeated stream what the app has already.

    A repeat has the same text, in other tokens perhaps."""

    def __init__(self) -> None:
        self._text = ""
        self._prompted = False
        self.restart()

    def restart(self) -> None:
        """Begin at the first event again."""
        self._position, self._event, self._lines, self._data = 0, "", Lines(), list[str]()

    def feed(self, piece: bytes) -> Iterator[ChatEvent]:
        """Yield what is new in a piece of the body."""
        for line in self._lines.feed(piece):
            name, _, value = line.partition(":")
            if name == "event":
                self._event = value.removeprefix(" ")
            elif name == "data":
                self._data.append(value.removeprefix(" "))
            elif line == "":
                yield from self._end()

    def _end(self) -> Iterator[ChatEvent]:
        event, data, self._event, self._data = self._event, self._data, "", []
        if data:
            yield from self._read(event, json.loads("\n".join(data)))

    def _read(self, event: str, data: Any) -> Iterator[ChatEvent]:
        if event == "error":
            raise problem_of(data)
        if event == "prompt" and not self._prompted:
            self._prompted = True
            yield PromptEvent(decode(m.ChatBuilt, data))
        elif event == "token":
            yield from self._tell(data["text"])
        elif event == "done":
            yield DoneEvent(decode(m.ChatDone, data))

    def _tell(self, text: str) -> Iterator[ChatEvent]:
        known = self._text[self._position:self._position + len(text)]
        if not text.startswith(known):
            raise LostAnswerError("the repeated answer differs from what was received")
        self._position += len(text)
        rest = text[len(known):]
        self._text += rest
        if rest:
            yield TokenEvent(m.ChatToken(text=rest))


def read_line(line: str) -> dict[str, Any]:
    """Return a record of the export. It raises the problem with which the export failed."""
    record: dict[str, Any] = json.loads(line)
    if record.get("kind") == "error":
        raise problem_of(record)
    return record
