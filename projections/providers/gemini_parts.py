"""The parts of Gemini's contents: what each kind holds, and which can be sent."""

from typing import Any

from turnledger.domain.values import copied
from turnledger.projections.parts import MEDIA, noted, part_of
from turnledger.projections.providers.keeping import Block
from turnledger.projections.providers.shapes import (
    Keys,
    base64,
    count,
    fitting,
    mapping,
    number,
    one_of,
    text,
    truth,
)

CALL, RESPONSE, SIGNATURE = "functionCall", "functionResponse", "thoughtSignature"

_BLOB = Keys({"mimeType": text, "data": base64, "displayName": text}, ("mimeType", "data"))
_FILE = Keys({"fileUri": text, "mimeType": text, "displayName": text}, ("fileUri",))
_DATA = {
    CALL: Keys({"id": text, "name": text, "args": mapping}),
    RESPONSE: Keys(
        {
            "id": text,
            "name": text,
            "response": mapping,
            "parts": [Keys({"inlineData": _BLOB, "fileData": _FILE}, one=True)],
            "scheduling": one_of("SILENT", "WHEN_IDLE", "INTERRUPT"),
        }
    ),
    "inlineData": _BLOB,
    "fileData": _FILE,
    "executableCode": Keys({"code": text, "language": text, "id": text}, ("code", "language")),
    "codeExecutionResult": Keys({"outcome": text, "output": text, "id": text}, ("outcome",)),
    "toolCall": Keys({"id": text, "toolType": text, "args": mapping}),
    "toolResponse": Keys({"id": text, "toolType": text, "response": mapping}),
    "text": text,
}
_BESIDE = {
    "thought": truth,
    SIGNATURE: base64,
    "videoMetadata": Keys({"fps": number, "startOffset": text, "endOffset": text}),
    "mediaResolution": Keys({"level": text, "numTokens": count}),
    "partMetadata": mapping,
}
SYSTEM = Keys({"text": text, **_BESIDE})
GIVEN = Keys({key: _DATA[key] for key in ("inlineData", "fileData", "text")} | _BESIDE)
SAID = Keys({key: shape for key, shape in _DATA.items() if key != RESPONSE} | _BESIDE)
DATA_KEYS = frozenset(_DATA)


def is_call(part: Any) -> bool:
    return isinstance(part, dict) and isinstance(part.get(CALL), dict)


def sendable_parts(parts: list[Block], shape: Keys) -> list[Block]:
    """The parts that this role may say, without those that hold nothing; none where all are thoughts."""
    found = [sound for part in parts if (sound := _sound(part, shape)) is not None]
    return found if any(part.get("thought") is not True for part in found) else []


def sendable_part(part: Block, data: Block) -> Block:
    """What stands in a part beside its data, with this data."""
    return _beside(fitting(part, SYSTEM)) | data


def _sound(part: Block, shape: Keys) -> Block | None:
    """A part as it can be sent, with one thing in it; None where it holds none."""
    fits: Block = fitting(part, shape)
    held = next((key for key in _DATA if key in fits and (key != "text" or fits[key])), None)
    if held is None:
        return {**_beside(fits), "text": ""} if SIGNATURE in fits else _in_words(part)
    return _beside(fits) | {held: fits[held]}


def _beside(part: Block) -> Block:
    return {key: value for key, value in part.items() if key not in _DATA}


def _in_words(part: Block) -> Block | None:
    """A medium whose data is none, as a note."""
    read = part_of(part)
    return {"text": noted(read)} if read and read.kind in MEDIA else None


def sendable_response(function: Any) -> Block:
    """A function's response as it was kept, without what cannot be sent; empty where it is none."""
    found: Block = copied(fitting(function, _DATA[RESPONSE]) or {})
    return {key: value for key, value in found.items() if key != "parts" or value}
