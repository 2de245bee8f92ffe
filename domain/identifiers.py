"""Ids, keys and contexts as callers give them, and the digest that a key is recorded with."""

import unicodedata
from collections.abc import Mapping
from typing import Any

from turnledger.domain.errors import InvalidArgument, InvalidId
from turnledger.domain.messages import Message
from turnledger.domain.values import digest, json_text, scrubbed

ID_CHARACTERS_MAX = 255


def checked_id(what: str, value: Any) -> str:
    """The id itself. Raises `InvalidId` for all but 1 to 255 valid characters, not blank, none of control."""
    if not isinstance(value, str):
        raise InvalidId(f"{what} must be text, not {type(value).__name__!r}")
    if not 1 <= len(value) <= ID_CHARACTERS_MAX:
        raise InvalidId(f"{what} has {len(value)} characters; it must have 1 to {ID_CHARACTERS_MAX}")
    if not value.strip():
        raise InvalidId(f"{what} is blank")
    if not value.isprintable() and any(unicodedata.category(c) in ("Cc", "Cs") for c in value):
        raise InvalidId(f"{what} holds a control character or half a surrogate pair: {value!a}")
    return str.__str__(value)


def checked_optional_id(what: str, value: Any) -> str | None:
    return None if value is None else checked_id(what, value)


def checked_context(value: Any) -> dict[str, str] | None:
    """The context of an event: a flat map of strings, such as a trace id and an actor."""
    if value is None:
        return None
    if not isinstance(value, Mapping) or not all(
        isinstance(k, str) and isinstance(v, str) for k, v in value.items()
    ):
        raise InvalidArgument("context must be a flat map of strings")
    return {scrubbed(key): scrubbed(item) for key, item in value.items()} or None


def input_digest(
    operation: str,
    execution_id: str | None,
    turn_id: str | None,
    messages: list[Message],
    others: list[Any],
) -> str:
    """What tells two uses of an idempotency key apart: the operation and its input, as kept.

    `others` is what it has beside messages: artifacts, records, an entry's number.
    """
    given = [(m.role, _sorted(m.content), _sorted(m.metadata)) for m in messages]
    return digest(json_text([operation, execution_id, turn_id, given, _sorted(others)]))


def _sorted(value: Any) -> Any:
    """The value with the keys of its maps in one order."""
    if isinstance(value, Mapping):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list | tuple) else value
