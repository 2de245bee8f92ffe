"""Faults of the place and of the moment: rights, a full disk, a write that fails midway, interrupts."""

import asyncio
import json
import os
import resource
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.system.processes import assistant, body, contents, in_threads, result, user
from turnledger import (
    ConversationStore,
    InvalidArgument,
    StoreBusy,
    StoreFull,
    StoreUnwritable,
)
from turnledger.infrastructure import location, sqlite_log

HELD: dict[str, Any] = {"type": "t", "payload": {}, "tool_call_id": None}


@pytest.fixture(name="path")
def store_path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


def fresh(path: Path, conversation_id: str = "c") -> list[dict[str, Any]]:
    """The buffer as a store shows it that remembers nothing."""
    with ConversationStore(path) as store:
        return store.buffer(conversation_id)


class TestRights:
    """Run as nobody special: to root every file is writable."""

    @pytest.fixture(name="folder")
    def public_folder(self) -> Iterator[Path]:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            folder.chmod(0o755)
            with ConversationStore(folder / "store.db") as store:
                store.append("c", user("x"))
            (folder / "store.db").chmod(0o644)
            if os.geteuid() != 0:
                folder.chmod(0o555)
            yield folder
            folder.chmod(0o755)

    def test_a_store_cannot_be_made_in_a_read_only_folder(self, folder: Path) -> None:
        told = body(
            """
            try:
                ConversationStore(sys.argv[1])
            except StoreUnwritable as error:
                print(error)
            """,
            folder / "new.db",
            unprivileged=True,
        )
        assert told == f"the folder {folder} may not be written, so no store can be made in it: check that"

    def test_a_closed_store_in_a_read_only_folder_is_read_with_read_only(self, folder: Path) -> None:
        told = body(
            """
            try:
                ConversationStore(sys.argv[1])
            except StoreUnwritable as error:
                print(error)
            with ConversationStore(sys.argv[1], read_only=True) as store:
                print([message["content"] for message in store.buffer("c")], store.verify().ok)
                try:
                    store.append("c", {"role": "user", "content": "y"})
                except StoreUnwritable as error:
                    print(error)
            """,
            folder / "store.db",
            unprivileged=True,
        ).splitlines()
        assert "or open it with read_only=True" in told[0]
        assert told[1] == "['x'] True"
        assert str(folder) in told[2]
        assert sorted(found.name for found in folder.iterdir()) == ["store.db"]

    def test_a_read_only_file_can_be_read_and_says_that_it_cannot_be_written(self, folder: Path) -> None:
        (folder / "store.db").chmod(0o444)
        folder.chmod(0o777)
        told = body(
            """
            with ConversationStore(sys.argv[1]) as store:
                print([message["content"] for message in store.buffer("c")])
                try:
                    store.append("c", {"role": "user", "content": "y"})
                except StoreUnwritable as error:
                    print(error)
                print([message["content"] for message in store.buffer("c")])
            """,
            folder / "store.db",
            unprivileged=True,
        ).splitlines()
        assert told[0] == told[2] == "['x']"
        assert "check the rights on it" in told[1]

    @pytest.mark.parametrize("what", ["file", "folder"])
    def test_what_may_not_be_read_says_so(self, folder: Path, what: str) -> None:
        (folder / "store.db" if what == "file" else folder).chmod(0o000)
        told = body(
            """
            for read_only in (False, True):
                try:
                    ConversationStore(sys.argv[1], read_only=read_only)
                except StoreUnwritable as error:
                    print(error)
            """,
            folder / "store.db",
            unprivileged=True,
        ).splitlines()
        assert len(told) == 2
        assert all("rights" in line and "store.db" in line for line in told)


def test_nothing_is_written_by_a_store_that_was_opened_to_read(path: Path) -> None:
    with ConversationStore(path) as store:
        store.append("c", user("x"))
    before = path.read_bytes()
    with ConversationStore(path, read_only=True) as store:
        assert contents(store, "c") == ["x"]
        assert store.verify().ok
        for call in (
            lambda: store.append("c", user("y")),
            lambda: store.append("new", user("y")),
            lambda: store.hold("c", "e", [HELD]),
        ):
            with pytest.raises(StoreUnwritable):
                call()
        assert contents(store, "c") == ["x"]
    assert path.read_bytes() == before


