"""The errors that calls raise."""

from __future__ import annotations

import json
import time
from email.utils import parsedate_to_datetime
from typing import Any

import httpx

from .codec import decode
from .models import FieldProblem, Problem


class ThroughlineError(Exception):
    """The base of the client's errors."""


class LostAnswerError(ThroughlineError, ConnectionError):
    """An answer that was lost: no connection, or one that was cut before the answer's end."""


class CallTimeoutError(ThroughlineError, TimeoutError):
    """A call that took longer than its timeout."""


class ProblemError(ThroughlineError):
    """An error answer of the API (RFC 9457). retry_after is how many seconds it asks to wait, or None."""

    def __init__(self, problem: Problem, retry_after: float | None = None) -> None:
        fields = [f"[{e.field}: {e.message}]" for e in problem.errors or []]
        request = [f"(request {problem.request_id})"] if problem.request_id else []
        super().__init__(" ".join([f"{problem.status} {problem.code}: {problem.detail}", *fields, *request]))
        self.problem, self.retry_after = problem, retry_after

    def __reduce__(self) -> tuple[type[ProblemError], tuple[Problem, float | None]]:
        return type(self), (self.problem, self.retry_after)  # otherwise copies are made of the text

    @property
    def request_id(self) -> str | None:
        """The id by which the server's log has the request, or None for a gateway's answer without one."""
        return self.problem.request_id or None

    @property
    def status(self) -> int:
        return self.problem.status

    @property
    def code(self) -> str:
        """The kind of problem for programs. Where a gateway or a firewall answers without a problem, it is that of the status."""
        return self.problem.code

    @property
    def errors(self) -> list[FieldProblem]:
        """What is wrong with which part of the input."""
        return self.problem.errors or []


def problem_of(data: dict[str, Any], retry_after: float | None = None) -> ProblemError:
    """Return the error of a problem document."""
    return ProblemError(decode(Problem, data), retry_after)


# The codes of answers without a problem. The code of other statuses is internal.
_CODES = {
    400: "invalid", 401: "unauthorized", 403: "forbidden", 404: "not_found", 405: "method_not_allowed", 413: "too_large",
    429: "rate_limited", 502: "unavailable", 503: "unavailable", 504: "unavailable",
}


def read_problem(answer: httpx.Response) -> ProblemError:
    """Return the error of an answer whose status is 400 or above. Its body is read already."""
    data: dict[str, Any] = {
        "type": "about:blank", "title": answer.reason_phrase, "detail": f"{answer.url} answered without a problem document",
        "code": _CODES.get(answer.status_code, "internal"),
        "requestId": answer.headers.get("X-Request-Id", ""),
    }
    try:
        data |= json.loads(answer.content)
    except (ValueError, TypeError):
        pass  # a gateway answers without a problem
    return problem_of(data | {"status": answer.status_code}, _seconds(answer.headers.get("Retry-After", "")))


def _seconds(wait: str) -> float | None:
    """Return the wait of a Retry-After, which has seconds or a date, or None."""
    if wait.isdecimal():
        return float(wait)
    try:
        return max(0.0, parsedate_to_datetime(wait).timestamp() - time.time())
    except ValueError:
        return None
