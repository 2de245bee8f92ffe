"""The newest record of a kind: looked for from the end of a conversation on, since it mostly stands there."""

from turnledger.domain.records import KeptRecord
from turnledger.store import ConversationStore

_WIDER = 8


def newest_record(
    store: ConversationStore, conversation_id: str, version: int, kind: str
) -> KeptRecord | None:
    """None where there is none, or where the conversation was cleared since; `version` is the newest one."""
    back = 1
    while True:
        after = max(version - back, 0)
        found = store.records(conversation_id, kind, after=after)
        if found or not after:
            return found[-1] if found else None
        back *= _WIDER
