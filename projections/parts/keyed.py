"""Media in blocks that are told by a key of theirs: those of Gemini and of Bedrock's Converse."""

from collections.abc import Mapping
from typing import Any

from turnledger.projections.media import MIME_OF_ENDING, standard
from turnledger.projections.parts.model import Kind, Part, Reader, map_in, medium, medium_at, said_text

_GEMINI_FILES = "https://generativelanguage.googleapis.com/"


def inline(block: Mapping[str, Any]) -> Part | None:
    """Gemini's data, in the URL's alphabet where its SDK wrote it down."""
    blob = map_in(block.get("inlineData") or block.get("inline_data"))
    mime = blob.get("mimeType") or blob.get("mime_type")
    name = blob.get("displayName") or blob.get("display_name")
    data = said_text(blob.get("data"))
    return medium_at(None, block, mime=mime, data=data and standard(data), name=name)


def uri(block: Mapping[str, Any]) -> Part | None:
    """Gemini's file at a URL, or one that it keeps itself."""
    file = map_in(block.get("fileData") or block.get("file_data"))
    mime = file.get("mimeType") or file.get("mime_type")
    address, name = said_text(file.get("fileUri") or file.get("file_uri")) or "", file.get("displayName")
    if address.startswith(("http:", "https:")) and not address.startswith(_GEMINI_FILES):
        return medium_at(address, block, mime=mime, name=name)
    return medium_at(None, block, mime=mime, name=name, file_id=address)


def converse(kind: Kind) -> Reader:
    """A medium of Bedrock's: its format is the end of a file's name."""

    def read(block: Mapping[str, Any]) -> Part | None:
        inner = map_in(block.get(kind))
        source, name = map_in(inner.get("source")), inner.get("name")
        text = _text_in(source)
        if kind == "document" and text:
            return Part("document", text, "text/plain", name=said_text(name), given=block)
        mime, s3 = _mime(kind, inner), map_in(source.get("s3Location")).get("uri")
        return medium_at(None, block, kind, mime=mime, data=source.get("bytes"), name=name, file_id=s3)

    return read


def _text_in(source: Mapping[str, Any]) -> str:
    content = source.get("content")
    texts = content if isinstance(content, list) else [source]
    return "\n".join(str(map_in(one)["text"]) for one in texts if "text" in map_in(one))


def _mime(kind: Kind, inner: Mapping[str, Any]) -> str | None:
    ending = said_text(inner.get("format")) or ""
    mime = MIME_OF_ENDING.get(ending) or (f"{kind}/{ending}" if ending and kind != "document" else None)
    return f"{kind}/{ending}" if mime and medium(mime) != kind else mime
