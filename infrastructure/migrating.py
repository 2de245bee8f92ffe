"""A store copied into another, of whichever database: row for row, in the log's order, checked by digest.

The target must hold the beginning of the source and nothing else, so that a copy that was stopped anywhere
simply goes on. Rows are compared, and copied, byte for byte; a conversation whose chain is broken stays out
as a whole, and is named: half of it would look sound.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import Literal

from eventsourcing.persistence import StoredEvent

from turnledger.domain.errors import CorruptEvent, MigrationRefused, NewerLog, StoreUnreachable
from turnledger.domain.events import NO_PREVIOUS
from turnledger.infrastructure.application import ConversationApplication
from turnledger.infrastructure.log import Deadline, Overtaken, Unsettled
from turnledger.infrastructure.mapper import digest_of

PAGE_ROWS = 500
BATCH_BYTES = 4 * 2**20

Step = Literal["reading", "copying", "checking"]
Progress = Callable[[Step, int, int], None]


@dataclass(frozen=True, slots=True)
class Migration:
    """What a copy came to: events `copied` by it, and what the target holds of the source now.

    That are `events` of `conversations`, with their SHA-256 in the order of the log; `damaged` says what is
    broken in the source, of which nothing was copied.
    """

    copied: int
    events: int
    conversations: int
    digest: str
    damaged: tuple[CorruptEvent, ...] = ()


class _Sum:
    """Rows as one digest, in their order."""

    def __init__(self) -> None:
        self.rows = 0
        self._hash = sha256()

    def add(self, row: StoredEvent) -> None:
        self.rows += 1
        head = f"{row.originator_id}\n{row.originator_version}\n{row.topic}\n{len(row.state)}\n"
        self._hash.update(head.encode() + row.state)

    @property
    def digest(self) -> str:
        return self._hash.hexdigest()


def migrated(
    source: ConversationApplication, target: ConversationApplication, progress: Progress | None = None
) -> Migration:
    """Copies what `target` has not yet. Raises `MigrationRefused` where it holds something else."""
    tell = progress or (lambda step, done, total: None)
    end = source.recorder.max_notification_id() or 0
    heads, damaged = _read(source, end, tell)
    sent, found = _Sum(), _Sum()
    rows = (row for row in _rows(source, end) if row.originator_id not in damaged)
    events = sum(version for version, _ in heads.values())
    for held in _rows(target, settled=False):
        row = next(rows, None)
        if row != held:
            raise MigrationRefused(
                f"{target.location.place} holds something else: event {held.originator_version} of its "
                f"conversation {held.originator_id!r} is not what {source.location.place} has there; migrate "
                "into an empty store"
            )
        sent.add(row)
        tell("copying", sent.rows, events)
    before = sent.rows
    for batch in _batches(rows):
        _copy(target, batch)
        for row in batch:
            sent.add(row)
        tell("copying", sent.rows, events)
    for held in _rows(target, settled=False):
        found.add(held)
        tell("checking", found.rows, events)
    if (found.rows, found.digest) != (sent.rows, sent.digest):
        raise MigrationRefused(f"{target.location.place} was written by another program meanwhile")
    return Migration(sent.rows - before, sent.rows, len(heads), sent.digest, tuple(damaged.values()))


def _read(
    source: ConversationApplication, end: int, tell: Progress
) -> tuple[dict[str, tuple[int, str]], dict[str, CorruptEvent]]:
    """The head of each sound conversation up to a place in the log, and the first damage of every other."""
    heads: dict[str, tuple[int, str]] = {}
    damaged: dict[str, CorruptEvent] = {}
    for done, row in enumerate(_rows(source, end), start=1):
        tell("reading", done, end)
        conversation_id = str(row.originator_id)
        if conversation_id in damaged:
            continue
        version, previous = heads.get(conversation_id, (0, NO_PREVIOUS))
        try:
            event = source.mapper.decoded(row)
            if event.version != version + 1 or event.previous != previous:
                raise CorruptEvent(conversation_id, version + 1, "the chain is broken before or at it")
        except (CorruptEvent, NewerLog) as error:
            found = CorruptEvent(
                conversation_id, row.originator_version, getattr(error, "reason", str(error))
            )
            damaged[conversation_id] = found
            heads.pop(conversation_id, None)
        else:
            heads[conversation_id] = (version + 1, digest_of(row.state))
    return heads, damaged


def _rows(
    application: ConversationApplication, end: int | None = None, *, settled: bool = True
) -> Iterator[StoredEvent]:
    """The rows of all conversations, in the order of the log, up to a place in it."""
    after: int | None = None
    while True:
        page = application.recorder.select_notifications(
            after, PAGE_ROWS, end, inclusive_of_start=after is None, settled=settled
        )
        for row in page:
            yield StoredEvent(str(row.originator_id), row.originator_version, row.topic, row.state)
        if len(page) < PAGE_ROWS:
            return
        after = page[-1].id


def _batches(rows: Iterator[StoredEvent]) -> Iterator[list[StoredEvent]]:
    batch: list[StoredEvent] = []
    size = 0
    for row in rows:
        batch.append(row)
        size += len(row.state)
        if len(batch) == PAGE_ROWS or size > BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _copy(target: ConversationApplication, batch: list[StoredEvent]) -> None:
    deadline = Deadline(target.location.timeout_s)
    try:
        with target.recorder.datastore.turn(deadline, "") as log:
            target.recorder.copy(log, batch)
    except Unsettled as error:
        raise StoreUnreachable(
            f"the connection to {target.location.place} was lost: migrate again, it goes on where it stopped"
        ) from error
    except Overtaken as error:
        raise MigrationRefused(f"{target.location.place} was written by another program meanwhile") from error
