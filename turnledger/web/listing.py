"""The list of conversations, a page of it: what each is called, how long it is, what waits in it."""

import logging
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from turnledger.domain.errors import (
    ConversationNotFound,
    NotReadModels,
    StoreBusy,
    StoreDamaged,
    StoreUnwritable,
    TurnledgerError,
)
from turnledger.infrastructure.read_models import ReadModels
from turnledger.infrastructure.reading import ConversationSummary
from turnledger.projections.inbox import Kind
from turnledger.projections.legible import legible
from turnledger.store import ConversationStore
from turnledger.web.addresses import Addresses, listed
from turnledger.web.shown import Mark

log = logging.getLogger("turnledger")

ROWS = 50
REMEMBERED = 5_000
CATCHING_UP_S = 1.0
_WAITING: Mapping[Kind, tuple[str, str]] = {
    "call": ("open call", "open calls"),
    "placeholder": ("placeholder", "placeholders"),
    "held": ("held", "held"),
    "take": ("open take", "open takes"),
}


@dataclass(frozen=True, slots=True)
class ListRow:
    """One conversation of the list; `marks` say what waits in it."""

    conversation_id: str
    name: str
    address: str
    version: int
    entries: int
    updated_at: datetime | None
    marks: tuple[Mark, ...]


@dataclass(frozen=True, slots=True)
class Page:
    """A page of the list, and the address of the next one."""

    rows: Sequence[ListRow]
    saying: str
    more: str | None


class Listing:
    """Makes pages, and remembers what waited in a conversation until that has grown."""

    def __init__(self, store: ConversationStore, read_models: ReadModels | None = None) -> None:
        self._store = store
        self._read_models = read_models
        self._searching = threading.Lock()
        self._marks: dict[str, tuple[int, tuple[Mark, ...]]] = {}

    def page(self, saying: str = "", after: str | None = None) -> Page:
        """Those behind `after`; with `saying` those whose id or messages hold it."""
        found = self._found(saying.strip(), after)
        rows = [self._row(one) for one in found[:ROWS]]
        more = listed(saying, rows[-1].conversation_id) if len(found) > ROWS else None
        return Page(rows, saying, more)

    def _found(self, saying: str, after: str | None) -> Sequence[ConversationSummary]:
        """One more than a page has; searched for in the read models, or in the log where there are none."""
        if saying and self._read_models is not None:
            try:
                return self._searched(self._read_models, saying, after)
            except (NotReadModels, StoreDamaged, StoreUnwritable) as error:
                log.warning("the log is searched without read models: %s", error)
        return list(islice(self._store.conversations(after=after, saying=saying or None), ROWS + 1))

    def _searched(
        self, read_models: ReadModels, saying: str, after: str | None
    ) -> Sequence[ConversationSummary]:
        with self._searching:
            with suppress(StoreBusy):  # another follower is at it
                read_models.catch_up(within_s=CATCHING_UP_S)
            return read_models.conversations(saying=saying, after=after, limit=ROWS + 1)

    def _row(self, one: ConversationSummary) -> ListRow:
        return ListRow(
            one.conversation_id,
            legible(one.conversation_id),
            Addresses(one.conversation_id).newest,
            one.version,
            one.entries,
            one.updated_at,
            self._waiting(one),
        )

    def _waiting(self, one: ConversationSummary) -> tuple[Mark, ...]:
        version, marks = self._marks.get(one.conversation_id, (0, ()))
        if version != one.version or not version:
            marks = self._read(one.conversation_id)
            if len(self._marks) >= REMEMBERED:
                self._marks.clear()
            self._marks[one.conversation_id] = (one.version, marks)
        return marks

    def _read(self, conversation_id: str) -> tuple[Mark, ...]:
        try:
            items = self._store.open_calls(conversation_id)
        except ConversationNotFound:
            return ()
        except TurnledgerError as error:
            log.warning("%s", error)
            return (Mark("damaged", "damaged"),)
        counts = Counter(item.kind for item in items)
        return tuple(
            Mark(f"{counts[kind]} {nouns[counts[kind] != 1]}", kind)
            for kind, nouns in _WAITING.items()
            if counts[kind]
        )
