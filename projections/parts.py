"""Content in parts, whatever provider spelled it: text, media, refusals, reasoning.

Reads a part into the little that all providers have words for; `given` is the part as it stood. What is no
part that is known here gives None, and its message is then one text (MEM-5). What a provider does with a
part that it does not take is for `providers.table`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from turnledger.projections.media import MIME_OF_ENDING, standard

Kind = Literal["text", "image", "audio", "video", "document", "refusal", "reasoning"]
MEDIA: tuple[Kind, ...] = ("image", "audio", "video", "document")
TEXT_TYPES = ("text", "input_text", "output_text")
GIVEN_BACK_TYPES = ("media", "image-data", "file-data", "image-url", "file-url", "image-file-id", "file-id")
REASONING_TYPES = ("thinking", "redacted_thinking", "reasoning")


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


def parts_of(content: Any) -> list[Part] | None:
    """The parts of a message's content; None where it is no text and no list of known parts alone.

    >>> [part.kind for part in parts_of([{"type": "text", "text": "see"}, {"inlineData": {"data": "eA=="}}])]
    ['text', 'document']
    """
    if isinstance(content, str):
        return [Part("text", content, given={"type": "text", "text": content})]
    if not isinstance(content, list) or not content:
        return None
    parts = [part_of(block) for block in content]
    return None if None in parts else [part for part in parts if part]


def part_of(block: Any) -> Part | None:
    """One block as a part, or None where nothing here knows it."""
    if not isinstance(block, Mapping):
        return None
    tag = block.get("type")
    keyed = (reader for key, reader in _KEYED.items() if key in block)
    read = _TAGGED.get(tag) if isinstance(tag, str) else next(keyed, None)
    if read and block.get("thought") is True:
        read = _reasoning  # Gemini's thoughts are parts of any kind
    return read(block) if read else None


def text_of(block: Any) -> str | None:
    """The text of a part that is one; None for any other block."""
    part = part_of(block)
    return part.text if part and part.kind == "text" else None


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


def _text(block: Mapping[str, Any]) -> Part | None:
    text = block.get("text")
    if not isinstance(text, str):
        return None
    return Part("text", text, given=block)


def _reasoning(block: Mapping[str, Any]) -> Part:
    converse = _map(_map(block.get("reasoningContent")).get("reasoningText"))
    texts = (block.get("thinking"), block.get("text"), block.get("reasoning"), converse.get("text"))
    return Part("reasoning", next((t for t in texts if isinstance(t, str)), ""), given=block)


def _plain_text(block: Mapping[str, Any]) -> Part | None:
    """LangChain's document of text."""
    text, name = block.get("text"), _string(block.get("title"))
    return Part("document", text, "text/plain", name=name, given=block) if isinstance(text, str) else None


def _refusal(block: Mapping[str, Any]) -> Part | None:
    text = block.get("refusal")
    return Part("refusal", text, given=block) if isinstance(text, str) else None