def test_a_reader_without_lock_files_sees_what_is_written_after_all(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a folder that it cannot write, it reads the file as one that never changes; others may write it."""
    ConversationStore(path).close()
    monkeypatch.setattr(location, "_writable", lambda folder: False)
    with ConversationStore(path, read_only=True) as reader:
        for n in range(3):
            with ConversationStore(path) as writer:
                writer.append("c", user(f"{n}"))
                assert len(reader.buffer("c")) == n + 1
            assert len(reader.buffer("c")) == n + 1


@contextmanager
def small_disk(folder: Path) -> Iterator[None]:
    """A disk of one MiB; where none can be mounted, a bound on the size of a file."""
    if os.geteuid() == 0 and sys.platform == "linux":
        command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
        if subprocess.run(command, check=False, capture_output=True).returncode == 0:
            try:
                yield
            finally:
                subprocess.run(["umount", str(folder)], check=True)
            return
    with file_size_bound(2**20):
        yield


@contextmanager
def file_size_bound(size_bytes: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def fill(store: ConversationStore) -> int:
    """Appends batches, each of small and large messages, until one is refused; how many were recorded."""
    for n in range(10_000):
        try:
            store.append(
                "c", [user(f"{n}"), assistant(f"{n}", f"call-{n}"), user("x" * 20_000), user(f"{n} end")]
            )
        except StoreFull as error:
            assert "nothing was recorded" in str(error)
            assert "free some" in str(error)
            return n
    raise AssertionError("the disk never was full")


def test_a_full_disk_records_nothing_of_that_append_and_the_store_works_when_there_is_room(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "disk"
    folder.mkdir()
    with small_disk(folder):
        ballast = folder / "ballast"
        ballast.write_bytes(b"x" * 500_000)
        with ConversationStore(folder / "store.db") as store:
            recorded = fill(store)
            assert recorded
            for _ in range(3):
                with pytest.raises(StoreFull):
                    store.append("c", user("x" * 200_000))
            warm = store.buffer("c")
            assert len(warm) == recorded * 5
            assert warm[-1]["content"] == f"{recorded - 1} end"
            ballast.unlink()
            assert store.append("c", user("room")).count == len(warm) + 1
            assert store.verify().ok
            warm = store.buffer("c")
        assert fresh(folder / "store.db") == warm


def test_a_bound_on_file_size_is_a_full_disk(path: Path) -> None:
    with ConversationStore(path) as store:
        store.append("c", user("before"))
        with file_size_bound(300_000):
            with pytest.raises(StoreFull):
                store.append("c", [user("small"), user("x" * 400_000)])
            assert contents(store, "c") == ["before"]
        store.append("c", user("after"))
        assert contents(store, "c") == ["before", "after"]
    assert [m["content"] for m in fresh(path)] == ["before", "after"]


def test_no_store_can_be_made_where_there_is_no_room(path: Path) -> None:
    with file_size_bound(100), pytest.raises(StoreFull):
        ConversationStore(path)
    with ConversationStore(path) as store:
        store.append("c", user("x"))


class Failing:
    """Makes one statement of the log fail: the nth that begins so."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.beginning, self.nth, self.error = "", 0, BaseException()
        execute: Callable[..., list[Any]] = sqlite_log.Log.execute

        def failing(log: sqlite_log.Log, statement: str, *rest: Any) -> list[Any]:
            if self.nth and statement.startswith(self.beginning):
                self.nth -= 1
                if not self.nth:
                    raise self.error
            return execute(log, statement, *rest)

        def failing_many(log: sqlite_log.Log, statement: str, parameters: Sequence[Sequence[object]]) -> int:
            for row in parameters:  # one by one, so that it can fail behind any of them
                log.execute(statement, row)
            return len(parameters)

        monkeypatch.setattr(sqlite_log.Log, "execute", failing)
        monkeypatch.setattr(sqlite_log.Log, "execute_many", failing_many)

    def arm(self, beginning: str, nth: int, error: BaseException) -> None:
        self.beginning, self.nth, self.error = beginning, nth, error


@pytest.fixture(name="failing")
def failing_statements(monkeypatch: pytest.MonkeyPatch) -> Failing:
    return Failing(monkeypatch)


MOMENTS = [("BEGIN", 1), ("INSERT", 1), ("INSERT", 3), ("COMMIT", 1)]
ERRORS = [StoreFull("full"), sqlite3.OperationalError("broken"), KeyboardInterrupt(), MemoryError()]


@pytest.mark.parametrize("where", ["file", "memory"])
@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize(("beginning", "nth"), MOMENTS)
def test_a_write_that_fails_at_any_moment_leaves_no_trace_and_no_lock(
    failing: Failing, path: Path, beginning: str, nth: int, error: BaseException, where: str
) -> None:
    with ConversationStore(path if where == "file" else ":memory:", timeout_s=2) as store:
        store.append("c", [user("go"), assistant("", "a")])
        store.hold("c", "e", [HELD])
        before = store.buffer("c"), store.held("c"), store.version("c")
        writes: tuple[Callable[[], object], ...] = (
            lambda: store.append("c", [user("x"), user("y")]),
            lambda: store.write_back("c", "e", [result("a"), user("x"), assistant("done")]),
            lambda: store.append("new", [user("x"), user("y")]),
        )
        for write in writes:
            failing.arm(beginning, nth, error)
            with pytest.raises(type(error)):
                write()
            assert (store.buffer("c"), store.held("c"), store.version("c")) == before
        assert [found.conversation_id for found in store.conversations()] == ["c"]
        raised = in_threads(lambda: store.append("c", result("a")), lambda: store.append("new", user("x")))
        assert raised == []
        assert contents(store, "c") == ["go", "", "found"]
        assert store.verify().ok
        if where == "file":
            assert fresh(path) == store.buffer("c")


def test_a_clock_or_an_id_that_fails_during_a_decision_leaves_no_trace(path: Path) -> None:
    failing = [False]

    def clock() -> datetime:
        if failing[0]:
            raise OSError("no time")
        return datetime.now(UTC)

    ids = iter(range(1000))

    def new_id() -> str:
        if failing[0]:
            raise OSError("no id")
        return f"id-{next(ids)}"

    with ConversationStore(path, clock=clock, new_id=new_id) as store:
        store.append("c", user("x"))
        store.hold("c", "e", [HELD])
        failing[0] = True
        for call in (
            lambda: store.append("c", user("y")),
            lambda: store.take("c", "e"),
            lambda: store.write_back("c", "e", [assistant("z")]),
        ):
            with pytest.raises(OSError, match="no time"):
                call()
        failing[0] = False
        assert contents(store, "c") == ["x"]
        assert len(store.held("c")) == 1
        assert store.append("c", user("y")).version == 4
    assert len(fresh(path)) == 2


def test_interrupts_at_any_moment_leave_no_lock_and_no_phantom(path: Path) -> None:
    """Ctrl-C, a hundred times, wherever it happens to fall."""
    told = body(
        """
        import random, signal, threading
        rng = random.Random(7)
        store = ConversationStore(sys.argv[1], timeout_s=20)
        def interrupt(*_):
            raise KeyboardInterrupt
        signal.signal(signal.SIGALRM, interrupt)
        acknowledged, interrupts = [], 0
        for n in range(100):
            try:
                signal.setitimer(signal.ITIMER_REAL, rng.uniform(0.0005, 0.02))
                for i in range(1000):
                    store.append("c", {"role": "user", "content": f"{n}-{i}"})
                    acknowledged.append(f"{n}-{i}")
                    store.buffer("c")
            except KeyboardInterrupt:
                interrupts += 1
            if n % 10 == 0:
                thread = threading.Thread(target=store.append, args=("d", {"role": "user", "content": "x"}))
                thread.start()
                thread.join()
        warm = [message["content"] for message in store.buffer("c")]
        others = len(store.buffer("d"))
        store.close()
        with ConversationStore(sys.argv[1]) as cold:
            assert [message["content"] for message in cold.buffer("c")] == warm
            assert cold.verify().ok
        assert set(acknowledged) <= set(warm), "lost"
        assert len(set(warm)) == len(warm), "doubled"
        assert len(warm) <= len(acknowledged) + interrupts
        assert interrupts > 90  # Python itself loses one that falls into the clearing away of an object
        print(others)
        """,
        path,
    )
    assert told == "10"


LEAVINGS: list[BaseException] = [
    ValueError("v"),
    KeyboardInterrupt(),
    asyncio.CancelledError(),
    GeneratorExit(),
    SystemExit(3),
]


class TestTaking:
    @pytest.fixture(name="store")
    def store_that_holds(self, path: Path) -> Iterator[ConversationStore]:
        with ConversationStore(path, timeout_s=0.2) as store:
            store.append("c", user("x"))
            store.hold("c", "e", [HELD, HELD])
            yield store

    @pytest.mark.parametrize("leaving", LEAVINGS, ids=lambda error: type(error).__name__)
    def test_whatever_the_block_raises_puts_back_and_is_raised(
        self, store: ConversationStore, leaving: BaseException
    ) -> None:
        before = store.held("c")
        with pytest.raises(type(leaving)) as raised, store.taking("c", "e") as take:
            assert store.held("c") == []
            assert len(take.artifacts) == 2
            raise leaving
        assert raised.value is leaving
        assert store.held("c") == before
        assert store.open_takes("c") == []

    def test_a_cancelled_task_puts_back(self, store: ConversationStore) -> None:
        async def deliver() -> None:
            with store.taking("c", "e"):
                await asyncio.sleep(60)

        async def cancel() -> None:
            task = asyncio.create_task(deliver())
            await asyncio.sleep(0.05)
            assert len(store.open_takes("c")) == 1
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

        asyncio.run(cancel())
        assert len(store.held("c")) == 2

    def test_a_put_back_that_fails_is_a_note_and_the_take_stays_open(
        self, store: ConversationStore, failing: Failing
    ) -> None:
        with pytest.raises(ValueError, match="mine") as raised, store.taking("c", "e") as take:
            failing.arm("INSERT", 1, StoreFull("full"))
            raise ValueError("mine")
        assert raised.value.__notes__ == [f"take {take.take_id!r} could not be put back and stays open: full"]
        assert [found.take_id for found in store.open_takes("c")] == [take.take_id]
        store.put_back("c", take)
        assert len(store.held("c")) == 2

    def test_a_confirm_that_fails_is_raised_and_the_take_stays_open(
        self, store: ConversationStore, failing: Failing
    ) -> None:
        with pytest.raises(StoreFull), store.taking("c", "e") as take:
            failing.arm("INSERT", 1, StoreFull("full"))
        assert [found.take_id for found in store.open_takes("c")] == [take.take_id]
        assert store.held("c") == []
        store.confirm("c", take)
        assert store.open_takes("c") == []

    def test_a_confirm_that_finds_the_store_locked_leaves_the_take_open(
        self, store: ConversationStore, path: Path
    ) -> None:
        other = sqlite3.connect(path, isolation_level=None)
        with pytest.raises(StoreBusy), store.taking("c", "e"):
            other.execute("BEGIN IMMEDIATE")
        other.close()
        assert len(store.open_takes("c")) == 1

    @pytest.mark.parametrize("settle", ["put_back", "confirm"])
    @pytest.mark.parametrize("fails", [False, True])
    def test_what_the_block_settled_is_left_alone(
        self, store: ConversationStore, settle: str, fails: bool
    ) -> None:
        def use() -> None:
            with store.taking("c", "e") as take:
                getattr(store, settle)("c", take)
                if fails:
                    raise ValueError("mine")

        if fails:
            with pytest.raises(ValueError, match="mine"):
                use()
        else:
            use()
        assert len(store.held("c")) == (2 if settle == "put_back" else 0)
        assert store.open_takes("c") == []


VARIABLES = {
    "PERSISTENCE_MODULE": "eventsourcing.popo",
    "SQLITE_DBNAME": "/nowhere/else.db",
    "SQLITE_LOCK_TIMEOUT": "never",
    "CIPHER_TOPIC": "eventsourcing.cipher:AESCipher",
    "CIPHER_KEY": "x",
    "COMPRESSOR_TOPIC": "zlib",
    "MAPPER_TOPIC": "os:system",
    "TRANSCODER_TOPIC": "os:system",
    "APPLICATION_RECORDER_TOPIC": "os:system",
    "CREATE_TABLE": "no",
    "IS_SNAPSHOTTING_ENABLED": "yes",
    "ORIGINATOR_ID_TYPE": "uuid",
}


def test_variables_of_the_environment_do_not_change_a_store(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in VARIABLES.items():
        for prefix in ("", "TURNLEDGER_"):
            monkeypatch.setenv(prefix + name, value)
    with ConversationStore(path) as store:
        store.append("c", user("x"))
        assert contents(store, "c") == ["x"]
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT state FROM stored_events").fetchone()[0].startswith(b"{")
    assert connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall() == [
        ("stored_events",),
        ("buffer_segments",),
    ]
    connection.close()


NAMES = [
    "a b.db",
    "what?.db",
    "a#b.db",
    "100%.db",
    "%41.db",
    "ünï-日本-🙂.db",
    "a?mode=memory.db",
    "it's;.db",
    "file:x.db",
]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", [str, Path, os.fsencode])
def test_a_path_may_hold_any_character(tmp_path: Path, name: str, kind: Callable[[Path], Any]) -> None:
    path = kind(tmp_path / name)
    with ConversationStore(path) as store:
        store.append("c", user("x"))
    assert [found.name for found in tmp_path.iterdir()] == [name]
    with ConversationStore(path, read_only=True) as store:
        assert contents(store, "c") == ["x"]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has names that are no text")
def test_a_path_may_be_bytes_that_are_no_text(tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/\xff\xfe.db"
    with ConversationStore(path) as store:
        store.append("c", user("x"))
    with ConversationStore(path, read_only=True) as store:
        assert contents(store, "c") == ["x"]
    assert os.path.exists(path)  # noqa: PTH110


@pytest.mark.parametrize(
    "url", ["store.db", "sqlite:///store.db", "./store.db", "sqlite:///{tmp_path}/store.db"]
)
def test_a_relative_path_is_meant_from_where_the_store_was_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    with ConversationStore(url.format(tmp_path=tmp_path)) as store:
        monkeypatch.chdir("elsewhere")
        store.append("c", user("x"))
        raised = in_threads(*[lambda: store.buffer("c")] * 4)  # each may open a connection of its own
        assert raised == []
    assert list((tmp_path / "elsewhere").iterdir()) == []
    assert len(fresh(tmp_path / "store.db")) == 1


@pytest.mark.parametrize("url", [":memory:", "sqlite://", "sqlite:///:memory:"])
def test_stores_in_memory_are_each_their_own(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with ConversationStore(url) as store, ConversationStore(url) as other:
        store.append("c", user("x"))
        assert list(other.conversations()) == []
        assert store.verify().ok
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("url", ["", "  ", "a\0b", "http://example.org/x", 7, None, "sqlite3:///x"])
def test_what_names_no_store_is_a_mistake_of_the_caller(url: Any) -> None:
    with pytest.raises(InvalidArgument):
        ConversationStore(url)


def make_corrupt_row(path: Path) -> None:
    with ConversationStore(path) as store:
        store.append("c", user("x"))
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("UPDATE stored_events SET state = NULL")
    connection.close()


def make_cut(path: Path) -> None:
    with ConversationStore(path) as store:
        store.append("c", user("x" * 50_000))
    path.write_bytes(path.read_bytes()[:20_000])


BROKEN: dict[str, tuple[Callable[[Path], object], int]] = {
    "a text": (lambda path: path.write_text("hello " * 500), 2),
    "a folder": (Path.mkdir, 2),
    "a damaged row": (make_corrupt_row, 1),
    "a file cut off": (make_cut, 1),
}


def run(path: Path, command: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """The command line; a traceback fails the test."""
    done = subprocess.run(
        [sys.executable, "-m", "turnledger", "--store", str(path), command, *arguments],
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
        timeout=60,
    )
    assert "Traceback" not in done.stderr + done.stdout
    return done


ARGUMENTS = {"show": ["c"], "append": ["c", "--role", "user", "--text", "y"], "verify": []}


@pytest.mark.parametrize("command", ARGUMENTS)
@pytest.mark.parametrize("kind", BROKEN)
def test_the_command_line_says_in_one_line_what_is_wrong_with_a_store(
    path: Path, kind: str, command: str
) -> None:
    make, code = BROKEN[kind]
    make(path)
    done = run(path, command, *ARGUMENTS[command])
    assert done.returncode == code, done.stdout + done.stderr
    if (kind, command) != ("a damaged row", "verify"):  # whose findings are its answer, not its complaint
        assert done.stderr.startswith("turnledger: ")
        assert len(done.stderr.splitlines()) == 1


def test_the_command_line_says_in_one_line_that_the_disk_is_full(tmp_path: Path) -> None:
    folder = tmp_path / "disk"
    folder.mkdir()
    with small_disk(folder):
        assert run(folder / "store.db", "append", *ARGUMENTS["append"]).returncode == 0
        with ConversationStore(folder / "store.db") as store:
            fill(store)
            store.close()
        messages = tmp_path / "messages.json"
        messages.write_text(json.dumps([user("y" * 2**20)]))
        done = run(folder / "store.db", "append", "c", str(messages))
    assert done.returncode == 2
    assert "no room to write" in done.stderr
    assert len(done.stderr.splitlines()) == 1
