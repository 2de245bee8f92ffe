"""Many writers and readers on one store: nothing lost, doubled, interleaved wrongly, starved or stuck."""

import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from eventsourcing.persistence import StoredEvent

from tests.postgres import advisory_locks, new_url
from tests.system.processes import CALLS, assistant, contents, in_threads, result, started, told, user
from turnledger import ConversationStore, DomainEvent, StoreBusy, StoreClosed
from turnledger.infrastructure import sqlite_log

PROCESSES, THREADS, MESSAGES = 4, 8, 20
ROUNDS = 40


@pytest.fixture(name="path")
def store_path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture(name="store", params=["file", "memory", "postgres"])
def opened(request: pytest.FixtureRequest, path: Path) -> Iterator[ConversationStore]:
    places: dict[str, Callable[[], Path | str]]
    places = {"file": lambda: path, "memory": lambda: ":memory:", "postgres": new_url}
    with ConversationStore(places[request.param]()) as opened_store:
        yield opened_store


@contextmanager
def locked(path: Path | str) -> Iterator[None]:
    """Another connection holds the lock that every writer needs."""
    if isinstance(path, str):
        with advisory_locks(path):
            yield
        return
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.rollback()


def test_every_acknowledged_message_of_many_processes_and_threads_is_there_once_and_in_order(
    place: Path | str,
) -> None:
    ConversationStore(place).close()
    writers = [started("write", place, process, THREADS, MESSAGES) for process in range(PROCESSES)]
    reports = [told(writer) for writer in writers]
    assert [report["raised"] for report in reports] == [[]] * PROCESSES
    acknowledged = Counter(tuple(pair) for report in reports for pair in report["acknowledged"])
    assert len(acknowledged) == PROCESSES * THREADS * MESSAGES
    with ConversationStore(place) as store:
        found = {
            summary.conversation_id: contents(store, summary.conversation_id)
            for summary in store.conversations()
        }
        assert Counter((name, text) for name, texts in found.items() for text in texts) == acknowledged
        for texts in found.values():
            for writer in {text.rpartition("-")[0] for text in texts}:
                numbers = [int(t.rpartition("-")[2]) for t in texts if t.rpartition("-")[0] == writer]
                assert numbers == sorted(numbers)
        assert store.verify().ok


def test_a_late_result_that_races_a_user_turn_ends_in_the_same_buffer_whichever_wins(
    store: ConversationStore,
) -> None:
    winners = Counter[str]()
    for n in range(ROUNDS):
        name, together = f"c{n}", threading.Barrier(2)
        store.append(name, [user("go"), assistant("", "a")])

        def late(name: str = name, together: threading.Barrier = together) -> None:
            together.wait()
            store.append(name, result("a", "late"))

        def next_turn(name: str = name, together: threading.Barrier = together) -> None:
            together.wait()
            store.append(name, user("next"))

        assert in_threads(*((late, next_turn) if n % 2 else (next_turn, late))) == []
        assert contents(store, name) == ["go", "", "late", "next"]
        assert "healed" not in store.buffer(name)[2]["metadata"]
        winners["user" if store.version(name) == 6 else "result"] += 1
    assert sum(winners.values()) == ROUNDS


def test_two_user_turns_that_race_heal_a_call_once(store: ConversationStore) -> None:
    for n in range(ROUNDS):
        name, together = f"c{n}", threading.Barrier(2)
        store.append(name, [user("go"), assistant("", "a")])

        def turn(text: str, name: str = name, together: threading.Barrier = together) -> None:
            together.wait()
            store.append(name, user(text))

        assert in_threads(lambda turn=turn: turn("x"), lambda turn=turn: turn("y")) == []
        assert [m["metadata"].get("healed", False) for m in store.buffer(name)] == [False] * 2 + [
            True,
            False,
            False,
        ]
        assert sorted(contents(store, name)[3:]) == ["x", "y"]


def test_a_reader_sees_what_another_store_has_committed_by_the_time_it_asks(place: Path | str) -> None:
    with ConversationStore(place) as writer, ConversationStore(place) as reader:
        for n in range(20):
            writer.append("c", user(f"{n}"))
            assert contents(reader, "c")[-1] == f"{n}"
            reader.append("c", user(f"{n} seen"))
            assert contents(writer, "c")[-2:] == [f"{n}", f"{n} seen"]
            assert writer.version("c") == reader.version("c") == 2 * n + 3


