"""A moment: all that one version of a conversation shows, and what its last event changed, in one fold.

For who walks through a conversation: a step forward costs what one event does. Reading the log, and what is
done about damage, is for who feeds it.
"""

from typing import Any

from turnledger.domain.events import (
    CallHealed,
    CarriedEntry,
    ConversationForked,
    DomainEvent,
    MessageAppended,
    PlaceholderReplaced,
)
from turnledger.domain.messages import declared_by, id_of_call, name_of_call
from turnledger.domain.pairing import Drop
from turnledger.projections.buffer import BufferView
from turnledger.projections.held import ArtifactsView
from turnledger.projections.history import HistoryFold, HistoryRow


class Moment:
    """A fold: feed it the events of one conversation in order, the last of them with `last=True`.

    `row` tells what that last event changed, None at version 0. `names` says by its id what a call is called.
    `healed` and `replaced` say of an entry at which version it became a placeholder, and at which its real
    result came.
    """

    def __init__(self) -> None:
        self._history = HistoryFold()
        self.version = 0
        self.artifacts = ArtifactsView()
        self.row: HistoryRow | None = None
        self.names: dict[str, str] = {}
        self.healed: dict[int, int] = {}
        self.replaced: dict[int, int] = {}

    def apply(self, event: DomainEvent, *, last: bool = True) -> None:
        if event.version <= self.version:
            return
        if last:
            self.row = self._history.row(event)
        else:
            self._history.pass_over(event)
        self.artifacts.apply(event)
        self.version = event.version
        match event:
            case MessageAppended():
                self._name(event)
            case ConversationForked():
                for carried in event.entries:
                    self._name(carried)
            case CallHealed():
                self.healed[event.entry] = event.version
            case PlaceholderReplaced():
                self.replaced[event.entry] = event.version

    @property
    def buffer(self) -> BufferView:
        return self._history.buffer

    def sendable(self) -> tuple[list[dict[str, Any]], list[Drop]]:
        """The list that a provider accepts, sharing its messages with this fold, and what it leaves out."""
        return self._history.sendable.read(self.buffer)

    def _name(self, message: MessageAppended | CarriedEntry) -> None:
        for call in declared_by(message.role, message.metadata):
            if declared := id_of_call(call):
                self.names[declared] = name_of_call(call)
