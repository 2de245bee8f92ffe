"""Messages of a program, before they are examined: those that JSON could not hold are refused."""

from collections.abc import Sequence
from typing import Any

from turnledger.domain.errors import InvalidMessage
from turnledger.domain.values import Unkeepable, kept
from turnledger.importing.doctor.writable import LEVELS_MAX


def refuse_unkeepable(messages: Sequence[Any]) -> None:
    """Raises `InvalidMessage` for one that contains itself or nests too deep, with keys that are no text, or
    with an integer that no reader takes."""
    for index, message in enumerate(messages):
        try:
            _look_through(message, LEVELS_MAX)
        except Unkeepable as error:
            raise InvalidMessage(index, str(error)) from error


def _look_through(value: Any, levels: int) -> None:
    if isinstance(value, int):
        kept(value)
    elif isinstance(value, dict | list) and levels < 1:
        raise Unkeepable(f"it contains itself, or is nested more than {LEVELS_MAX} levels deep")
    elif isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                raise Unkeepable(f"a key is of type {type(key).__name__!r}: give text")
            _look_through(item, levels - 1)
    elif isinstance(value, list):
        for item in value:
            _look_through(item, levels - 1)
