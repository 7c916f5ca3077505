"""The history of a session that is that of a graph's state."""

from __future__ import annotations

import re
import secrets
from collections.abc import Sequence
from typing import Any

from throughline import Client, ProblemError
from throughline.adapter import Left, Place, in_session
from throughline.models import Message as Stored

Message = dict[str, Any]

_COMPARED = 80
"""How many of the latest messages are compared with a state. One call replaces so many."""

_ATTEMPTS = 5
"""How often a change is tried where others change the session at the same time."""

_OURS = re.compile(r"([0-9a-f]{64}(?:-[0-9a-f]{16})?)(?:\.[0-9a-f]+)?")
"""The clientMessageId of a message of the nodes: its key, and what makes it new where one with the key was deleted."""


def mirror(client: Client, place: Place, before: Sequence[str], message: Message, left: Left) -> str:
    """Store a message after the last of those before it, and return its id. What follows there is replaced, as long as
    the nodes have stored it: messages of others stay, and the new one comes after them. A repeat changes nothing."""
    attempt = 1
    while True:
        try:
            return _write(client, place, before, message if attempt == 1 else _renamed(message), left)
        except ProblemError as problem:
            # Another one has changed the session, or a message with this id was deleted.
            if problem.code != "conflict" or attempt == _ATTEMPTS:
                raise
            attempt += 1


def _write(client: Client, place: Place, before: Sequence[str], message: Message, left: Left) -> str:
    latest = _newest(client, place.session_id, left)
    at = next((n for n, other in enumerate(latest) if _key_of(other.client_message_id) in before), None)
    is_whole = not before and len(latest) < _COMPARED
    newer = latest if at is None and is_whole else latest[:at or 0]
    first = newer[-1] if newer else None
    if first is not None and _key_of(first.client_message_id) != _key_of(message["clientMessageId"]):
        first = None
    replaced = newer[:-1] if first is not None else newer
    if not replaced or not all(_key_of(other.client_message_id) for other in replaced):
        if first is not None:
            return first.message_id
        return in_session(client, place, lambda: client.append_messages(
            place.session_id, messages=[message], timeout=left())).messages[0].message_id
    cut: dict[str, Any] = {"last_n": len(replaced), "expected": [other.message_id for other in reversed(replaced)]}
    if first is not None:
        client.truncate_messages(place.session_id, **cut, timeout=left())
        return first.message_id
    return client.truncate_messages(place.session_id, **cut, replacement=[message], timeout=left()).messages[0].message_id


def _newest(client: Client, session_id: str, left: Left) -> list[Stored]:
    """Return the latest messages, the latest first. A session that does not exist has none."""
    try:
        return client.list_messages(session_id, order="desc", limit=_COMPARED, timeout=left()).page().items
    except ProblemError as problem:
        if problem.code != "not_found":
            raise
        return []


def _key_of(client_message_id: str | None) -> str:
    found = _OURS.fullmatch(client_message_id or "")
    return found[1] if found else ""


def _renamed(message: Message) -> Message:
    """Return a message with another clientMessageId of the same key."""
    return {**message, "clientMessageId": f"{_key_of(message['clientMessageId'])}.{secrets.token_hex(4)}"}
