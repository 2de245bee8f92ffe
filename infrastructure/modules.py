"""Any other persistence module of eventsourcing as the log, by nothing but its recorder's own interface.

What that interface cannot say is found by reading: the ids of conversations by following the notifications,
kept in memory from then on. There are no segments. Whatever goes wrong with an insert but a conflict leaves
it open whether it happened, so it is looked for.
"""

import threading
from bisect import bisect_right, insort
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any

from eventsourcing.persistence import (
    ApplicationRecorder,
    InfrastructureFactory,
    InfrastructureFactoryError,
    IntegrityError,
    PersistenceError,
    StoredEvent,
)
from eventsourcing.utils import Environment

from turnledger.domain.errors import InvalidArgument, StoreUnreachable
from turnledger.infrastructure.log import ALL_KNOWN, MORE, Deadline, Overtaken, Parcel, Unsettled, UpToDate
from turnledger.infrastructure.places import Opening

PAGE_ROWS = 500


@dataclass(frozen=True, slots=True)
class ModuleLocation:
    """A persistence module, and the settings that it reads, of which no error says anything."""

    module: str
    settings: Mapping[str, str] = field(repr=False)
    read_only: bool = False
    timeout_s: float = 5.0

    @classmethod
    def of(cls, module: str, settings: Mapping[str, str], opening: Opening) -> "ModuleLocation":
        if opening.durability != "full":
            raise InvalidArgument(
                "durability is for SQLite and PostgreSQL: a persistence_module has its own settings"
            )
        if not opening.create:
            raise InvalidArgument(
                "create=False is for SQLite and PostgreSQL: a persistence_module cannot say"
            )
        if not all(isinstance(text, str) for pair in settings.items() for text in pair):
            raise InvalidArgument("persistence_settings map names to texts, as environment variables do")
        return cls(module, dict(settings), opening.read_only, opening.timeout_s)

    @property
    def place(self) -> str:
        return self.module


class ModuleFactory:
    """Makes eventsourcing's factory of the module, and its recorder ours."""

    def __init__(self, location: ModuleLocation) -> None:
        environment = {
            "ORIGINATOR_ID_TYPE": "text",
            **location.settings,
            "PERSISTENCE_MODULE": location.module,
        }
        self._location = location
        try:
            self._made = InfrastructureFactory[Any].construct(Environment("turnledger", environment))
        except (InfrastructureFactoryError, ImportError, AttributeError) as error:
            raise InvalidArgument(
                f"persistence_module={location.module!r} cannot be imported, or is no persistence module"
            ) from error
        except OSError as error:  # settings that it misses; whatever else it says may hold a password
            raise InvalidArgument(
                f"{location.module} misses something in persistence_settings: {type(error).__name__}"
            ) from error

    def application_recorder(self) -> "ModuleRecorder":
        return ModuleRecorder(self._made.application_recorder(), self._location)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._made, name)


class Conversations:
    """The ids of all conversations and the topics of their events, read from the notifications."""

    def __init__(self, recorder: ApplicationRecorder) -> None:
        self._recorder = recorder
        self._lock = threading.Lock()
        self._position: int | None = None
        self._ids: list[str] = []
        self._topics: dict[str, set[str]] = {}

    def behind(self, after: str, limit: int, topic: str | None) -> list[str]:
        with self._lock:
            self._follow()
            found = self._ids[bisect_right(self._ids, after) :]
            return [one for one in found if topic is None or topic in self._topics[one]][:limit]

    def _follow(self) -> None:
        while True:
            notifications = self._recorder.select_notifications(
                self._position, PAGE_ROWS, inclusive_of_start=self._position is None
            )
            for one in notifications:
                conversation_id = str(one.originator_id)
                if conversation_id not in self._topics:
                    insort(self._ids, conversation_id)
                self._topics.setdefault(conversation_id, set()).add(one.topic)
                self._position = one.id
            if len(notifications) < PAGE_ROWS:
                return


