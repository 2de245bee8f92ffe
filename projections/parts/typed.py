"""Media in blocks that say their type: those of OpenAI, Anthropic, Mistral and MCP."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from turnledger.projections.parts.model import MEDIA, MIME_KEYS, Kind, Part, map_in, medium_at, said_text
from turnledger.projections.parts.words import text


def sourced(block: Mapping[str, Any]) -> Part | None:
    """Anthropic's image and document; without a source, media of MCP, of the AI SDK and of LangChain."""
    default: Kind = next((kind for kind in MEDIA if kind == block.get("type")), "document")
    source, name = map_in(block.get("source")), block.get("title")
    if source.get("type") == "text":
        said = str(source.get("data") or "")
        return Part("document", said, "text/plain", name=said_text(name), given=block)
    mime = source.get("media_type") or next((block[key] for key in MIME_KEYS if block.get(key)), None)
    data = source.get("data") or block.get("data") or block.get("base64")
    url, file_id = source.get("url") or block.get("image") or block.get("url"), block.get("file_id")
    if isinstance(url, str) and not url.startswith(("data:", "http:", "https:")):
        data, url = url, None
    file_id = source.get("file_id") or file_id
    return medium_at(url, block, default, mime=mime, file_id=file_id, name=name, data=data)


def image_url(block: Mapping[str, Any]) -> Part | None:
    url = block.get("image_url")
    address = url.get("url") if isinstance(url, Mapping) else url
    return medium_at(address, block, "image", file_id=block.get("file_id"))


def audio(block: Mapping[str, Any]) -> Part | None:
    if isinstance(block.get("input_audio"), str):
        return _spoken(block["input_audio"], block)
    held = map_in(block.get("input_audio"))
    sound = said_text(held.get("format"))
    mime = {"mp3": "audio/mpeg"}.get(sound, f"audio/{sound}") if sound else None
    return medium_at(None, block, "audio", mime=mime, data=held.get("data"))


def _spoken(sound: str, block: Mapping[str, Any]) -> Part | None:
    """Mistral's audio: a URL, or the data itself."""
    is_url = sound.startswith(("data:", "http:", "https:"))
    return medium_at(sound if is_url else None, block, "audio", data=None if is_url else sound)


def file(block: Mapping[str, Any]) -> Part | None:
    """OpenAI's files, and those of the AI SDK and of LangChain."""
    given = map_in(block.get("file")) or block
    name, held = given.get("filename"), map_in(given.get("data"))
    data = said_text(given.get("file_data") or held.get("data") or given.get("data") or given.get("base64"))
    url = data if data and data.startswith(("data:", "http:", "https:")) else None
    mime = next((given[key] for key in MIME_KEYS if given.get(key)), None) or _mime_of_name(name)
    address = url or given.get("file_url") or held.get("url") or given.get("url")
    file_id, data = given.get("file_id"), None if url else data
    return medium_at(address, block, mime=mime, file_id=file_id, name=name, data=data)


def _mime_of_name(name: Any) -> str | None:
    return "application/pdf" if isinstance(name, str) and name.lower().endswith(".pdf") else None


def document_url(block: Mapping[str, Any]) -> Part | None:
    return medium_at(block.get("document_url"), block, name=block.get("document_name"))


def resource(block: Mapping[str, Any]) -> Part | None:
    """Mistral's resource, a chunk with its address, and that of MCP."""
    held = map_in(block.get("resource"))
    inner = _inside(map_in(block.get("content")))
    name = said_text(block.get("uri")) or said_text(held.get("uri"))
    if isinstance(held.get("text"), str):
        return Part("document", held["text"], "text/plain", name=name, given=block)
    if inner and inner.kind == "text":
        return Part("document", inner.text, "text/plain", name=name, given=block)
    if inner:
        return replace(inner, name=name, given=block)
    return medium_at(None, block, mime=held.get("mimeType"), data=held.get("blob"), name=name)


def _inside(content: Mapping[str, Any]) -> Part | None:
    readers = {"text": text, "image_url": image_url}
    tag = content.get("type")
    return readers[tag](content) if isinstance(tag, str) and tag in readers else None


def resource_link(block: Mapping[str, Any]) -> Part | None:
    name = block.get("name") or block.get("uri")
    return medium_at(block.get("uri"), block, mime=block.get("mimeType"), name=name)
