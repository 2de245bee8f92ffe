"""Which conversations say something: found in the log itself, without an index to keep.

The database passes over the rows that cannot say it; the rest is decoded and looked at. A search reads every
row of the conversations that it goes through, so it is asked for page by page.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from turnledger.domain.errors import CorruptEvent, NewerLog, StoreDamaged
from turnledger.domain.events import (
    ConversationForked,
    DomainEvent,
    MessageAppended,
    PlaceholderReplaced,
    SummaryInserted,
)
from turnledger.infrastructure.application import ConversationApplication
from turnledger.projections.legible import spoken

SAYING = (MessageAppended, PlaceholderReplaced, SummaryInserted, ConversationForked)


def conversations_saying(
    application: ConversationApplication, text: str, after: str | None = None
) -> Iterator[str]:
    """The ids behind `after`, in their order, of conversations whose id or messages hold the text.

    Upper and lower case are the same. One that is damaged is found by what can be read of it.
    """
    text = text.strip()
    for conversation_id in application.conversation_ids(after=after):
        if text.casefold() in conversation_id.casefold() or _says(application, conversation_id, text):
            yield conversation_id


def _says(application: ConversationApplication, conversation_id: str, text: str) -> bool:
    topics = [event.TOPIC for event in SAYING]
    try:
        with application.read_log() as log:
            rows = log.rows_saying(conversation_id, topics, text)
    except StoreDamaged:
        return False
    wanted = text.casefold()
    for row in rows:
        try:
            event = application.mapper.decoded(row)
        except (CorruptEvent, NewerLog):
            continue
        if any(wanted in said.casefold() for said in _said(event)):
            return True
    return False


def _said(event: DomainEvent) -> Iterator[str]:
    for message in event.entries if isinstance(event, ConversationForked) else [event]:
        yield spoken(getattr(message, "content", None))
        yield from _texts(getattr(message, "metadata", {}).values())


def _texts(values: Iterable[Any]) -> Iterator[str]:
    """Every text and number in JSON values, keys left aside."""
    for value in values:
        if isinstance(value, dict):
            yield from _texts(value.values())
        elif isinstance(value, list):
            yield from _texts(value)
        elif value is not None and not isinstance(value, bool):
            yield str(value)
