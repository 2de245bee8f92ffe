"""Heads, read from the rows themselves: one row, however long the log is."""

from turnledger.domain.errors import ConversationNotFound, CorruptEvent
from turnledger.domain.heads import Head
from turnledger.infrastructure.application import ConversationApplication
from turnledger.infrastructure.comparing import Station
from turnledger.infrastructure.mapper import digest_of


def head_of(application: ConversationApplication, conversation_id: str) -> Head:
    """The head of a conversation as of now. Raises `ConversationNotFound`."""
    version = application.version(conversation_id)
    if not version:
        raise ConversationNotFound(f"there is no conversation {conversation_id!r}")
    return head_at(application, Station(conversation_id, version))


def head_at(application: ConversationApplication, station: Station) -> Head:
    """What the head was at a version."""
    conversation_id, version = station
    with application.read_log() as log:
        rows = log.rows(conversation_id, after=version - 1, to=version)
    if not rows:
        raise CorruptEvent(conversation_id, version, "the event is missing")
    return Head(conversation_id, version, digest_of(rows[0].state))
