"""A session manager, which keeps an agent's messages and state."""

from __future__ import annotations

import hashlib
import json
import logging
import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from strands.session.repository_session_manager import RepositorySessionManager
from strands.session.session_repository import SessionRepository
from strands.types.content import Message
from strands.types.session import Session, SessionAgent, SessionMessage, SessionType, decode_bytes_values, encode_bytes_values
from throughline import Client, ProblemError
from throughline.adapter import During, Left, Place, Softness, in_session, is_outage, soft, store_later, store_waiting

from .messages import read

if TYPE_CHECKING:
    from strands.multiagent.base import MultiAgentBase

_NAME = "strands"
"""The name of the part with a message as it was."""

_MOST = 40
"""Messages that are replaced in one write: those with ids of their own are limited to about half of the others."""

_ATTEMPTS = 100
"""How often a change is tried where others change the session at the same time."""

_log = logging.getLogger("throughline")


class ThroughlineSessionManager(RepositorySessionManager):
    """Restores an agent's messages and state, and stores each message as it is added.

    client acts for the user. With context and coach_id, a session that does not exist is made. An agent that another
    process builds with the same session_id and agent_id goes on where this one is."""

    def __init__(
        self, client: Client, *, session_id: str, context: str | None = None, coach_id: str | None = None,
        timeout: float = 1.5, on_error: Callable[[Exception, During], None] | None = None,
    ) -> None:
        """timeout is the seconds that the agent waits for the memory, each time. on_error gets the memory's errors, and the
        agent goes on without its earlier messages; by default an outage is logged, and a mistake of the app is raised."""
        self._repository = _Repository(client, Place(session_id, context, coach_id), Softness(timeout, on_error))
        super().__init__(session_id, self._repository)

    def delete_session(self) -> None:
        """Delete the session with its messages, and the states of its agents."""
        self._repository.delete_session()