def test_a_reader_in_another_process_sees_a_commit_by_the_time_it_asks(place: Path | str) -> None:
    with ConversationStore(place) as store:
        store.append("shared", user("first"))
        assert contents(store, "shared") == ["first"]
        report = told(started("write", place, "p", 1, 6))
        shared = [text for name, text in report["acknowledged"] if name == "shared"]
        assert contents(store, "shared") == ["first", *shared]


def test_readers_and_writers_of_one_store_object_never_wait_for_each_other_for_ever(
    store: ConversationStore,
) -> None:
    store.append("c", [user("go"), assistant("", "a")])
    store.hold("c", "e", [{"type": "t", "payload": {}}])

    def write(n: int) -> None:
        for i in range(15):
            store.append("c", user(f"{n}-{i}"))
            store.write_back("c", "e", [assistant(f"{n}-{i}")], artifacts=[{"type": "t", "payload": {}}])

    def read() -> None:
        for _ in range(15):
            store.buffer("c")
            store.wire("c", at=2)
            list(store.events("c"))
            list(store.conversations())
            store.open_takes()
            store.version("c")

    def take() -> None:
        for _ in range(15):
            with store.taking("c", "e"):
                store.held("c")

    assert in_threads(*[lambda n=n: write(n) for n in range(4)], *[read] * 20, take) == []
    assert len(store.buffer("c")) == 2 + 1 + 4 * 15 * 2
    assert store.verify().ok


def test_waiting_threads_are_served_in_the_order_in_which_they_came(place: Path | str) -> None:
    """A lock without order once went back to the thread that had just let go of it."""
    counts = Counter[int]()
    end = time.monotonic() + 2

    def writer(n: int) -> None:
        while time.monotonic() < end:
            store.append(f"c{n}", user("x"))
            counts[n] += 1

    with ConversationStore(place) as store:
        assert in_threads(*[lambda n=n: writer(n) for n in range(8)]) == []
    assert len(counts) == 8
    assert max(counts.values()) <= 3 * min(counts.values()) + 3


