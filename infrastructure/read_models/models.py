"""Read models: a file of tables for people with SQL, that follows a log and can be thrown away.

Rows and position are written in one transaction, so that whatever kills a follower changes nothing, and an
event that is delivered twice is known. Several may follow into one file: each batch begins where the file is,
so that they take turns, and one that dies is replaced by the other.
"""

import math
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from turnledger.domain.errors import InvalidArgument, NotReadModels, StoreBusy
from turnledger.infrastructure.following import Followed, Position
from turnledger.infrastructure.mapper import digest_of
from turnledger.infrastructure.read_models import schema
from turnledger.infrastructure.read_models.applying import Applying
from turnledger.infrastructure.read_models.comparing import ReadModelsReport, broken_indexes, compared
from turnledger.infrastructure.read_models.file import Mark, ReadModelFile
from turnledger.infrastructure.read_models.reading import only_reading
from turnledger.infrastructure.read_models.searching import Search, SearchHit, conversations_saying
from turnledger.infrastructure.read_models.statistics import Statistics, statistics
from turnledger.infrastructure.read_models.waiting import Waiting, waiting
from turnledger.infrastructure.reading import ConversationSummary

LOOKS_EVERY_S = 60.0
TRIES_EVERY_S = 0.1


@dataclass(frozen=True, slots=True)
class Standing:
    """How far read models have followed: up to `position`, where the log goes to `last`; `lag` events are
    still to come (at most, where a log leaves numbers out). `time` is that of the newest event followed."""

    position: int
    last: int
    time: datetime | None

    @property
    def lag(self) -> int:
        return max(self.last - self.position, 0)


Progress = Callable[[Standing], None]


