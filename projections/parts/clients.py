"""Media as clients keep them: what `llm` attaches, what tools of the AI SDK gave, Pydantic AI's content."""

from collections.abc import Mapping
from typing import Any

from turnledger.projections.parts.model import MEDIA, Kind, Part, map_in, medium, medium_at, said_text

_MEDIA_OF_URLS: Mapping[str, Kind] = {f"{kind}-url": kind for kind in MEDIA}


def attachment(block: Mapping[str, Any]) -> Part | None:
    """What `llm` attaches: data, a URL, or a file that stayed where it was and is known by its path alone."""
    held = map_in(block.get("attachment"))
    mime, path = said_text(held.get("type")), said_text(held.get("path"))
    known = medium_at(held.get("url"), block, mime=mime, data=held.get("content"), name=path)
    return known or (Part(medium(mime), mime=mime, name=path, given=block) if path else None)


def given_back(block: Mapping[str, Any]) -> Part | None:
    """A medium that a tool gave back to the AI SDK."""
    default: Kind = "image" if str(block.get("type")).startswith("image") else "document"
    return medium_at(
        block.get("url"),
        block,
        default,
        mime=block.get("mediaType"),
        file_id=block.get("fileId"),
        name=block.get("filename"),
        data=block.get("data"),
    )


def told_by_kind(block: Mapping[str, Any]) -> Part | None:
    """A part of Pydantic AI's content: a text, a medium at a URL, in the block, or uploaded before."""
    kind = str(block.get("kind"))
    if kind in ("text-content", "structured-content"):
        said = block.get("content")
        return Part("text", said, given=block) if isinstance(said, str) else None
    if kind not in ("binary", "uploaded-file", *_MEDIA_OF_URLS):
        return None
    return medium_at(
        block.get("url"),
        block,
        _MEDIA_OF_URLS.get(kind, "document"),
        mime=block.get("media_type"),
        file_id=block.get("file_id"),
        data=block.get("data"),
    )
