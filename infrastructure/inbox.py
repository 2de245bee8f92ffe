"""The inbox over many conversations: each read as far as it has to be.

The buffer alone says whether a call may be open; only where one may, or where artifacts were ever held, the
conversation is read whole.
"""

import logging
from collections.abc import Collection
from datetime import datetime

from turnledger.domain.errors import TurnledgerError
from turnledger.domain.events import ArtifactsHeld
from turnledger.domain.identifiers import checked_id
from turnledger.infrastructure.application import ConversationApplication
from turnledger.projections.inbox import Inbox, InboxItem, oldest_first

log = logging.getLogger("turnledger")


def inbox(
    application: ConversationApplication, asked: str | Collection[str] | None, now: datetime
) -> list[InboxItem]:
    """What waits in one conversation, in several, or in all, oldest first.

    Of several one that cannot be read is named in a log record and passed over.
    """
    if isinstance(asked, str):
        return oldest_first(_items(application, Inbox(asked, now), [asked]))
    holding = set(application.conversation_ids(ArtifactsHeld.TOPIC)) if asked is None else set(asked)
    items: list[InboxItem] = []
    for found in application.conversation_ids() if asked is None else asked:
        try:
            items += _items(application, Inbox(checked_id("conversation_id", found), now), holding)
        except TurnledgerError as error:
            log.warning("what waits in conversation %r is not known: %s", found, error)
    return oldest_first(items)


def _items(application: ConversationApplication, inbox: Inbox, holding: Collection[str]) -> list[InboxItem]:
    with application.reading(inbox.conversation_id) as live:
        calls = inbox.calls(live.buffer.rows())
    if inbox.conversation_id not in holding and not any(item.kind == "call" for item in calls):
        return calls
    with application.reading(inbox.conversation_id, whole=True) as live:
        calls = [
            item
            for item in inbox.calls(live.buffer.rows())
            # an answer that left the buffer before the call came is one all the same
            if item.kind == "placeholder" or item.id in live.conversation.open_calls
        ]
        return calls + inbox.artifacts(live.artifacts)
