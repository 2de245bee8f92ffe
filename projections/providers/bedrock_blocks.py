"""The blocks of Bedrock's Converse: what each kind holds, and which can be sent.

Bytes stand here as base64 text. The choices are those of the service's model; a test compares them.
"""

import re
from collections.abc import Mapping
from typing import Any

from turnledger.projections.parts import MEDIA, noted, part_of
from turnledger.projections.providers.keeping import Block
from turnledger.projections.providers.shapes import (
    Keys,
    anything,
    base64,
    count,
    fitting,
    one_of,
    said,
    text,
    truth,
)

CALL, RESULT, STATUS, REASONING = "toolUse", "toolResult", "status", "reasoningContent"
FORMATS: Mapping[str, tuple[str, ...]] = {
    "image": ("png", "jpeg", "gif", "webp"),
    "document": ("pdf", "csv", "doc", "docx", "xls", "xlsx", "html", "txt", "md"),
    "video": ("mkv", "mov", "mp4", "webm", "flv", "mpeg", "mpg", "wmv", "three_gp"),
    "audio": (
        *("mp3", "opus", "wav", "aac", "flac", "mp4", "ogg", "mkv", "mka", "x-aac", "m4a", "mpeg", "mpga"),
        *("pcm", "webm"),
    ),
}

_STORED = Keys({"uri": text, "bucketOwner": text}, ("uri",))
_SOURCE = {"bytes": base64, "s3Location": _STORED}
_TEXTS = [Keys({"text": said}, ("text",))]
_CITED = Keys({"enabled": truth}, ("enabled",))
_MEDIA: dict[str, Keys] = {
    kind: Keys(
        {"format": one_of(*formats), "source": Keys(_SOURCE, one=True)},
        ("format", "source"),
    )
    for kind, formats in FORMATS.items()
} | {
    "document": Keys(
        {
            "format": one_of(*FORMATS["document"]),
            "name": text,
            "source": Keys({**_SOURCE, "text": said, "content": _TEXTS}, one=True),
            "context": text,
            "citations": _CITED,
        },
        ("name", "source"),
    )
}
_FOUND = Keys(
    {"source": text, "title": text, "content": _TEXTS, "citations": _CITED}, ("source", "title", "content")
)
_INSIDE = Keys(
    {
        "json": anything,
        "text": said,
        **{kind: _MEDIA[kind] for kind in ("image", "document", "video")},
        "searchResult": _FOUND,
    },
    one=True,
)
_SPAN = {"start": count, "end": count}
_IN_DOCUMENT = Keys({"documentIndex": count, **_SPAN})
_LOCATION = Keys(
    {
        "web": Keys({"url": text, "domain": text}),
        "documentChar": _IN_DOCUMENT,
        "documentPage": _IN_DOCUMENT,
        "documentChunk": _IN_DOCUMENT,
        "searchResultLocation": Keys({"searchResultIndex": count, **_SPAN}),
    },
    one=True,
)
_CITATION = Keys({"title": text, "source": text, "sourceContent": _TEXTS, "location": _LOCATION})
_TOOL = Keys({"tool": Keys({"type": said, "name": said, "serverName": said})}, ("tool",))
_GUARDED = Keys(
    {
        "text": Keys(
            {"text": said, "qualifiers": [one_of("grounding_source", "query", "guard_content")]}, ("text",)
        ),
        "image": Keys(
            {"format": one_of("png", "jpeg"), "source": Keys({"bytes": base64}, one=True)},
            ("format", "source"),
        ),
    },
    one=True,
)


def _is_id(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch("[a-zA-Z0-9_-]{1,64}", value) is not None


_ID = {"toolUseId": _is_id}  # a name has the same alphabet and length
_SHAPES: dict[str, Any] = {
    CALL: Keys(
        {**_ID, "name": _is_id, "input": anything, "type": one_of("server_tool_use")},
        ("toolUseId", "name", "input"),
    ),
    RESULT: Keys(
        {**_ID, "content": [_INSIDE], STATUS: one_of("success", "error"), "type": said},
        ("toolUseId", "content", "type"),
    ),
    REASONING: Keys(
        {
            "reasoningText": Keys({"text": text, "signature": text}, ("text",)),
            "redactedContent": base64,
        },
        one=True,
    ),
    "cachePoint": Keys({"type": one_of("default"), "ttl": one_of("5m", "1h")}, ("type",)),
    "guardContent": _GUARDED,
    "citationsContent": Keys({"content": _TEXTS, "citations": [_CITATION]}, ("content",)),
    "searchResult": _FOUND,
    "toolAddition": _TOOL,
    "toolRemoval": _TOOL,
    **_MEDIA,
    "text": said,
}


def _one_of_these(*keys: str) -> Keys:
    return Keys({key: _SHAPES[key] for key in keys}, one=True)


_BOTH = ("cachePoint", "guardContent", "searchResult", "toolAddition", "toolRemoval")
SYSTEM = _one_of_these("cachePoint", "guardContent", "text")
GIVEN = _one_of_these(*_BOTH, *_MEDIA, "text")
SAID = _one_of_these(CALL, RESULT, REASONING, "citationsContent", *_BOTH, "text")


def is_call(block: Any) -> bool:
    """Whether a block is a call that waits for its result here; a server's tool answers its own."""
    inner = block.get(CALL) if isinstance(block, Mapping) else None
    return isinstance(inner, Mapping) and "type" not in inner


def sendable_blocks(blocks: list[Any], shape: Keys) -> list[Block]:
    """The blocks that fit, without blank texts; a break in the cache of nothing is none."""
    found = [sound for block in blocks if (sound := _sound(block, shape)) is not None]
    return found if any("cachePoint" not in block for block in found) else []


def sendable_inside(blocks: list[Any]) -> list[Block]:
    """The same for the content of a result."""
    return [sound for block in blocks if (sound := _sound(block, _INSIDE)) is not None]


def _sound(block: Any, shape: Keys) -> Block | None:
    """A block as it can be sent; a medium that cannot be, as a note."""
    fits: Block | None = fitting(block, shape)
    if fits is not None:
        return fits if is_call(fits) <= is_call(block) else None  # a server's call never becomes a client's
    part = part_of(block)
    return {"text": noted(part)} if part and part.kind in MEDIA else None
