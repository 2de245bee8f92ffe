"""A conversation on stock eventsourcing, as its tutorial would write it."""

from typing import Any
from uuid import UUID

from eventsourcing.domain import Aggregate, event


class StockConversation(Aggregate):
    @event("Started")
    def __init__(self, conversation_id: UUID) -> None:
        self.conversation_id = conversation_id
        self.messages: list[dict[str, Any]] = []

    @staticmethod
    def create_id(conversation_id: UUID) -> UUID:
        return conversation_id

    @event("MessageAppended")
    def append(self, message: dict[str, Any]) -> None:
        self.messages.append(message)