def _at(
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
    url, mime, file_id, name, data = (_string(value) for value in (url, mime, file_id, name, data))
    if url and url.startswith("data:"):
        head, _, data = url.removeprefix("data:").partition(",")
        url, mime = None, mime or head.partition(";")[0] or None
    if data is None and url is None and file_id is None:
        return None
    return Part(medium(mime, default), "", mime, data, url, file_id, name, block)


def _string(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _map(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


_MIMES = ("mimeType", "mediaType", "mime_type")


def _sourced(block: Mapping[str, Any]) -> Part | None:
    """Anthropic's image and document; without a source, media of MCP, of the AI SDK and of LangChain."""
    default: Kind = next((kind for kind in MEDIA if kind == block.get("type")), "document")
    source, name = _map(block.get("source")), block.get("title")
    if source.get("type") == "text":
        return Part("document", str(source.get("data") or ""), "text/plain", name=_string(name), given=block)
    mime = source.get("media_type") or next((block[key] for key in _MIMES if block.get(key)), None)
    data = source.get("data") or block.get("data") or block.get("base64")
    url, file_id = source.get("url") or block.get("image") or block.get("url"), block.get("file_id")
    if isinstance(url, str) and not url.startswith(("data:", "http:", "https:")):
        data, url = url, None
    return _at(url, block, default, mime=mime, file_id=source.get("file_id") or file_id, name=name, data=data)


def _image_url(block: Mapping[str, Any]) -> Part | None:
    url = block.get("image_url")
    address = url.get("url") if isinstance(url, Mapping) else url
    return _at(address, block, "image", file_id=block.get("file_id"))


def _audio(block: Mapping[str, Any]) -> Part | None:
    if isinstance(block.get("input_audio"), str):
        return _spoken(block["input_audio"], block)
    audio = _map(block.get("input_audio"))
    sound = _string(audio.get("format"))
    mime = {"mp3": "audio/mpeg"}.get(sound, f"audio/{sound}") if sound else None
    return _at(None, block, "audio", mime=mime, data=audio.get("data"))


def _spoken(sound: str, block: Mapping[str, Any]) -> Part | None:
    """Mistral's audio: a URL, or the data itself."""
    is_url = sound.startswith(("data:", "http:", "https:"))
    return _at(sound if is_url else None, block, "audio", data=None if is_url else sound)


def _resource(block: Mapping[str, Any]) -> Part | None:
    """Mistral's resource, a chunk with its address, and that of MCP."""
    held = _map(block.get("resource"))
    content = _map(block.get("content"))
    inner = part_of(content) if content.get("type") in ("text", "image_url") else None
    name = _string(block.get("uri")) or _string(held.get("uri"))
    if isinstance(held.get("text"), str):
        return Part("document", held["text"], "text/plain", name=name, given=block)
    if inner and inner.kind == "text":
        return Part("document", inner.text, "text/plain", name=name, given=block)
    return (
        replace(inner, name=name, given=block)
        if inner
        else _at(None, block, mime=held.get("mimeType"), data=held.get("blob"), name=name)
    )


def _resource_link(block: Mapping[str, Any]) -> Part | None:
    return _at(
        block.get("uri"), block, mime=block.get("mimeType"), name=block.get("name") or block.get("uri")
    )


def _file(block: Mapping[str, Any]) -> Part | None:
    """OpenAI's files, and those of the AI SDK and of LangChain."""
    file = _map(block.get("file")) or block
    name, held = file.get("filename"), _map(file.get("data"))
    data = _string(file.get("file_data") or held.get("data") or file.get("data") or file.get("base64"))
    url = data if data and data.startswith(("data:", "http:", "https:")) else None
    mime = next((file[key] for key in _MIMES if file.get(key)), None) or _mime_of_name(name)
    address = url or file.get("file_url") or held.get("url") or file.get("url")
    return _at(address, block, mime=mime, file_id=file.get("file_id"), name=name, data=None if url else data)


def _attachment(block: Mapping[str, Any]) -> Part | None:
    """What `llm` attaches: data, a URL, or a file that stayed where it was and is known by its path alone."""
    held = _map(block.get("attachment"))
    mime, path = _string(held.get("type")), _string(held.get("path"))
    known = _at(held.get("url"), block, mime=mime, data=held.get("content"), name=path)
    return known or (Part(medium(mime), mime=mime, name=path, given=block) if path else None)


def _given_back(block: Mapping[str, Any]) -> Part | None:
    """A medium that a tool gave back to the AI SDK."""
    default: Kind = "image" if str(block.get("type")).startswith("image") else "document"
    mime, name = block.get("mediaType"), block.get("filename")
    return _at(
        block.get("url"),
        block,
        default,
        mime=mime,
        file_id=block.get("fileId"),
        name=name,
        data=block.get("data"),
    )


_MEDIA_OF_URLS: Mapping[str, Kind] = {f"{kind}-url": kind for kind in MEDIA}


def _told_by_kind(block: Mapping[str, Any]) -> Part | None:
    """A part of Pydantic AI's content: a text, a medium at a URL, in the block, or uploaded before."""
    kind, mime = str(block.get("kind")), block.get("media_type")
    if kind in ("text-content", "structured-content"):
        text = block.get("content")
        return Part("text", text, given=block) if isinstance(text, str) else None
    if kind in ("binary", "uploaded-file") or kind in _MEDIA_OF_URLS:
        default: Kind = _MEDIA_OF_URLS.get(kind, "document")
        return _at(
            block.get("url"), block, default, mime=mime, file_id=block.get("file_id"), data=block.get("data")
        )
    return None


def _mime_of_name(name: Any) -> str | None:
    return "application/pdf" if isinstance(name, str) and name.lower().endswith(".pdf") else None


def _document_url(block: Mapping[str, Any]) -> Part | None:
    return _at(block.get("document_url"), block, name=block.get("document_name"))


def _inline(block: Mapping[str, Any]) -> Part | None:
    """Gemini's data, in the URL's alphabet where its SDK wrote it down."""
    blob = _map(block.get("inlineData") or block.get("inline_data"))
    mime = blob.get("mimeType") or blob.get("mime_type")
    name = blob.get("displayName") or blob.get("display_name")
    data = _string(blob.get("data"))
    return _at(None, block, mime=mime, data=data and standard(data), name=name)


def _uri(block: Mapping[str, Any]) -> Part | None:
    """Gemini's file at a URL, or one that it keeps itself."""
    file = _map(block.get("fileData") or block.get("file_data"))
    mime = file.get("mimeType") or file.get("mime_type")
    uri, name = _string(file.get("fileUri") or file.get("file_uri")) or "", file.get("displayName")
    if uri.startswith(("http:", "https:")) and not uri.startswith(_GEMINI_FILES):
        return _at(uri, block, mime=mime, name=name)
    return _at(None, block, mime=mime, name=name, file_id=uri)


_GEMINI_FILES = "https://generativelanguage.googleapis.com/"


def _converse(kind: Kind) -> Callable[[Mapping[str, Any]], Part | None]:
    """A medium of Bedrock's: its format is the end of a file's name."""

    def read(block: Mapping[str, Any]) -> Part | None:
        inner = _map(block.get(kind))
        source, ending, name = (
            _map(inner.get("source")),
            _string(inner.get("format")) or "",
            inner.get("name"),
        )
        texts = source.get("content") if isinstance(source.get("content"), list) else [source]
        text = "\n".join(str(_map(one)["text"]) for one in texts or () if "text" in _map(one))
        if kind == "document" and text:
            return Part("document", text, "text/plain", name=_string(name), given=block)
        mime = MIME_OF_ENDING.get(ending) or (f"{kind}/{ending}" if ending and kind != "document" else None)
        if mime and medium(mime) != kind:
            mime = f"{kind}/{ending}"
        s3 = _map(source.get("s3Location")).get("uri")
        return _at(None, block, kind, mime=mime, data=source.get("bytes"), name=name, file_id=s3)

    return read


_Reader = Callable[[Mapping[str, Any]], Part | None]
_TAGGED: Mapping[str, _Reader] = {
    **dict.fromkeys(TEXT_TYPES, _text),
    **dict.fromkeys(REASONING_TYPES, _reasoning),
    "refusal": _refusal,
    "image": _sourced,
    "document": _sourced,
    "audio": _sourced,
    "video": _sourced,
    "text-plain": _plain_text,
    "image_url": _image_url,
    "input_image": _image_url,
    "computer_screenshot": _image_url,
    "attachment": _attachment,
    "input_audio": _audio,
    "file": _file,
    "input_file": _file,
    "document_url": _document_url,
    **dict.fromkeys(GIVEN_BACK_TYPES, _given_back),
    "resource": _resource,
    "resource_link": _resource_link,
}
_KEYED: Mapping[str, _Reader] = {
    "text": _text,
    "inlineData": _inline,
    "inline_data": _inline,
    "fileData": _uri,
    "file_data": _uri,
    "reasoningContent": _reasoning,
    "image": _converse("image"),
    "document": _converse("document"),
    "video": _converse("video"),
    "kind": _told_by_kind,
    "audio": _converse("audio"),
}
