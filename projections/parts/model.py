"""What a part is, whoever spelled it: its kind, and where a medium's data stands."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Kind = Literal["text", "image", "audio", "video", "document", "refusal", "reasoning"]
MEDIA: tuple[Kind, ...] = ("image", "audio", "video", "document")
MIME_KEYS = ("mimeType", "mediaType", "mime_type")


@dataclass(frozen=True, slots=True)
class Part:
    """One part. A medium has `data` (base64), a `url`, or a `file_id` that only its own provider knows."""

    kind: Kind
    text: str = ""
    mime: str | None = None
    data: str | None = None
    url: str | None = None
    file_id: str | None = None
    name: str | None = None
    given: Mapping[str, Any] = field(default_factory=dict, compare=False)


Reader = Callable[[Mapping[str, Any]], Part | None]


def noted(part: Part) -> str:
    """A medium in words, for one who cannot be shown it."""
    return f"[{part.kind}: {part.name or part.mime or 'not shown'}]"


def medium(mime: Any, default: Kind = "document") -> Kind:
    """The kind of medium that a MIME type names."""
    major = mime.partition("/")[0] if isinstance(mime, str) else ""
    return next((kind for kind in MEDIA if kind == major), "document" if major else default)


def data_url(part: Part) -> str | None:
    """The medium as a URL: its own, or its data as one."""
    return f"data:{part.mime};base64,{part.data}" if part.data is not None and part.mime else part.url


def medium_at(
    url: Any,
    block: Mapping[str, Any],
    default: Kind = "document",
    *,
    mime: Any = None,
    file_id: Any = None,
    name: Any = None,
    data: Any = None,
) -> Part | None:
    """A medium that stands at a URL (of data, too), in a file that its provider keeps, or in the block."""
    url, mime, file_id, name, data = (said_text(value) for value in (url, mime, file_id, name, data))
    if url and url.startswith("data:"):
        head, _, data = url.removeprefix("data:").partition(",")
        url, mime = None, mime or head.partition(";")[0] or None
    if data is None and url is None and file_id is None:
        return None
    return Part(medium(mime, default), "", mime, data, url, file_id, name, block)


def said_text(value: Any) -> str | None:
    """A text that is not empty; None for all else."""
    return value if isinstance(value, str) and value else None


def map_in(value: Any) -> Mapping[str, Any]:
    """A map, an empty one for all else."""
    return value if isinstance(value, Mapping) else {}
