"""Which kept blocks of Anthropic's can be sent, and as what."""

from collections.abc import Mapping
from typing import Any

from turnledger.projections.parts import MEDIA, noted, part_of
from turnledger.projections.providers.anthropic_shapes import INSIDE, RESULT
from turnledger.projections.providers.keeping import Block
from turnledger.projections.providers.shapes import Kinds, fitting


def sendable_blocks(blocks: list[Any], kinds: Kinds) -> list[Block]:
    """The blocks that fit one of these kinds; of a server's call and its result both or neither."""
    sound = [_sound(block, kinds) for block in blocks]
    lost = {_paired(block) for block, one in zip(blocks, sound, strict=True) if one is None} - {None}
    return [one for one in sound if one is not None and _paired(one) not in lost]


def sendable_result(result: Block) -> Block | None:
    """A result, with what of its content fits; None where its content is nothing that can be sent."""
    content = result.get("content")
    if isinstance(content, list):
        inside = [sound for block in content if (sound := _sound(block, INSIDE)) is not None]
        result = {**result, "content": inside}
    fits: Block | None = fitting(result, RESULT)
    return fits if fits is not None and (content is None or fits.get("content")) else None


def _sound(block: Any, shape: Kinds) -> Block | None:
    """A block as it can be sent; a medium that cannot be, as a note."""
    fits: Block | None = fitting(block, shape)
    if fits is not None:
        return fits
    part = part_of(block)
    return {"type": "text", "text": noted(part)} if part and part.kind in MEDIA else None


def _paired(block: Any) -> str | None:
    """The id that a server's call and its result share."""
    key = server_id_key(block)
    return block[key] if key and isinstance(block.get(key), str) else None


def server_id_key(block: Mapping[str, Any]) -> str | None:
    """Where a server's call, or its result, has its id; None for any other block."""
    kind = block.get("type")
    if not isinstance(kind, str):
        return None
    if kind.endswith("_tool_result"):
        return "tool_use_id"
    return "id" if kind.endswith("_tool_use") else None