class ModuleDatastore:
    """Lends the log; turns and locks are what the module makes of them."""

    def __init__(self, recorder: ApplicationRecorder, location: ModuleLocation) -> None:
        self._recorder = recorder
        self._conversations = Conversations(recorder)
        self._location = location

    def reading(self, deadline: Deadline) -> AbstractContextManager["ModuleLog"]:
        return nullcontext(ModuleLog(self._recorder, self._conversations, self._location.place, deadline))

    def turn(self, deadline: Deadline, conversation_id: str) -> AbstractContextManager["ModuleLog"]:
        return self.reading(deadline)

    writing = turn


class ModuleLog:
    """The rows of the log, as the recorder gives them."""

    def __init__(
        self, recorder: ApplicationRecorder, conversations: Conversations, place: str, deadline: Deadline
    ) -> None:
        self._recorder = recorder
        self._conversations = conversations
        self._place = place
        self._deadline = deadline

    def transaction(self) -> AbstractContextManager[None]:
        return nullcontext()

    @contextmanager
    def _asked(self) -> Iterator[None]:
        try:
            yield
        except PersistenceError as error:
            raise StoreUnreachable(
                f"{self._place} does not answer ({type(error).__name__}); nothing was recorded, try again"
            ) from error

    def _select(self, conversation_id: str, **bounds: Any) -> list[StoredEvent]:
        with self._asked():
            return list(self._recorder.select_events(conversation_id, **bounds))

    def rows(
        self, conversation_id: str, *, after: int = 0, to: int | None = None, limit: int = -1
    ) -> list[StoredEvent]:
        return self._select(conversation_id, gt=after, lte=to, limit=None if limit < 0 else limit)

    def mark(self, conversation_id: str, version: int) -> UpToDate:
        return ALL_KNOWN if version and self.version(conversation_id) == version else MORE

    def has(self, conversation_id: str, version: int) -> bool:
        return bool(self.rows(conversation_id, after=version - 1, to=version))

    def version(self, conversation_id: str) -> int:
        found = self._select(conversation_id, desc=True, limit=1)
        return found[0].originator_version if found else 0

    def rows_of(self, conversation_id: str, topic: str, *, after: int = 0) -> list[StoredEvent]:
        return [row for row in self.rows(conversation_id, after=after) if row.topic == topic]

    def rows_saying(self, conversation_id: str, topics: Sequence[str], text: str) -> list[StoredEvent]:
        return [row for row in self.rows(conversation_id) if row.topic in topics]

    def counted(self, conversation_id: str, topics: Sequence[str], *, after: int = 0) -> int:
        return sum(row.topic in topics for row in self.rows(conversation_id, after=after))

    def row_bytes(self, conversation_id: str, to: int) -> tuple[int, int]:
        rows = self.rows(conversation_id, to=to)
        return len(rows), sum(len(row.topic) + len(row.state) for row in rows)

    def conversation_ids(self, after: str | None, limit: int, topic: str | None = None) -> list[str]:
        with self._asked():
            return self._conversations.behind(after or "", limit, topic)

    def keep(self, conversation_id: str, parcels: Sequence[Parcel]) -> None:
        """Nothing is kept beside the log."""

    def kept(self, conversation_id: str, to: int | None = None) -> list[Parcel]:
        return []


class ModuleRecorder:
    """The module's recorder, as the application records by it."""

    def __init__(self, recorder: ApplicationRecorder, location: ModuleLocation) -> None:
        self._recorder = recorder
        self.datastore = ModuleDatastore(recorder, location)

    def insert(self, log: ModuleLog, rows: Sequence[StoredEvent]) -> None:
        if not rows:
            return
        first = rows[0]
        behind = first.originator_version - 1
        if behind and not log.has(str(first.originator_id), behind):
            raise Overtaken
        self.copy(log, rows)

    def copy(self, log: ModuleLog, rows: Sequence[StoredEvent]) -> None:
        try:
            self._recorder.insert_events(list(rows))
        except IntegrityError as error:
            raise Overtaken from error
        except PersistenceError as error:
            raise Unsettled from error

    def __getattr__(self, name: str) -> Any:
        return getattr(self._recorder, name)
