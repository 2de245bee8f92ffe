"""Forking: a conversation that begins with the state of another at a version.

Its first event carries that state, so that it reads right whatever becomes of its source: the entries of the
buffer, and of those that left it the turns and results whose calls decisions know. What is held or in an open
take stays with the source, and so do idempotency keys; a delivery counts there, and is referred to by ids.
"""

from dataclasses import dataclass
from typing import Any

from turnledger.domain.changes import Changes
from turnledger.domain.conversation import Conversation
from turnledger.domain.errors import ConversationExists, InvalidArgument
from turnledger.domain.events import ConversationForked
from turnledger.domain.messages import ENCODED_BYTES_MAX


@dataclass(frozen=True, slots=True, kw_only=True)
class ForkResult:
    """What a fork made: conversation `conversation_id`, at `version` 1, with `count` entries in its buffer,
    from version `source_version` of `source_id`, whose event there has the digest `source_digest`."""

    conversation_id: str
    version: int
    count: int
    source_id: str
    source_version: int
    source_digest: str


def carried_numbers(source: Conversation) -> set[int]:
    """The entries that a fork has from its source: those of the buffer, and those of known calls."""
    return {*source.buffer, *(number for number, facts in source.entries.items() if facts.call_ids)}


def fork(changes: Changes, source: Conversation, **carried: Any) -> None:
    """Records the beginning of the fork. Raises `ConversationExists` where there is one already."""
    conversation_id = changes.origin.conversation_id
    if changes.state.version:
        raise ConversationExists(
            f"there is a conversation {conversation_id!r} already: fork into an id that is free"
        )
    if source.time is not None:
        changes.not_before(source.time)
    changes.record(
        ConversationForked,
        started_id=conversation_id,
        source_version=source.version,
        window=source.window,
        buffer=list(source.buffer),
        newest_entry=source.newest_entry,
        newest_user=source.newest_user,
        newest_turn=source.calls.newest_turn,
        **carried,
    )


def refuse_oversized_fork(event: ConversationForked, encoded_bytes: int) -> None:
    """Raises `InvalidArgument` for a state that no row should hold."""
    if encoded_bytes > ENCODED_BYTES_MAX:
        raise InvalidArgument(
            f"version {event.source_version} of conversation {event.source_id!r} takes {encoded_bytes:,} "
            f"bytes to carry over; {ENCODED_BYTES_MAX:,} are the most: fork an earlier one, or compact it"
        )
