"""What of a kept block its provider takes: shapes as plain values, and their matching.

An official library refuses a whole request for one key that it does not know, or one value of another type.
So what is sent of a kept block is what fits; what a file held beyond that stays in the log.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from turnledger.domain.values import copied
from turnledger.projections.media import bytes_of

Shape = Any  # a question asked of a value, a list of one shape, or one of these


class Keys(NamedTuple):
    """A map of these keys; without a `needed` one that may not be nothing it does not fit.

    With `one` it is a union, of one key.
    """

    shapes: Mapping[str, Shape]
    needed: tuple[str, ...] = ()
    one: bool = False


class Kinds(NamedTuple):
    """A map whose `type` says which of these it is."""

    shapes: Mapping[str, Keys]


class OrNone(NamedTuple):
    """A value under a key that may also be there as nothing."""

    shape: Shape


class Either(NamedTuple):
    """The first of these that fits."""

    shapes: tuple[Shape, ...]


def fitting(value: Any, shape: Shape) -> Any:
    """What of the value fits, sharing nothing with it; None where nothing is left that would."""
    if isinstance(shape, list):
        return _items(value, shape[0])
    if isinstance(shape, Keys):
        return _map(value, shape)
    if isinstance(shape, Kinds):
        kind = value.get("type") if isinstance(value, dict) else None
        return _map(value, shape.shapes[kind]) if isinstance(kind, str) and kind in shape.shapes else None
    if isinstance(shape, OrNone):
        return fitting(value, shape.shape)
    if isinstance(shape, Either):
        return next((fit for one in shape.shapes if (fit := fitting(value, one)) is not None), None)
    return copied(value) if shape(value) else None


def _items(value: Any, shape: Shape) -> Any:
    if not isinstance(value, list):
        return None
    return [item for one in value if (item := fitting(one, shape)) is not None]


def _map(value: Any, shape: Keys) -> Any:
    if not isinstance(value, dict):
        return None
    fits = {
        key: inner
        for key, one in value.items()
        if key in shape.shapes
        and ((inner := fitting(one, shape.shapes[key])) is not None or _may_be_none(one, shape.shapes[key]))
    }
    if shape.one:
        fits = dict(list(fits.items())[:1])
    fits |= {key: None for key in shape.needed if key not in fits and isinstance(shape.shapes[key], OrNone)}
    return fits if (fits or not shape.one) and all(key in fits for key in shape.needed) else None


def _may_be_none(value: Any, shape: Shape) -> bool:
    return value is None and isinstance(shape, OrNone)


def text(value: Any) -> bool:
    return isinstance(value, str)


def said(value: Any) -> bool:
    """A text that says something."""
    return isinstance(value, str) and bool(value.strip())


def truth(value: Any) -> bool:
    return isinstance(value, bool)


def number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31


def mapping(value: Any) -> bool:
    return isinstance(value, dict)


def anything(value: Any) -> bool:
    return value is not None


def base64(value: Any) -> bool:
    return bytes_of(value) is not None


def one_of(*choices: str) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, str) and value in choices