def test_a_long_log_is_read_without_making_other_writers_wait(
    place: Path | str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ConversationStore(place) as store:
        store.append("long", [user(str(n)) for n in range(300)])
    with ConversationStore(place) as cold, ConversationStore(place, timeout_s=0.5) as other:
        decoded = cold._application.mapper.decoded

        def slowly(row: StoredEvent) -> DomainEvent:
            time.sleep(0.01)
            return decoded(row)

        monkeypatch.setattr(cold._application.mapper, "decoded", slowly)
        job = threading.Thread(target=lambda: cold.append("long", user("more")))
        job.start()
        while job.is_alive():
            other.append("short", user("x"))
            time.sleep(0.02)
        job.join()
        assert contents(other, "long")[-1] == "more"


@pytest.mark.parametrize("timeout_s", [0, 0.2])
def test_a_write_gives_up_after_its_timeout_records_nothing_and_the_next_one_works(
    place: Path | str, timeout_s: float
) -> None:
    with ConversationStore(place, timeout_s=timeout_s) as store:
        store.append("c", user("before"))
        with locked(place):
            begun = time.monotonic()
            with pytest.raises(StoreBusy, match="nothing was recorded, try again"):
                store.append("c", user("blocked"))
            waited_s = time.monotonic() - begun
            assert contents(store, "c") == ["before"]
        assert timeout_s <= waited_s < timeout_s + 2
        store.append("c", user("after"))
        assert contents(store, "c") == ["before", "after"]


def test_a_blocked_writer_blocks_no_reader(place: Path | str) -> None:
    def write() -> None:
        with pytest.raises(StoreBusy):
            store.append("c", user("x"))

    with ConversationStore(place, timeout_s=3) as store:
        store.append("c", user("before"))
        with locked(place):
            blocked = threading.Thread(target=write)
            blocked.start()
            begun = time.monotonic()
            for _ in range(20):
                assert contents(store, "c") == ["before"]
                store.sendable("c", at=2)
            assert time.monotonic() - begun < 2.5
            assert blocked.is_alive()
            blocked.join()


def test_the_timeout_covers_the_queue_of_threads_behind_a_blocked_writer(place: Path | str) -> None:
    waited_s: list[float] = []

    def blocked(n: int) -> None:
        begun = time.monotonic()
        with pytest.raises(StoreBusy):
            store.append(f"c{n % 2}", user("x"))
        waited_s.append(time.monotonic() - begun)

    with ConversationStore(place, timeout_s=0.4) as store:
        with locked(place):
            assert in_threads(*[lambda n=n: blocked(n) for n in range(10)]) == []
        assert max(waited_s) < 2.4  # one after the other they would take four seconds
        assert list(store.conversations()) == []
        store.append("c", user("after"))


def test_a_lock_that_goes_away_in_time_is_waited_for(path: Path) -> None:
    ConversationStore(path).close()
    holder = started("lock", path)
    assert holder.stdout is not None
    assert holder.stdin is not None
    assert holder.stdout.readline() == "locked\n"
    with ConversationStore(path, timeout_s=60) as store:
        threading.Timer(0.3, lambda: holder.communicate("go\n")).start()
        assert store.append("c", user("x")).appended == 1
    holder.wait()


def test_closing_a_store_at_work_lets_calls_finish_or_refuses_them(place: Path | str) -> None:
    for _ in range(10):
        acknowledged = Counter[str]()
        store = ConversationStore(place)
        working = threading.Semaphore(0)

        def work(
            n: int,
            store: ConversationStore = store,
            acknowledged: Counter[str] = acknowledged,
            working: threading.Semaphore = working,
        ) -> None:
            for i in range(10_000):
                try:
                    if n % 2:
                        store.append(f"c{n}", user("x"))
                        acknowledged[f"c{n}"] += 1
                    else:
                        list(store.conversations())
                except StoreClosed:
                    return
                if i == 1:
                    working.release()

        def close(store: ConversationStore = store, working: threading.Semaphore = working) -> None:
            for _ in range(6):
                working.acquire()
            store.close()

        with ConversationStore(place) as before:
            earlier = {s.conversation_id: s.entries for s in before.conversations()}
        assert in_threads(close, *[lambda n=n, work=work: work(n) for n in range(6)]) == []
        with ConversationStore(place) as after:
            now = {
                s.conversation_id: s.entries - earlier.get(s.conversation_id, 0)
                for s in after.conversations()
            }
        assert now == dict(acknowledged)


def test_a_closed_store_has_let_go_of_its_file(path: Path) -> None:
    store = ConversationStore(path)
    store.append("c", user("x"))
    store.close()
    store.close()
    assert sorted(found.name for found in path.parent.iterdir()) == [path.name]


def test_many_processes_may_make_one_store_at_the_same_moment(place: Path | str) -> None:
    openers = [started("open", place) for _ in range(4)]
    for opener in openers:
        assert opener.stdin is not None
        opener.stdin.write("go\n")
        opener.stdin.flush()
    assert [told(opener)["raised"] for opener in openers] == [[]] * 4
    with ConversationStore(place) as store:
        assert contents(store, "c") == ["here"] * 16
        assert store.verify().ok


def test_a_store_that_is_made_while_another_looks_for_it_is_not_taken_for_a_foreign_one(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    execute = sqlite_log.Log.execute
    maker = threading.Thread(target=lambda: ConversationStore(path).close())

    def looked_at_slowly(log: sqlite_log.Log, statement: str, *rest: Sequence[object]) -> list[Any]:
        found = execute(log, statement, *rest)
        if statement == "PRAGMA application_id" and maker.ident is None:
            maker.start()
            maker.join(0.5)
        return found

    monkeypatch.setattr(sqlite_log.Log, "execute", looked_at_slowly)
    with ConversationStore(path) as store:
        assert store.append("c", user("x")).count == 1
    maker.join()


def test_many_threads_may_make_one_store_at_the_same_moment(new_place: Callable[[], Path | str]) -> None:
    for _ in range(10):
        place, together = new_place(), threading.Barrier(6)

        def opener(place: Path | str = place, together: threading.Barrier = together) -> None:
            together.wait()
            with ConversationStore(place) as store:
                store.append("c", user("here"))

        assert in_threads(*[opener] * 6) == []
        with ConversationStore(place) as store:
            assert contents(store, "c") == ["here"] * 6


@pytest.mark.parametrize("name", CALLS)
def test_every_call_on_a_closed_store_says_that_it_is_closed(store: ConversationStore, name: str) -> None:
    store.append("c", user("x"))
    store.close()
    with pytest.raises(StoreClosed, match="open a new ConversationStore"):
        CALLS[name](store)
