"""JSON values: what is kept of a Python value, when two are equal, and one as text.

Keeps section 2 ("kept as given") and the JSON half of "equal calls"; what a value means in a message is
for `messages`.
"""

import json
import re
from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from hashlib import blake2b
from json.encoder import encode_basestring_ascii
from typing import Any

from msgspec import to_builtins
from pydantic import BaseModel, ConfigDict

LEVELS_MAX = 100
INTEGER_DIGITS_MAX = 4_000
_INTEGER_MAX = 10**INTEGER_DIGITS_MAX
_SURROGATES = re.compile("[\ud800-\udfff]")


class Frozen(BaseModel):
    """A value object that is checked when it is read and cannot be changed."""

    model_config = ConfigDict(frozen=True, extra="forbid", revalidate_instances="never")


class Unkeepable(ValueError):
    """A value that JSON, and so the log, cannot hold; its text says why."""


def scrubbed(text: str) -> str:
    """The text as it can be encoded: a surrogate pair joined, a lone surrogate as U+FFFD."""
    if text.isascii() or not _SURROGATES.search(text):
        return str.__str__(text)
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def kept(value: Any, *, levels_max: int = LEVELS_MAX) -> Any:
    """A JSON value of the caller's value, sharing nothing with it that can change.

    Tuples become lists, keys strings, bytes UTF-8 text with U+FFFD, a non-finite number None. Raises
    `Unkeepable` for a cycle, an object of unknown type, too many levels or digits.
    """
    return _kept(value, levels_max, set())


def _kept(value: Any, levels: int, path: set[int]) -> Any:
    if value.__class__ is str and value.isascii():  # most values are: the quick question first
        return value
    if value is None or value is True or value is False:
        return value
    if isinstance(value, str):
        return scrubbed(value)
    if isinstance(value, int):
        if not -_INTEGER_MAX < value < _INTEGER_MAX:
            raise Unkeepable(f"an integer has more than {INTEGER_DIGITS_MAX:,} digits")
        return int(value)
    if isinstance(value, float):
        return float(value) if abs(value) <= _FLOAT_MAX else None
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value).decode("utf-8", "replace")
    return _kept_container(value, levels, path)


_FLOAT_MAX = 1.7976931348623157e308


def _kept_container(value: Any, levels: int, path: set[int]) -> Any:
    """A container of the value's; `path` are the containers that it stands in."""
    if levels <= 0:
        raise Unkeepable(f"it is nested more than {LEVELS_MAX} levels deep")
    if id(value) in path:
        raise Unkeepable("it contains itself")
    path.add(id(value))
    result: Any
    if isinstance(value, dict | Mapping):
        result = _kept_map(value, levels - 1, path)
    elif isinstance(value, list | tuple):
        result = [_kept(item, levels - 1, path) for item in value]
    else:
        dumped = model_dumped(value)
        if not isinstance(dumped, Mapping | list | tuple):
            raise Unkeepable(f"it holds an object of unknown type {type(value).__name__!r}")
        result = _kept(dumped, levels, path)
    path.discard(id(value))
    return result


def _kept_map(value: Mapping[Any, Any], levels: int, path: set[int]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, item in value.items():
        text = key if key.__class__ is str and key.isascii() else _kept_key(key)
        if text in result:
            raise Unkeepable(f"two keys of one map both read {text[:100]!r}")
        result[text] = item if item.__class__ is str and item.isascii() else _kept(item, levels, path)
    return result


def _kept_key(key: Any) -> str:
    if isinstance(key, str):
        return scrubbed(key)
    if key is None or isinstance(key, bool | int | float | bytes):
        value = _kept(key, 0, set())
        return value if isinstance(value, str) else json.dumps(value)
    raise Unkeepable(f"a key of type {type(key).__name__!r} has no text")


def model_dumped(value: Any) -> Any:
    """What an object with a `model_dump()` method (pydantic and its like) dumps; None for another object."""
    try:
        dump: Callable[[], Any] | None = getattr(value, "model_dump", None)
        return None if dump is None or isinstance(value, type) else dump()
    except Exception as error:
        raise Unkeepable(f"its model_dump() failed: {error}") from error


def json_text(value: Any) -> str:
    """A value as MEM-5 makes it text: compact JSON, non-ASCII kept, "" for what JSON cannot hold."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_as_dict)
    except (TypeError, ValueError, RecursionError):
        return ""
    return scrubbed(text)


def _as_dict(value: Any) -> dict[Any, Any]:
    if isinstance(value, Mapping):
        return dict(value)
    dumped = model_dumped(value)
    if isinstance(dumped, Mapping):
        return dict(dumped)
    raise TypeError(type(value).__name__)


def parsed(text: str) -> Any:
    """The JSON value of a text, numbers as exact decimals; raises ValueError for what is no JSON."""
    try:
        return json.loads(text, parse_int=_number, parse_float=_number, parse_constant=_no_constant)
    except (RecursionError, InvalidOperation) as error:
        raise ValueError(str(error)) from error


def _number(text: str) -> Decimal:
    return Decimal(text)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def canonical(value: Any) -> str:
    """One text for all equal JSON values: keys sorted, numbers exact (`1` as `1.0`, but not as `true`)."""
    if isinstance(value, str):
        return encode_basestring_ascii(scrubbed(value))
    if value is None or value is True or value is False:
        return json.dumps(value)
    if isinstance(value, int | float | Decimal):
        return _canonical_number(value)
    if isinstance(value, dict | Mapping):
        items = sorted([(encode_basestring_ascii(str(key)), canonical(item)) for key, item in value.items()])
        return "{" + ",".join([f"{key}:{item}" for key, item in items]) + "}"
    return "[" + ",".join(map(canonical, value)) + "]"


def _canonical_number(value: int | float | Decimal) -> str:
    if isinstance(value, int) and 0 < value < 10:  # what most numbers are, and written as below
        return f"{value}e0"
    number = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    sign, digits, exponent = number.as_tuple()
    significant = "".join(map(str, digits)).lstrip("0")
    trimmed = significant.rstrip("0")
    if not trimmed:
        return "0"
    return f"{'-' * sign}{trimmed}e{int(exponent) + len(significant) - len(trimmed)}"


def likeness(value: Any) -> int:
    """What two equal JSON values share, in this process: for telling them apart, never for the record."""
    return hash(value) if isinstance(value, str) else hash((canonical(value),))


def digest(text: str) -> str:
    """A short name for a text that no other text has."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def copied(value: Any) -> Any:
    """A value of JSON's containers, none of them shared with this one; what else it holds is."""
    if value.__class__ is dict:
        copy = value.copy()  # at once, then what of it is a container: most is not
        for key, item in value.items():
            if item.__class__ is dict or item.__class__ is list:
                copy[key] = copied(item)
        return copy
    return [copied(item) for item in value] if value.__class__ is list else value


def copied_json(value: Any) -> Any:
    """The same of what is JSON all through, as everything in the log is: made in C, in half the time."""
    return to_builtins(value)
