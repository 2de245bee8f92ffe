"""A store of millions of events, and what it costs there to append, list, follow and search.

    python -m benchmarks.scale make big.db --conversations 200000      a store of 10 events a conversation
    python -m benchmarks.scale make small.db --conversations 1000
    python -m benchmarks.scale follow big.db [--seconds 200]           its read models; goes on where it was
    python -m benchmarks.scale follow small.db
    python -m benchmarks.scale measure big.db small.db                 in turns, and ratios to the last
    python -m benchmarks.scale memory big.db                           of a writer and a follower

The rows are written in bulk, through the mapper, with valid chains. `measure` and `memory` append to the
stores.
"""

import argparse
import random
import resource
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from hashlib import sha1
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.messages import TOOLS, WORDS
from turnledger import (
    CallHealed,
    ConversationStarted,
    ConversationStore,
    DomainEvent,
    Envelope,
    MessageAppended,
    PlaceholderReplaced,
    Search,
)
from turnledger.domain.messages import PLACEHOLDER_TEXT
from turnledger.infrastructure.mapper import ConversationMapper, digest_of

EVENTS_EACH = 10
TOGETHER = 100
BATCH_ROWS = 50_000
WAITING = 20
STARTED_AT = datetime(2026, 1, 1, tzinfo=UTC)
Row = tuple[str, int, str, bytes]


def conversation_id(number: int) -> str:
    """Ids as programs make them: in no order."""
    return f"conversation-{sha1(str(number).encode(), usedforsecurity=False).hexdigest()[:16]}"


def made(path: Path, conversations: int) -> float:
    """Makes a store; the seconds that it took."""
    began = time.perf_counter()
    ConversationStore(path).close()
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("PRAGMA synchronous=OFF")
        database.execute("PRAGMA cache_size=-1000000")
        rows = _rows(conversations)
        while batch := list(islice(rows, BATCH_ROWS)):
            database.execute("BEGIN")
            database.executemany("INSERT INTO stored_events VALUES (?, ?, ?, ?)", batch)
            database.execute("COMMIT")
            _told(
                f"{path}: {database.execute('SELECT MAX(rowid) FROM stored_events').fetchone()[0]:,} events"
            )
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return time.perf_counter() - began


def _rows(conversations: int) -> Iterator[Row]:
    """Conversations that go on beside each other, a hundred at a time."""
    for first in range(0, conversations, TOGETHER):
        alive = [_conversation(number) for number in range(first, min(first + TOGETHER, conversations))]
        for _ in range(EVENTS_EACH):
            for rows in alive:
                yield next(rows)


def _conversation(number: int) -> Iterator[Row]:
    mapper, previous, found = ConversationMapper(), "", conversation_id(number)
    for event in _events(found, number):
        row = mapper.stored(event, previous)
        previous = digest_of(row.state)
        yield found, event.version, row.topic, row.state


def _events(found: str, number: int) -> Iterator[DomainEvent]:
    """A question with a call and its answer, then one whose call is healed and answered late."""
    chance = random.Random(number)
    tool = chance.choice(TOOLS)
    messages: list[tuple[str, str, dict[str, Any]]] = [
        ("user", _text(chance, 30, f"order{number}"), {}),
        ("assistant", "", {"tool_calls": [_call("c1", tool, chance)]}),
        ("tool", _text(chance, 60), {"tool_call_id": "c1"}),
        ("assistant", _text(chance, 40), {}),
        ("user", _text(chance, 20), {}),
        ("assistant", "", {"tool_calls": [_call("c2", tool, chance)]}),
    ]
    at = STARTED_AT + timedelta(seconds=number)

    def envelope(version: int, batch: int = 0) -> dict[str, Any]:
        batch = batch or version
        time = at + timedelta(seconds=batch)
        return {
            "conversation_id": found,
            "envelope": Envelope(version=version, time=time, batch=batch, execution_id="run-1"),
        }

    yield ConversationStarted(started_id=found, **envelope(1))
    for entry, (role, content, metadata) in enumerate(messages, start=1):
        yield MessageAppended(
            entry=entry, role=role, content=content, metadata=metadata, **envelope(entry + 1)
        )
    yield CallHealed(entry=7, call_id="c2", turn_entry=6, behind=6, content=PLACEHOLDER_TEXT, **envelope(8))
    yield MessageAppended(entry=8, role="user", content="Hello?", metadata={}, **envelope(9, 8))
    yield PlaceholderReplaced(
        entry=7,
        call_id="c2",
        content=_text(chance, 60),
        metadata={"tool_call_id": "c2"},
        **envelope(10),
    )


def _call(call_id: str, name: str, chance: random.Random) -> dict[str, Any]:
    return {"tool_call_id": call_id, "name": name, "arguments": {"query": _text(chance, 5), "limit": 10}}


def _text(chance: random.Random, words: int, *more: str) -> str:
    return " ".join([*chance.choices(WORDS, k=words), *more])


def followed(path: Path, seconds: float | None) -> str:
    """Follows, for so long at most, and says how far it came."""
    stop = threading.Event()
    if seconds is not None:
        timer = threading.Timer(seconds, stop.set)
        timer.daemon = True
        timer.start()
    began = time.perf_counter()
    with ConversationStore(path, read_only=True) as store, store.read_models() as models:
        first = models.standing().position
        standing = models.catch_up(stop=stop)
        size = Path(str(models.path)).stat().st_size
    took = time.perf_counter() - began
    rate = (standing.position - first) / took
    return (
        f"{path}: {standing.position:,} of {standing.last:,} events followed, {rate:,.0f} events/s in "
        f"{took:.0f} s, {size / 2**20:,.0f} MiB, {_resident_mib():.0f} MiB of memory at most"
    )


