"""What the promises cost alone: the least that an append or a fresh list can take, beside bare sqlite3.

No store is asked. An append's row is encoded, decoded once before it is recorded (section 2), linked to the
one before by its digest, and inserted behind it; a reading asks SQLite whether another connection has
written. Of a fresh list only the messages' own dicts are copied, none of what they hold.
"""

import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

from benchmarks.contenders import Raw, RawInsert
from benchmarks.measure import Line, interleaved
from benchmarks.messages import Message, messages
from turnledger.domain.events import NO_PREVIOUS, Envelope, MessageAppended
from turnledger.domain.messages import read_message
from turnledger.infrastructure.mapper import ConversationMapper, digest_of
from turnledger.infrastructure.storage import INSERT_BEHIND

if TYPE_CHECKING:
    from benchmarks.rows import Bench

CREATE = (
    "CREATE TABLE stored_events (originator_id TEXT, originator_version INTEGER, topic TEXT, state BLOB,"
    " PRIMARY KEY (originator_id, originator_version))"
)


def floor(bench: "Bench") -> Iterator[Line]:
    """Encode, decode, digest, insert and look, at NORMAL; and copies of the outermost dicts of a list."""
    for per_call, work in ((1, "an append and a look, NORMAL"), (20, "20 appends a call and a look, NORMAL")):
        appends = {
            "promises": partial(_promised, bench, per_call),
            "raw insert": partial(_inserted, bench, per_call),
        }
        found = interleaved(bench.scale.rounds, appends)
        yield Line("floor", work, "promises alone", found["promises"], RawInsert.name, found["raw insert"])
    longest = max(bench.scale.lengths)
    kept = messages(longest)
    raw = Raw(bench.template(Raw, longest))
    lists = {
        "copies": lambda _: _timed(lambda: [message.copy() for message in kept]),
        "read": lambda _: _timed(lambda: raw.read("c")),
    }
    found = interleaved(bench.scale.rounds, lists)
    raw.close()
    yield Line(
        "floor",
        f"a list of {longest:,} messages",
        "dict.copy alone",
        found["copies"],
        Raw.name,
        found["read"],
    )


def _timed(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def _promised(bench: "Bench", per_call: int, _: int) -> float:
    path, mapper, given = bench.files.new(), ConversationMapper(), messages(bench.scale.at_length)
    connection = sqlite3.connect(path, isolation_level=None)
    for statement in ("PRAGMA synchronous=NORMAL", "PRAGMA journal_mode=WAL", CREATE):
        connection.execute(statement)
    events, previous = _events(given), NO_PREVIOUS
    begun = time.perf_counter()
    for first in range(0, len(events), per_call):
        rows = []
        for event in events[first : first + per_call]:
            row = mapper.stored(event, previous)
            mapper.decoded(row)
            previous = digest_of(row.state)
            rows.append((row.originator_id, row.originator_version, row.topic, row.state))
        connection.execute("BEGIN")
        connection.executemany(INSERT_BEHIND, rows)
        connection.execute("COMMIT")
        connection.execute("PRAGMA data_version").fetchone()
    took = (time.perf_counter() - begun) / len(events)
    connection.close()
    bench.files.remove(path)
    return took


def _events(given: Sequence[Message]) -> list[MessageAppended]:
    now = datetime.now(UTC)
    return [
        MessageAppended(
            conversation_id="c",
            envelope=Envelope(version=number, time=now, batch=number),
            entry=number,
            role=message.role,
            content=message.content,
            metadata=message.metadata,
        )
        for number, message in enumerate((read_message(message, 0) for message in given), start=1)
    ]


def _inserted(bench: "Bench", per_call: int, _: int) -> float:
    path, given = bench.files.new(), messages(bench.scale.at_length)
    contender = RawInsert(path, "normal")
    begun = time.perf_counter()
    for first in range(0, len(given), per_call):
        contender.append("c", given[first : first + per_call])
    took = (time.perf_counter() - begun) / len(given)
    contender.close()
    bench.files.remove(path)
    return took
