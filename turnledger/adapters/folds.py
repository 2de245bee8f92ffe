"""What was read of conversations, kept so that a next reading costs what is new.

Each conversation is folded by its events into what an adapter asks about; the ones that were not read for
longest are let go, and read anew.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable
from threading import Lock
from typing import Any, Generic, Protocol, Self, TypeVar

from turnledger.domain.errors import ConversationNotFound
from turnledger.domain.events import DomainEvent

CONVERSATIONS_MAX = 1_000


class Fold(Protocol):
    """A conversation as of `version`; `told` is what it is with one more event, which may be known."""

    version: int

    def told(self, event: DomainEvent) -> Self: ...


F = TypeVar("F", bound=Fold)


class Folds(Generic[F]):
    """The folds by conversation. May be shared by tasks and threads: each event is folded once."""

    def __init__(self, begun: Callable[[], F]) -> None:
        self._begun = begun
        self._known: OrderedDict[str, F] = OrderedDict()
        self._folding = Lock()

    def of(self, conversation_id: str) -> F:
        """As it was read last; as it begins, where it was not."""
        return self._known.get(conversation_id) or self._begun()

    def read_on(self, conversation_id: str, fold: F, events: Iterable[DomainEvent]) -> F:
        """The fold with what was read since."""
        with self._folding:
            for event in events:
                if event.version > fold.version:
                    fold = fold.told(event)
            self._known[conversation_id] = fold
            self._known.move_to_end(conversation_id)
            if len(self._known) > CONVERSATIONS_MAX:
                self._known.popitem(last=False)
        return fold

    async def now(self, store: Any, conversation_id: str) -> F:
        """As the log of an awaited store has it now; as it was known, where there is no such conversation."""
        fold = self.of(conversation_id)
        try:
            found = [event async for event in store.events(conversation_id, after=fold.version)]
        except ConversationNotFound:
            return fold
        return self.read_on(conversation_id, fold, found)