class _Repository(SessionRepository):
    """Keeps a Strands session as a session of the memory, and the states of its agents as documents."""

    def __init__(self, client: Client, place: Place, softness: Softness) -> None:
        self._client, self._place, self._softness = client, place, softness
        self._states = f"strands-sessions/{_digest(place.session_id)}"
        self._ids: dict[tuple[str, int], str] = {}
        self._unread: set[str] = set()

    def create_session(self, session: Session, **_: Any) -> Session:
        return session

    def read_session(self, session_id: str, **_: Any) -> Session:
        # The session is made with its first message. Whether an agent has been in it, its state says.
        return Session(session_id=session_id, session_type=SessionType.AGENT)

    def delete_session(self) -> None:
        _found(lambda: self._client.delete_session(self._place.session_id))
        for document in list(self._client.list_documents(namespace=self._states)):
            self._client.delete_document(document.namespace, document.key)

    def create_agent(self, session_id: str, session_agent: SessionAgent, **_: Any) -> None:
        self.update_agent(session_id, session_agent)

    def read_agent(self, session_id: str, agent_id: str, **_: Any) -> SessionAgent | None:
        value = self._read(f"agent {agent_id}")
        return None if value is None else SessionAgent.from_dict(value)

    def update_agent(self, session_id: str, session_agent: SessionAgent, **_: Any) -> None:
        self._write(f"agent {session_agent.agent_id}", session_agent.to_dict())

    def create_multi_agent(self, session_id: str, multi_agent: MultiAgentBase, **_: Any) -> None:
        self.update_multi_agent(session_id, multi_agent)

    def read_multi_agent(self, session_id: str, multi_agent_id: str, **_: Any) -> dict[str, Any] | None:
        value: dict[str, Any] | None = decode_bytes_values(self._read(f"multi-agent {multi_agent_id}"))
        return value

    def update_multi_agent(self, session_id: str, multi_agent: MultiAgentBase, **_: Any) -> None:
        self._write(f"multi-agent {multi_agent.id}", encode_bytes_values(multi_agent.serialize_state()))

    def create_message(self, session_id: str, agent_id: str, session_message: SessionMessage, **_: Any) -> None:
        key = session_message.message.get("tracking_id") or uuid.uuid4().hex
        client_id = f"{_digest(agent_id)[:16]}-{_digest(key)[:32]}"

        def append(left: Left) -> None:
            # It is what the message is by now: one that waits may have been redacted.
            message = {**_new(agent_id, session_message.to_message()), "clientMessageId": client_id}
            stored = in_session(self._client, self._place, lambda: self._client.append_messages(
                self._place.session_id, messages=[message], timeout=left()))
            self._ids[agent_id, session_message.message_id] = stored.messages[0].message_id

        def now(left: Left) -> None:
            try:
                store_waiting(self._place.session_id, left)
                append(left)
            except Exception as failure:
                if is_outage(failure):
                    store_later(self._place.session_id, append)
                raise

        soft(self._softness, "finish", now, None)

    def read_message(self, session_id: str, agent_id: str, message_id: int, **_: Any) -> SessionMessage | None:
        return next(iter(self.list_messages(session_id, agent_id, limit=1, offset=message_id)), None)

    def update_message(self, session_id: str, agent_id: str, session_message: SessionMessage, **_: Any) -> None:
        """Replace a message, in one write. It raises an error where the memory fails: what was redacted must not stay."""
        id = self._ids.get((agent_id, session_message.message_id))
        if id is None:
            return
        for _attempt in range(_ATTEMPTS):
            suffix = self._from(id)
            rest = [_again(message) for message in suffix[1:]]
            try:
                cut = self._client.truncate_messages(
                    self._place.session_id, last_n=len(suffix), expected=[message.message_id for message in suffix],
                    replacement=[_new(agent_id, session_message.to_message()), *rest])
            except ProblemError as problem:
                if problem.code != "conflict":
                    raise
                continue
            now = {old.message_id: new.message_id for old, new in zip(suffix, cut.messages or [], strict=True)}
            self._ids = {place: now.get(stored, stored) for place, stored in self._ids.items()}
            return
        raise RuntimeError("others change the session all the time")

    def list_messages(
        self, session_id: str, agent_id: str, limit: int | None = None, offset: int = 0, **_: Any,
    ) -> list[SessionMessage]:
        def read_all(left: Left) -> list[SessionMessage]:
            found: list[SessionMessage] = []
            for message in self._client.list_messages(self._place.session_id, order="asc", timeout=left()):
                if (said := _said(message, agent_id)) is not None:
                    self._ids[agent_id, len(found)] = message.message_id
                    found.append(SessionMessage(said, len(found)))
            return found

        every = soft(self._softness, "begin", lambda left: _found(lambda: read_all(left)) or [], [])
        return every[offset:None if limit is None else offset + limit]

    def _from(self, id: str) -> list[Any]:
        """Return the messages from one on, the oldest first."""
        found: list[Any] = []
        for message in self._client.list_messages(self._place.session_id, order="desc"):
            found.append(message)
            if message.message_id == id:
                return found[::-1]
            if len(found) == _MOST:
                break
        raise LookupError(f"the message {id} is not among the latest {_MOST} of the session")

    def _read(self, name: str) -> dict[str, Any] | None:
        def get(left: Left) -> dict[str, Any] | None:
            document = _found(lambda: self._client.get_document(self._states, _digest(name), timeout=left()))
            return None if document is None else json.loads(document.value["state"])

        self._unread.add(name)
        value, was_read = soft(self._softness, "begin", lambda left: (get(left), True), (None, False))
        if was_read:
            self._unread.discard(name)
        return value

    def _write(self, name: str, value: Any) -> None:
        # A state that could not be read is not replaced by that of an agent that began without it.
        if name in self._unread:
            _log.warning("the state of %s was not read, so it is not stored", name)
            return
        soft(self._softness, "finish", lambda left: self._client.put_document(
            self._states, _digest(name), value={"state": json.dumps(value)}, index=[], timeout=left()), None)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _new(agent_id: str, message: Message) -> dict[str, Any]:
    """Return a message for the memory, with the message as it was."""
    read_now = read(message, None, {}) or {"role": message["role"], "content": ""}
    whole = json.dumps({"agent": agent_id, "message": encode_bytes_values(message)})
    shown = [part for part in read_now.get("parts", []) if part["type"] != "text"]
    return {**read_now, "parts": [*shown, {"type": "data", "name": _NAME, "data": whole}]}


def _again(message: Any) -> dict[str, Any]:
    """Return a stored message as a new one. Its own id is not used again."""
    about = {"content": message.content, "parts": message.parts, "metadata": message.metadata}
    return {"role": message.role, **{name: value for name, value in about.items() if value is not None}}


def _said(message: Any, agent_id: str) -> Message | None:
    """Return the message of an agent, or None for one of another agent or of another screen."""
    for part in message.parts or []:
        if part.type == "data" and part.name == _NAME and (whole := json.loads(part.data))["agent"] == agent_id:
            said: Message = decode_bytes_values(whole["message"])
            return said
    return None


def _found(call: Callable[[], Any]) -> Any:
    """Make a call, and return None where what it is about does not exist."""
    try:
        return call()
    except ProblemError as problem:
        if problem.code != "not_found":
            raise
        return None
