"""What an adapter does where the memory fails: the agent goes on without it, and what was said is stored later."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeVar

from ..errors import CallTimeoutError, LostAnswerError, ProblemError

T = TypeVar("T")
W = TypeVar("W")

During = Literal["begin", "finish"]

Left = Callable[[], float]
"""Returns the seconds that are left, for the timeout of a call. It raises an error where none are."""

_MOST = 100
"""How many turns that could not be stored are kept."""

_log = logging.getLogger("throughline")


@dataclass(frozen=True)
class Softness:
    """timeout is the seconds that the agent waits for the memory, each time. on_error gets the memory's errors, and the
    agent goes on without memory; by default an outage is logged as a warning, and a mistake of the app, such as a token
    that is not valid, is raised."""

    timeout: float = 1.5
    on_error: Callable[[Exception, During], None] | None = None


def soft(softness: Softness, during: During, call: Callable[[Left], T], without: W) -> T | W:
    """Make a call that an agent can do without, and return another value where it fails."""
    ends = time.monotonic() + softness.timeout

    def left() -> float:
        seconds = ends - time.monotonic()
        if seconds <= 0:
            raise CallTimeoutError(f"no answer within {softness.timeout} s")
        return seconds

    try:
        return call(left)
    except Exception as failure:
        if softness.on_error is not None:
            softness.on_error(failure, during)
        elif not is_outage(failure):
            raise
        else:
            _log.warning("the agent goes on without memory: %s", failure)
        return without


def is_outage(failure: BaseException) -> bool:
    """Report whether an error says that the memory is down or busy, and not that the app has made a mistake."""
    if isinstance(failure, ProblemError):
        return failure.status == 429 or failure.status >= 500
    return isinstance(failure, (LostAnswerError, CallTimeoutError))


_waiting: list[tuple[str, Callable[[Left], object]]] = []
_lock = threading.Lock()


def store_later(session_id: str, store: Callable[[Left], object]) -> None:
    """Keep what could not be stored, until a later turn of this process stores it. The oldest of more than 100 is lost."""
    with _lock:
        _waiting.append((session_id, store))
        del _waiting[:-_MOST]


def store_waiting(session_id: str, left: Left) -> None:
    """Store what earlier turns of a session could not, in their order. What fails again waits on."""
    with _lock:
        due = [store for of, store in _waiting if of == session_id]
        _waiting[:] = [(of, store) for of, store in _waiting if of != session_id]
    for number, store in enumerate(due):
        try:
            store(left)
        except Exception:
            with _lock:
                _waiting[:0] = [(session_id, waits) for waits in due[number:]]
            raise
