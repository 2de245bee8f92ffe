"""The anatomy that formats of blocks share: a message is a list of them, results in the user's next one."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from turnledger.domain.values import digest
from turnledger.importing.doctor import findings as kinds
from turnledger.importing.doctor.anatomy import Anatomy, Change, Piece, Side
from turnledger.importing.doctor.findings import quoted


class BlockAnatomy(Anatomy):
    """`sides` are the sides by role, `key` is that of a message's list of blocks."""

    sides: Mapping[str, Side] = {"user": "user", "assistant": "assistant", "system": "system"}
    key = "content"

    def piece(self, block: Any, place: int) -> Piece:
        """One block as a piece."""
        raise NotImplementedError

    def text_block(self, text: str) -> dict[str, Any]:
        """A text as a block."""
        raise NotImplementedError

    def side(self, message: Mapping[str, Any]) -> Side | None:
        return self.sides.get(str(message.get("role")))

    def pieces(self, message: Mapping[str, Any]) -> list[Piece]:
        content = message.get(self.key)
        if isinstance(content, list):
            return [self.piece(block, place) for place, block in enumerate(content)]
        text = content if isinstance(content, str) else ""
        return [Piece("text", content, (self.key,), text=text)]

    def rebuilt(self, message: dict[str, Any], pieces: Sequence[Piece]) -> dict[str, Any]:
        return {**message, self.key: self.blocks([piece.raw for piece in pieces])}

    def blocks(self, content: Any) -> list[Any]:
        """Content as blocks."""
        found = content if isinstance(content, list) else [content]
        return [self.text_block(one) if isinstance(one, str) else one for one in found]

    def carrier(self, results: Sequence[Piece], after: Mapping[str, Any]) -> dict[str, Any]:
        return {"role": "user", self.key: [piece.raw for piece in results]}

    def opening(self, first: Mapping[str, Any]) -> dict[str, Any]:
        return self.rebuilt({"role": "user"}, [Piece("text", super().opening(first)["content"])])

    def prompted(self, prompt: Any, systems: Sequence[dict[str, Any]]) -> Any:
        contents = [*([prompt] if prompt else []), *(message[self.key] for message in systems)]
        return [block for content in contents for block in self.blocks(content)]


def with_taken_id(
    work: Mapping[str, Any], key: str, takes: Callable[[Any], bool], shaped: Callable[[str], str]
) -> Change | None:
    """A server's call, or its result, whose id is not taken: equal ids become the same new one."""
    given = work.get(key)
    if takes(given):
        return None
    new = shaped(digest(str(given)))
    remedy, raw = f"the call and its result have the id {quoted(new)}", {**work, key: new}
    if given is None:
        return Change(kinds.MISSING_ID, "it has no id", remedy, raw)
    reason = f"the id {quoted(str(given))} has characters or a length that is not taken"
    return Change(kinds.UNUSABLE_ID, reason, remedy, raw)
