"""The end of a session's buffer that reads alone as it does among the whole: for a limit, at its own cost.

It begins with the user's word, so that no response is cut, and nothing that stands before it bears on it: no
call of it was declared or answered there, and no result in it answers a call from there.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from turnledger.adapters.openai_agents_seen import Seen
from turnledger.domain.messages import call_id, declared_by, id_of_call
from turnledger.projections.buffer import Entry
from turnledger.projections.providers.keeping import kept_blocks
from turnledger.projections.providers.openai_items import CALLS, CUSTOM, FUNCTION, type_of
from turnledger.projections.providers.openai_responses import NAME

_ROLES = ("user", "assistant", "tool")


def end_of(entries: Sequence[Entry], seen: Seen) -> list[dict[str, Any]]:
    """What of these newest entries reads alone; nothing where there is no such end.

    Without system messages: among the whole these come first.
    """
    first = next((place for place, entry in enumerate(entries) if entry.role == "user"), len(entries))
    end = [entry for entry in entries[first:] if entry.role in _ROLES]
    return [entry.stored for entry in end] if _is_apart(end, seen) else []


def _is_apart(end: Sequence[Entry], seen: Seen) -> bool:
    numbers = {entry.number for entry in end}
    declared = {usable for entry in end for usable in _declared(entry.role, entry.metadata)}
    answered = {usable for entry in end if (usable := _answered(entry))}
    return (
        answered <= declared
        and all(seen.results.get(one, numbers) <= numbers for one in declared)
        and all(turn.number in numbers for one in declared for turn in _declaring(one, seen))
        and not any(_is_of_a_kind(entry) for entry in end)
    )


def _declaring(usable: str, seen: Seen) -> Iterator[Any]:
    """The turns that have a call under this id as its own."""
    return (turn for turn in seen.named([usable]) if usable in _declared("assistant", turn.metadata))


def _declared(role: str, metadata: dict[str, Any]) -> list[str]:
    return [usable for call in declared_by(role, metadata) if (usable := id_of_call(call))]


def _answered(entry: Entry) -> str | None:
    return call_id(entry.metadata.get("tool_call_id")) if entry.role == "tool" else None


def _is_of_a_kind(entry: Entry) -> bool:
    """Whether a call of a tool of the service's stands in a turn: how it is sent is told by all before it."""
    kinds = (type_of(block) for block in kept_blocks(NAME, entry.metadata) or ())
    return entry.role == "assistant" and any(k in CALLS and k not in (FUNCTION, CUSTOM) for k in kinds)
