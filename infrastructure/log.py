"""What a log is to those that work with it, whichever database keeps it.

A `Datastore` lends a `Log` for a block: to read by, to the one writer whose turn it is, or to a writer that
first reads what it decides on. What is recorded is recorded by a `Recorder`, whole or not at all.
"""

import json
import random
import re
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol

from eventsourcing.persistence import Notification, StoredEvent

from turnledger.domain.events import ArtifactsHeld, ArtifactsTaken
from turnledger.infrastructure.faults import busy

FORMAT = 1
VERSION_MAX = 2**62
LISTED = (ArtifactsHeld.TOPIC, ArtifactsTaken.TOPIC)
"""The topics by which conversations are looked for: a partial index, where there is one, finds them."""
IS_LISTED = " OR ".join(f"topic = '{topic}'" for topic in LISTED)
_PAUSE_S = (0.0005, 0.004)
_WILD = re.compile(r"([\\%_])")
_ESCAPED = r"\\\1"
_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")


def pattern_of(text: str, *, doubled: bool = False) -> str:
    """What a row that holds a text looks like to LIKE: the text as JSON has it, perhaps each backslash twice.

    Letters that LIKE cannot fold may be any.
    """
    escaped = json.dumps(text, ensure_ascii=False)[1:-1]
    if doubled:
        escaped = escaped.replace("\\", "\\\\")
    return f"%{_NOT_ASCII.sub('%', _WILD.sub(_ESCAPED, escaped))}%"


def having(topic: str | None) -> str:
    """The condition that a row has a topic: as a literal, so that the partial index answers to it."""
    return "" if topic is None else f" AND topic = '{topic}'"


class Overtaken(Exception):
    """Another writer was first, or the row before is not there: look again, and decide again."""


class Unsettled(Overtaken):
    """Whether the rows were recorded is not known: the answer was lost. Look whether they are there.

    Until a row of their version is there, they may still come.
    """


class Deadline:
    """The end of one call's patience, retries included."""

    def __init__(self, timeout_s: float) -> None:
        self.timeout_s = timeout_s
        self._end = time.monotonic() + timeout_s

    @property
    def left_s(self) -> float:
        return max(0.0, self._end - time.monotonic())

    def pause(self, place: str) -> None:
        """A short wait before another try; raises `StoreBusy` where there is no time for one.

        SQLite's own busy handler waits up to 0.1 s a try, so that busy writers starve the others.
        """
        if not self.left_s:
            raise busy(place, self.timeout_s)
        time.sleep(min(self.left_s, random.uniform(*_PAUSE_S)))


class Mark(Protocol):
    """A moment of the log: equal to another where nobody else has written in between."""

    @property
    def caught_up(self) -> "Mark":
        """What is to be compared with later, once all that the moment showed is read."""


class UpToDate:
    """The mark of somebody who knew all that there was; whoever has caught up compares with that."""

    def __init__(self, *, known: bool) -> None:
        self._known = known

    @property
    def caught_up(self) -> "UpToDate":
        return ALL_KNOWN

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UpToDate) and self._known and other._known

    __hash__ = object.__hash__


ALL_KNOWN, MORE = UpToDate(known=True), UpToDate(known=False)


class Parcel(NamedTuple):
    """A segment as it is kept beside the log."""

    version: int
    format: int
    digest: str
    row_bytes: int
    checksum: int
    changes: bytes


class Log(Protocol):
    """The rows of the log, as one connection sees them."""

    def transaction(self) -> AbstractContextManager[None]:
        """A block of which all is recorded or nothing, where a recorder needs one for that."""

    def rows(
        self, conversation_id: str, *, after: int = 0, to: int | None = None, limit: int = -1
    ) -> list[StoredEvent]:
        """The rows of a conversation behind version `after`, up to `to`, in order; all with limit -1."""

    def mark(self, conversation_id: str, version: int) -> Mark:
        """This moment, for somebody who knows the conversation up to a version."""

    def has(self, conversation_id: str, version: int) -> bool:
        """Whether a conversation has an event of that version."""

    def version(self, conversation_id: str) -> int:
        """The version of a conversation, 0 for none."""

    def rows_of(self, conversation_id: str, topic: str, *, after: int = 0) -> list[StoredEvent]:
        """The rows of a conversation behind version `after` that have one topic, in order."""

    def rows_saying(self, conversation_id: str, topics: Sequence[str], text: str) -> list[StoredEvent]:
        """The rows of these topics that may hold a text, and others: who asks looks into them."""

    def counted(self, conversation_id: str, topics: Sequence[str], *, after: int = 0) -> int:
        """How many rows of these topics a conversation has behind version `after`."""

    def row_bytes(self, conversation_id: str, to: int) -> tuple[int, int]:
        """How many rows there are up to a version, and their bytes."""

    def conversation_ids(self, after: str | None, limit: int, topic: str | None = None) -> list[str]:
        """The ids of conversations behind `after`, in their order; of those that have an event of a `topic`
        with one, which is one of `LISTED`."""

    def keep(self, conversation_id: str, parcels: Sequence[Parcel]) -> None:
        """Keeps segments; one that is there already is the same. A log may keep none."""

    def kept(self, conversation_id: str, to: int | None = None) -> list[Parcel]:
        """The segments that are kept, up to a version, in order."""


class Datastore(Protocol):
    """Lends the log, each time for a block. Raises `StoreBusy`, `StoreClosed` and `StoreUnreachable`."""

    def reading(self, deadline: Deadline) -> AbstractContextManager[Log]:
        """The log to read by, each statement for itself."""

    def turn(self, deadline: Deadline, conversation_id: str) -> AbstractContextManager[Log]:
        """The log for a writer of the conversation whose turn it is in this process."""

    def writing(self, deadline: Deadline, conversation_id: str) -> AbstractContextManager[Log]:
        """The log for a writer whom no other overtakes, as far as the database can see to that."""


class Recorder(Protocol):
    """eventsourcing's recorder of a store of ours."""

    @property
    def datastore(self) -> Any: ...

    def insert(self, log: Any, rows: Sequence[StoredEvent]) -> None:
        """Records rows of one conversation, each behind the one before it; of several all or none.

        Raises `Overtaken`, and `Unsettled` where the answer was lost.
        """

    def copy(self, log: Any, rows: Sequence[StoredEvent]) -> None:
        """Records rows of any conversations in their order, all or none, as they were elsewhere."""

    def select_notifications(
        self,
        start: int | None,
        limit: int,
        stop: int | None = None,
        topics: Sequence[str] = (),
        *,
        inclusive_of_start: bool = True,
        settled: bool = True,
    ) -> Sequence[Notification]:
        """The rows of all conversations from a place in the log on, in their order.

        With `settled` only those before which no other can come in any more, as a follower needs them.
        """

    def max_notification_id(self) -> int | None:
        """The newest place in the log; None where it holds nothing."""