def measured(path: Path, conversations: int) -> Iterator[tuple[str, float]]:
    """Seconds, each the median of many, on a store whose read models have caught up; one after the other, so
    that two stores can be measured in turns."""
    chance = random.Random(7)
    with ConversationStore(path) as store, store.read_models() as models:
        some = [conversation_id(chance.randrange(conversations)) for _ in range(300)]

        def append(one: str) -> None:
            store.append(one, {"role": "user", "content": "and?"})

        for number in range(WAITING):
            store.append(f"waits {number}", {"role": "assistant", "tool_calls": [{"id": "c", "name": "t"}]})
        models.catch_up()

        yield "append, cold conversation", _median(append, some)
        yield "append, warm conversation", _median(append, some[:1] * 300)
        yield "append, new conversation", _median(append, [f"new {time.time_ns()} {n}" for n in range(300)])
        yield (
            "read, cold conversation",
            _median(store.buffer, [conversation_id(chance.randrange(conversations)) for _ in range(300)]),
        )
        yield (
            "a page of 50 conversations",
            _median(lambda after: list(islice(store.conversations(after=after), 50)), some[:40]),
        )
        began = time.perf_counter()
        before = models.standing()
        after = models.catch_up()
        yield "follow, an event", (time.perf_counter() - began) / before.lag
        assert after.lag == 0

        def append_and_follow(one: str) -> None:
            append(one)
            models.catch_up()

        yield "append, and follow that", _median(append_and_follow, some[:100])
        yield (
            f"what waits, in {WAITING} conversations",
            _median(lambda _: store.open_calls(models.waiting()), [None] * 20),
        )
        yield "open takes of all conversations", _median(lambda _: store.open_takes(), [None] * 20)
        rare = [f"order{chance.randrange(conversations)}" for _ in range(50)]
        yield "search, a word in one conversation", _median(lambda w: models.search(Search(words=w)), rare)
        common = [Search(words="refund courier", newest_first=True)] * 5
        yield "search, frequent words, newest first", _median(models.search, common)
        yield "search, frequent words, best first", _median(models.search, [Search(words="refund courier")])
        yield "stats", _median(lambda _: models.statistics(), [None])


def _read_through(path: Path) -> None:
    """So that what is measured is the work, and not whose pages the disk has to bring first."""
    for file in (path, path.with_name(f"{path.stem}-read.db")):
        with file.open("rb") as opened:
            while opened.read(2**24):
                pass


def _median(call: Callable[[Any], object], given: Sequence[Any]) -> float:
    took = []
    for one in given:
        began = time.perf_counter()
        call(one)
        took.append(time.perf_counter() - began)
    return median(took)


def remembered(path: Path, conversations: int) -> Iterator[str]:
    """The memory of a writer over ever more conversations, and of a follower over what it wrote."""
    cache_bytes = 16 * 2**20
    with ConversationStore(path, durability="normal", cache_bytes=cache_bytes) as store:
        for number in range(20_001):
            if number % 4_000 == 0:
                yield f"writer, after {number:,} conversations: {_now_mib():.0f} MiB"
            store.append(conversation_id(number % conversations), {"role": "user", "content": "and?"})
    with ConversationStore(path, read_only=True) as store, store.read_models() as models:
        stop = threading.Event()
        told = models.standing().position
        while models.standing().lag:
            standing = models.standing()
            if standing.position >= told:
                yield f"follower, at event {standing.position:,}: {_now_mib():.0f} MiB"
                told = standing.position + 5_000
            models._follow_once()
        stop.set()


def _resident_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _now_mib() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


def _told(line: str) -> None:
    print(line, flush=True)  # noqa: T201


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("make", "follow", "measure", "memory"))
    parser.add_argument("stores", type=Path, nargs="+")
    parser.add_argument("--conversations", type=int, default=200_000)
    parser.add_argument("--seconds", type=float, help="follow for so long at most")
    asked = parser.parse_args()
    first = asked.stores[0]
    if asked.what == "make":
        took = made(first, asked.conversations)
        _told(f"{first}: {took:.0f} s, {first.stat().st_size / 2**20:,.0f} MiB")
    elif asked.what == "follow":
        _told(followed(first, asked.seconds))
    elif asked.what == "memory":
        for line in remembered(first, _conversations_of(first)):
            _told(line)
    else:
        for path in asked.stores:
            _read_through(path)
        for same in zip(*(measured(path, _conversations_of(path)) for path in asked.stores), strict=True):
            told = "  ".join(f"{seconds * 1000:>10.3f} ms" for _, seconds in same)
            ratios = "  ".join(f"{seconds / same[-1][1]:.2f}" for _, seconds in same[:-1])
            _told(f"{same[0][0]:<40} {told}  ratio {ratios}")


def _conversations_of(path: Path) -> int:
    """How many conversations `make` put there."""
    with closing(sqlite3.connect(path)) as database:
        number = database.execute("SELECT MAX(rowid) FROM stored_events").fetchone()[0] // EVENTS_EACH
        while not database.execute(
            "SELECT 1 FROM stored_events WHERE originator_id = ?", (conversation_id(number - 1),)
        ).fetchone():
            number -= 1
    return int(number)


if __name__ == "__main__":
    main()