class ReadModels:
    """The read models of one store in one SQLite file: `conversations`, `entries`, `calls`, `artifacts`,
    `takes`, `executions`, `requests`, `events`, and views over them.

    `path` None keeps them in a file of SQLite's own, for as long as they are open. A file that cannot be
    written is read as far as it goes: `catch_up` raises `StoreUnwritable` where it is behind. For one thread
    at a time, and to be closed. Raises `NotReadModels` for a file that holds something else, or has followed
    another log.
    """

    def __init__(self, followed: Followed, path: Path | None, *, timeout_s: float = 5.0) -> None:
        self.path = path
        self._followed = followed
        self._timeout_s = timeout_s
        self._open()

    def _open(self) -> None:
        self._file = ReadModelFile(self.path, self._timeout_s)
        self._applying = Applying(self._file.connection)
        self._recognized = False
        try:
            with self._file.errors():
                self._mark = self._file.mark()
            self._refuse_other_format()
        except BaseException:
            self._file.close()
            raise

    def _open_again_if_gone(self) -> None:
        """Who deletes the file gets a new one, not a follower that writes what nobody can see."""
        if not self._file.is_there():
            self._file.close()
            self._open()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._followed.close()
        self._file.close()

    def catch_up(
        self,
        progress: Progress | None = None,
        *,
        stop: threading.Event | None = None,
        within_s: float = math.inf,
    ) -> Standing:
        """Follows up to the newest event that there is now; calls `progress` after each batch.

        Ends after a batch when `stop` is set, or so many seconds have gone. Raises `StoreBusy` where another
        keeps the file locked, and `NotReadModels` where the log is not the one that was followed; what was
        followed by then stays.
        """
        self._open_again_if_gone()
        last, end = self._followed.last(), time.monotonic() + within_s
        while self._mark.position < last or not self._recognized:
            if (stop is not None and stop.is_set()) or time.monotonic() > end or not self._follow_once():
                break
            if progress is not None:
                progress(self.standing(last))
        return self.standing(max(last, self._mark.position))

    def follow(self, stop: threading.Event, progress: Progress | None = None) -> Standing:
        """Follows until `stop` is set: catches up, and waits for more, at no cost while nothing comes.

        `progress` is called after each batch, and at least every minute.
        """
        while not stop.is_set():
            try:
                if not self._follow_once():
                    self._followed.wait(self._mark.position, stop, LOOKS_EVERY_S)
                if progress is not None:
                    progress(self.standing())
            except (StoreBusy, ConnectionError):
                # another follows into this file, or the log is out of reach for the moment
                stop.wait(TRIES_EVERY_S)
        try:
            return self.standing()
        except ConnectionError:  # how far the log goes is not to be had
            return self.standing(self._mark.position)

    def rebuild(self, progress: Progress | None = None, *, stop: threading.Event | None = None) -> Standing:
        """Takes all rows away, and follows the log from its beginning; who reads meanwhile sees them come."""
        with self._file.errors():
            self._file.renew()
            self._mark = self._file.mark()
        self._applying.forget()
        self._recognized = False
        return self.catch_up(progress, stop=stop)

    def verify(
        self, progress: Progress | None = None, *, stop: threading.Event | None = None
    ) -> ReadModelsReport:
        """Compares every row with what the log gives anew, as far as the file has followed."""
        if self._file.is_read_only:  # to look whether a search index is whole takes a write
            with closing(self._file.copy()) as copy:
                return self._verify(copy, progress, stop)
        return self._verify(self._file, progress, stop)

    def _verify(
        self, file: ReadModelFile, progress: Progress | None, stop: threading.Event | None
    ) -> ReadModelsReport:
        with file.errors():
            with file.transaction():
                broken = broken_indexes(file)
            file.connection.execute("BEGIN")  # what is compared is as of one moment
            try:
                mark = file.mark()
                anew = ReadModels(self._followed, None)
                with closing(anew._file):
                    anew._follow_to(mark.position, progress, stop)
                    return compared(file, anew._file, anew._mark.position, broken)
            finally:
                file.connection.execute("COMMIT")

    def standing(self, last: int | None = None) -> Standing:
        """How far these have followed, and how far the log goes."""
        with self._file.errors():
            position, newest = self._file.connection.execute(
                "SELECT position, time FROM following"
            ).fetchone()
        return Standing(
            position,
            self._followed.last() if last is None else last,
            datetime.fromisoformat(newest) if newest else None,
        )

    def search(self, search: Search | str) -> list[SearchHit]:
        """What a search finds, the best first; up to where these have followed. Words alone are looked for in
        entries: `"lisbon"` is `Search("lisbon")`."""
        if isinstance(search, str):
            search = Search(search)
        if not isinstance(search, Search):
            raise InvalidArgument(
                f"give words, or Search(words, …) to narrow them down, not {type(search).__name__}"
            )
        with self._file.errors():
            return search.hits(self._file.database)

    def conversations(
        self, *, saying: str, after: str | None = None, limit: int = 50
    ) -> list[ConversationSummary]:
        """Those behind `after`, in the order of their ids, whose id holds the words, or whose messages hold
        words that begin so; evicted messages too. Without a letter or digit in the words there are none."""
        with self._file.errors():
            return conversations_saying(self._file.database, saying, after, limit)

    def waiting(self, *kinds: Waiting) -> list[str]:
        """The ids of conversations in which something waits, as far as these have followed: "call",
        "placeholder", "held" or "take", or any of them. Damaged ones too, which may hide something.

        `store.open_calls(models.waiting())` reads these alone, where without it reads every conversation.
        """
        with self._file.errors():
            return waiting(self._file.connection, kinds)

    def statistics(self) -> Statistics:
        """What there is, counted."""
        with self._file.errors():
            return statistics(self._file.database)

    def rows(self, statement: str, parameters: Iterable[Any] = ()) -> Iterator[dict[str, Any]]:
        """The rows that a statement of SQL selects, as maps. Raises `InvalidArgument` for what is no such, or
        would write."""
        with self._file.errors():
            try:
                with only_reading(self._file.connection):
                    found = self._file.database.query(statement, tuple(parameters))
            except (sqlite3.DatabaseError, sqlite3.Warning, ValueError) as error:
                code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
                if code == sqlite3.SQLITE_AUTH:
                    raise InvalidArgument(
                        "that does more than read, and rows() only reads: nothing was done"
                    ) from error
                if code != sqlite3.SQLITE_ERROR or "closed" in str(error):
                    raise
                raise InvalidArgument(f"that selects no rows: {error}") from error
            yield from found

    def _follow_once(self, to: int | None = None) -> bool:
        """Follows one batch; False where there is nothing to follow."""
        self._open_again_if_gone()
        with self._file.errors():
            try:
                return self._batch(Applying.batch, to)
            except sqlite3.Error as error:
                if not isinstance(error, sqlite3.IntegrityError):
                    raise
            except (ValueError, LookupError, TypeError, AttributeError, OverflowError) as error:
                if isinstance(error, NotReadModels):
                    raise
            return self._batch(Applying.one_by_one, to)

    def _batch(self, apply: Callable[[Applying, list[Position]], None], to: int | None) -> bool:
        if self._file.is_read_only:
            mark = self._file.mark()
            self._recognize(mark)
            self._mark = mark
        if self._recognized and self._followed.last() <= self._mark.position:
            return False
        try:
            with self._file.transaction():
                mark = self._file.mark()
                self._recognize(mark)
                found = [
                    one
                    for one in self._followed.behind(mark.position)
                    # what is delivered a second time is known by its position
                    if mark.position < one.position and (to is None or one.position <= to)
                ]
                if found:
                    apply(self._applying, found)
                    self._note(found[-1])
        except BaseException:
            self._applying.forget()
            raise
        self._mark = self._file.mark() if found else mark
        return bool(found)

    def _follow_to(self, position: int, progress: Progress | None, stop: threading.Event | None) -> None:
        while self._mark.position < position and self._follow_once(position):
            if stop is not None and stop.is_set():
                raise KeyboardInterrupt
            if progress is not None:
                progress(self.standing(position))

    def _recognize(self, mark: Mark) -> None:
        """Sees that the file is as this left it, and the log the one that the file has followed."""
        if mark != self._mark:
            self._applying.forget()
            self._refuse_other_format()
        if self._recognized and mark == self._mark:
            return
        row = self._followed.at(mark.position) if mark.position else None
        known = (mark.conversation_id, mark.version, mark.digest)
        if mark.position and (
            row is None or (row.originator_id, row.originator_version, digest_of(row.state)) != known
        ):
            raise NotReadModels(
                f"{self._file.place} has followed another log, or a later copy of this one: name another "
                "file, or rebuild it"
            )
        self._recognized = True

    def _refuse_other_format(self) -> None:
        if self._mark.format != schema.FORMAT:
            raise NotReadModels(
                f"{self._file.place} is of another release of turnledger: delete it, and it is made again"
            )

    def _note(self, newest: Position) -> None:
        """The position, in the transaction of its rows."""
        self._file.connection.execute(
            "UPDATE following SET position = ?1, conversation_id = ?2, version = ?3, digest = ?4,"
            " time = (SELECT COALESCE(time, (SELECT time FROM following)) FROM events WHERE position = ?1),"
            " log_position = ?5",
            (
                newest.position,
                newest.row.originator_id,
                newest.row.originator_version,
                digest_of(newest.row.state),
                max(self._followed.last(), newest.position),
            ),
        )
