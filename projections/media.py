"""Media types by their ending, and bytes as base64 text: the log holds JSON, some clients want the bytes."""

from base64 import b64decode, b64encode
from collections.abc import Mapping

MIME_OF_ENDING: Mapping[str, str] = {
    "png": "image/png",
    "jpeg": "image/jpeg",
    "gif": "image/gif",
    "webp": "image/webp",
    "pdf": "application/pdf",
    "csv": "text/csv",
    "doc": "application/msword",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "xls": "application/vnd.ms-excel",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "html": "text/html",
    "txt": "text/plain",
    "md": "text/markdown",
    "mkv": "video/x-matroska",
    "mov": "video/quicktime",
    "mp4": "video/mp4",
    "webm": "video/webm",
    "flv": "video/x-flv",
    "mpeg": "video/mpeg",
    "wmv": "video/x-ms-wmv",
    "three_gp": "video/3gpp",
    "mp3": "audio/mpeg",
    "wav": "audio/wav",
    "ogg": "audio/ogg",
    "flac": "audio/flac",
    "aac": "audio/aac",
    "opus": "audio/opus",
}

_URL_SAFE = str.maketrans("-_", "+/")


def base64_text(data: bytes | bytearray | memoryview) -> str:
    """Bytes as JSON can hold them."""
    return b64encode(bytes(data)).decode("ascii")


def bytes_of(text: object) -> bytes | None:
    """The bytes of a base64 text in either alphabet, padded or not; None for what is none, or empty.

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
    """What `json.dumps` writes for bytes, as its `default`; raises TypeError for another object."""
    if isinstance(value, bytes | bytearray | memoryview):
        return base64_text(value)
    raise TypeError(f"JSON has no words for a {type(value).__name__!r}")
