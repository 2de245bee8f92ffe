"""The newest record of a kind: looked for from the end of a conversation on, since it mostly stands there."""

from typing import Any

from turnledger.domain.events import ConversationCleared, RecordKept
from turnledger.domain.records import KeptRecord
from turnledger.store import ConversationStore

_WIDER = 8


def newest_record(
    store: ConversationStore, conversation_id: str, version: int, kind: str
) -> RecordKept | None:
    """None where there is none, or where the conversation was cleared since; `version` is the newest one.

    What it costs is how far from the end it stands, and not how long the log is.
    """
    to, back = version, 1
    while to > 0:
        after = max(version - back, 0)
        for event in reversed(list(store.events(conversation_id, after=after, to=to))):
            if isinstance(event, ConversationCleared):
                return None
            if isinstance(event, RecordKept) and event.kind == kind:
                return event
        to, back = after, back * _WIDER
    return None


async def newest_kept(store: Any, conversation_id: str, kind: str) -> KeptRecord | None:
    """The same, of a store that is awaited. Raises `ConversationNotFound`."""
    version, back = await store.version(conversation_id), 1
    while True:
        after = max(version - back, 0)
        found: list[KeptRecord] = await store.records(conversation_id, kind, after=after)
        if found or not after:
            return found[-1] if found else None
        back *= _WIDER
