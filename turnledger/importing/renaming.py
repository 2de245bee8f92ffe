"""The one conversation of a file under an id that the caller wants, whatever id it brings."""

from collections.abc import Iterator
from dataclasses import replace

from turnledger.importing.transcripts import BadLine, Transcript


def renamed(items: Iterator[Transcript | BadLine], wanted: str) -> Iterator[Transcript | BadLine]:
    """What `read_transcripts` gives, its only conversation as `wanted` and its sidechains as `wanted/…`.

    Where a second conversation follows, each keeps its own id: one id cannot name two.
    """
    held: list[Transcript | BadLine] = []
    only: str | None = None
    for item in items:
        if isinstance(item, Transcript):
            only = item.conversation_id if only is None else only
            if not f"{item.conversation_id}/".startswith(f"{only}/") or _stands_in(held, item):
                yield from [*held, item]
                yield from items
                return
        held.append(item)
    yield from (_under(wanted, str(only), item) for item in held)


def _under(wanted: str, only: str, item: Transcript | BadLine) -> Transcript | BadLine:
    if isinstance(item, BadLine):
        return item
    return replace(item, conversation_id=wanted + item.conversation_id[len(only) :])


def _stands_in(held: list[Transcript | BadLine], item: Transcript) -> bool:
    """Whether another conversation has the same id."""
    return any(isinstance(one, Transcript) and one.conversation_id == item.conversation_id for one in held)
