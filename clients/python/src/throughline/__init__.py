"""The client of Throughline, one memory for every AI surface of an app."""

from . import models
from .base import Attempted
from .calls import UNSET, ChatEvent, DoneEvent, PromptEvent, TokenEvent
from .client import AsyncClient, Client
from .errors import CallTimeoutError, LostAnswerError, ProblemError, ThroughlineError
from .pages import AsyncPages, Page, Pages
from .session_id import decode_session_id, encode_session_id

__all__ = [
    "UNSET", "AsyncClient", "AsyncPages", "Attempted", "CallTimeoutError", "ChatEvent", "Client", "DoneEvent",
    "LostAnswerError", "Page", "Pages", "ProblemError", "PromptEvent", "ThroughlineError", "TokenEvent", "decode_session_id", "encode_session_id", "models",
]
