"""Bytes as base64 text and back: the log holds JSON, some clients want the bytes themselves."""

from base64 import b64decode, b64encode

_URL_SAFE = str.maketrans("-_", "+/")


def base64_text(data: bytes | bytearray | memoryview) -> str:
    """Bytes as JSON can hold them."""
    return b64encode(bytes(data)).decode("ascii")


def bytes_of(text: object) -> bytes | None:
    """The bytes of a base64 text in either alphabet, padded or not; None for none, and for what is no such text.

    >>> bytes_of("c2ln"), bytes_of("-_8"), bytes_of("no bytes")
    (b'sig', b'\\xfb\\xff', None)
    """
    if not isinstance(text, str):
        return None
    plain = standard(text)
    try:
        data = b64decode(plain, validate=True)
    except ValueError:
        return None
    return data if data and base64_text(data) == plain else None


def standard(text: str) -> str:
    """A base64 text in the standard alphabet, padded."""
    plain = text.translate(_URL_SAFE)
    return plain + "=" * (-len(plain) % 4)


def in_json(value: object) -> str:
    """What `json.dumps` writes for bytes, as its `default`. Raises TypeError for what JSON has no words for."""
    if isinstance(value, bytes | bytearray | memoryview):
        return base64_text(value)
    raise TypeError(f"JSON has no words for a {type(value).__name__!r}")
