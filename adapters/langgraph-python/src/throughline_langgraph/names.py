"""Namespaces and keys, as the memory takes them.

LangGraph allows more characters than the memory does. What it does not take is percent-encoded, and read back."""

from __future__ import annotations

import re
import urllib.parse

Namespace = tuple[str, ...]

_FOREIGN = re.compile(r"[%/\u0000-\u001f\u007f-\u009f]|^\.{1,2}$")


def encode(name: str) -> str:
    """Return a label or a key for the memory."""
    return _FOREIGN.sub(lambda found: "".join(f"%{byte:02X}" for byte in found[0].encode()), name)


def decode(name: str) -> str:
    """Return the label or the key of an encoded one."""
    return urllib.parse.unquote(name)


def path_of(namespace: Namespace) -> str:
    """Return a namespace for the memory."""
    return "/".join(map(encode, namespace))


def pattern_of(namespace: Namespace) -> str:
    """Return a pattern for the memory, in which an asterisk matches any label."""
    return "/".join(label if label == "*" else encode(label) for label in namespace)


def namespace_of(path: str) -> Namespace:
    """Return the namespace of the memory's."""
    return tuple(map(decode, path.split("/")))
