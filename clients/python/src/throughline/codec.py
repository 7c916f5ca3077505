"""Models from and to JSON. Names are in camelCase there, and times are texts."""

from __future__ import annotations

import dataclasses
import functools
import re
import types
import typing
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import Any


def decode(kind: Any, value: Any) -> Any:
    """Return a JSON value as the type that a model names. Unknown fields of a later version are left out."""
    if value is None:
        return {} if typing.get_origin(kind) is dict else None
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (types.UnionType, typing.Union):
        return decode(arguments[0], value)
    if origin is list:
        return [decode(arguments[0], item) for item in value]
    if origin is dict:
        return {name: decode(arguments[1], item) for name, item in value.items()}
    if kind is datetime:
        return datetime.fromisoformat(value)
    if dataclasses.is_dataclass(kind):
        fields = _fields(typing.cast(type, kind))
        given = {name: decode(of, value.get(json_name)) for name, json_name, of in fields}
        return typing.cast(type, kind)(**given)
    return value


def encode(value: Any) -> Any:
    """Return a value as JSON has it. What is None in a model is left out."""
    if dataclasses.is_dataclass(value):
        given = ((json_name, getattr(value, name)) for name, json_name, _ in _fields(type(value)))
        return {name: encode(item) for name, item in given if item is not None}
    if isinstance(value, datetime):
        return value.astimezone(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    if isinstance(value, Mapping):
        return {name: encode(item) for name, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [encode(item) for item in value]
    return value


@functools.cache
def _fields(model: type) -> list[tuple[str, str, Any]]:
    """Return the name, the JSON name and the type of each field of a model."""
    hints = typing.get_type_hints(model)
    return [(f.name, _camel(f.name), hints[f.name]) for f in dataclasses.fields(model)]


def _camel(name: str) -> str:
    return re.sub(r"_([a-z0-9])", lambda match: match[1].upper(), name.rstrip("_"))
