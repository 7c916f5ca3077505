"""Session ids of the API for any text."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re

_TEXT, _HASH, _LONGEST = "b64:", "sha256:", 128
_ID = re.compile(r"[A-Za-z0-9_.:-]{1,128}")


def encode_session_id(text: str) -> str:
    """Return a session_id of the API for any text, such as a framework's id of a thread.

    A text that is a session_id stays as it is, unless it begins like an encoded one. Another one is encoded in
    base64url, and one of more than 93 bytes is hashed. The clients for TypeScript and Go return the same.
    """
    if _ID.fullmatch(text) and text not in (".", "..") and not text.startswith((_TEXT, _HASH)):
        return text
    encoded = _TEXT + _base64(text.encode())
    if len(encoded) <= _LONGEST:
        return encoded
    return _HASH + _base64(hashlib.sha256(text.encode()).digest())


def decode_session_id(session_id: str) -> str | None:
    """Return the text of a session id.

    It is None for a hash, whose text cannot be recovered, and for an id that encode_session_id does not return.
    """
    text = session_id
    if session_id.startswith(_TEXT):
        encoded = session_id.removeprefix(_TEXT)
        try:
            text = base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)).decode()
        except (binascii.Error, UnicodeDecodeError):
            return None
    return text if encode_session_id(text) == session_id else None


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")
