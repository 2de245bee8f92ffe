"""What the chunks of Mistral's messages hold, and which can be sent. A test compares it with its library."""

from typing import Any

from turnledger.projections.parts import MEDIA, noted, part_of
from turnledger.projections.providers.keeping import Block
from turnledger.projections.providers.shapes import Either, Keys, Kinds, OrNone, fitting, text, truth, whole


def _all(**shapes: Any) -> Keys:
    """A map that needs each of these keys, its type too, save those that may be nothing."""
    needed = tuple(key for key, shape in shapes.items() if not isinstance(shape, OrNone))
    return Keys({"type": text, **shapes}, ("type", *needed))


def _scalars(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(one, str | int | float) for one in value.values())


_NAME = OrNone(text)
_TEXT = _all(text=text)
_REFERENCE = _all(reference_ids=[Either((whole, text))])
_IMAGE = _all(image_url=Either((text, Keys({"url": text, "detail": _NAME}, ("url",)))))
_THINKING = Keys(
    {
        "type": text,
        "thinking": [
            Kinds(
                {
                    "text": _TEXT,
                    "reference": _REFERENCE,
                    "tool_reference": _all(
                        tool=text, title=text, url=_NAME, favicon=_NAME, description=_NAME
                    ),
                }
            )
        ],
        "signature": _NAME,
        "closed": truth,
    },
    ("type", "thinking"),
)
SYSTEM_CHUNKS = Kinds({"text": _TEXT, "thinking": _THINKING})
CHUNKS = Kinds(
    {
        **SYSTEM_CHUNKS.shapes,
        "reference": _REFERENCE,
        "image_url": _IMAGE,
        "document_url": _all(document_url=text, document_name=_NAME),
        "input_audio": _all(input_audio=text),
        "file": _all(file_id=text),
        "resource": _all(uri=text, content=Kinds({"text": _TEXT, "image_url": _IMAGE})),
        "resource_link": _all(uri=text, metadata=OrNone(_scalars)),
    }
)


def sendable_chunks(chunks: list[Any], kinds: Kinds) -> list[Block]:
    """The chunks that fit one of these kinds; a medium that does not, as a note."""
    return [sound for chunk in chunks if (sound := _sound(chunk, kinds)) is not None]


def _sound(chunk: Any, kinds: Kinds) -> Block | None:
    fits: Block | None = fitting(chunk, kinds)
    part = part_of(chunk) if fits is None else None
    return {"type": "text", "text": noted(part)} if part and part.kind in MEDIA else fits
