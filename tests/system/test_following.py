"""Followers of a real file: killed, two at once, twice the same, on a damaged log, on another log."""

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from eventsourcing.popo import POPOApplicationRecorder

from tests.contract.command_line import damage
from tests.system import kill_follower
from tests.system.histories import compacting, forking, healing, pausing, requesting, written
from tests.system.processes import UNPRIVILEGED, body
from tests.tables import all_conversations, assert_tables_show
from turnledger import (
    ConversationStore,
    InvalidArgument,
    NotReadModels,
    ReadModels,
    Search,
    StoreBusy,
    StoreClosed,
    StoreDamaged,
    StoreNotFound,
)
from turnledger.infrastructure.following import RecorderFollowed
from turnledger.infrastructure.read_models import models as models_module

CID = "c"


def user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


def rows(models: ReadModels) -> list[list[dict[str, object]]]:
    tables = ("conversations", "entries", "calls", "artifacts", "takes", "executions", "requests", "events")
    return [list(models.rows(f"SELECT * FROM {table}")) for table in tables]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return written(tmp_path / "chats.db", healing)


@pytest.mark.parametrize("history", [healing, pausing, compacting, requesting, forking])
def test_the_tables_show_a_recorded_history(tmp_path: Path, history: object) -> None:
    path = written(tmp_path / "chats.db", history)  # type: ignore[arg-type]
    with ConversationStore(path, read_only=True) as store, store.read_models() as models:
        assert models.catch_up().lag == 0
        for found in all_conversations(store):
            assert_tables_show(models, store, found, store.version(found))


def test_a_follower_that_is_killed_leaves_the_tables_right(tmp_path: Path) -> None:
    told = kill_follower.main(4, seed=1, folder=tmp_path)
    assert told.startswith("4 kills")


def test_events_that_come_twice_change_nothing(path: Path) -> None:
    with ConversationStore(path) as store, store.read_models() as models:
        models.catch_up()
        last = models.standing().position
        store.append(CID, user("one more"))
        again = models._followed.behind(0)
        models._followed.behind = lambda position: again  # type: ignore[method-assign]
        assert models.catch_up().position == last + 1
        assert models.verify().ok
        before = rows(models)
        models._recognized = False
        assert models.catch_up().position == last + 1
        assert rows(models) == before


def test_any_recorder_of_eventsourcings_can_be_followed_and_pushes_where_it_can(path: Path) -> None:
    recorder, stop = POPOApplicationRecorder(), threading.Event()
    with ConversationStore(path) as store, store.read_models() as same:
        log = same._followed

        def copy(after: int) -> None:
            recorder.insert_events([one.row for one in log.behind(after)])

        copy(0)
        with ReadModels(RecorderFollowed(recorder), None) as models:
            models.catch_up()
            same.catch_up()
            assert rows(models) == rows(same)
            assert models.verify().ok
            store.append(CID, user("one more"))
            timer = threading.Timer(0.05, copy, [10])
            timer.start()
            models.follow(stop, lambda standing: stop.set() if standing.position == 11 else None)
            timer.join()
            assert models.standing().position == 11


def test_two_followers_on_one_file_take_turns(path: Path) -> None:
    with (
        ConversationStore(path) as store,
        store.read_models() as one,
        store.read_models() as other,
    ):
        for number in range(6):
            store.append(CID, user(f"message {number}"))
            (one, other)[number % 2].catch_up()
        assert other.standing() == one.standing()
        assert one.verify().ok
        one.rebuild()
        store.append(CID, user("and another"))
        assert other.catch_up().lag == 0
        assert other.verify().ok


def test_a_follower_that_finds_the_file_locked_says_so(path: Path) -> None:
    with ConversationStore(path, timeout_s=0.05) as store, store.read_models() as models:
        with closing(sqlite3.connect(str(models.path), isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(StoreBusy, match="another follower"):
                models.catch_up()
        assert models.catch_up().lag == 0


def test_following_sees_what_this_process_and_another_writes_and_ends_when_asked(path: Path) -> None:
    stop, seen = threading.Event(), []
    with ConversationStore(path) as store, store.read_models() as models:

        def follow() -> None:
            models.follow(stop, lambda standing: seen.append(standing.position))

        thread = threading.Thread(target=follow)
        thread.start()
        store.append(CID, user("from here"))
        with ConversationStore(path) as other:
            other.append(CID, user("from elsewhere"))
            last = other.version(CID)
        end = time.monotonic() + 60
        while (not seen or seen[-1] < last) and time.monotonic() < end:
            time.sleep(0.01)
        stop.set()
        thread.join(60)
        assert seen[-1] == last
        assert models.verify().ok


def test_a_rebuild_gives_the_same_rows(path: Path) -> None:
    with ConversationStore(path, read_only=True) as store, store.read_models() as models:
        models.catch_up()
        before = rows(models)
        models.rebuild()
        assert rows(models) == before


def test_what_was_changed_in_the_file_is_found_and_a_rebuild_mends_it(path: Path) -> None:
    with ConversationStore(path, read_only=True) as store, store.read_models() as models:
        models.catch_up()
        with closing(sqlite3.connect(str(models.path))) as other, other:
            other.execute("UPDATE entries SET text = 'forged' WHERE entry_id = 1")
            other.execute("DELETE FROM calls WHERE id = 2")
            other.execute("INSERT INTO executions (conversation_id, execution_id) VALUES ('c', 'made up')")
        report = models.verify()
        assert not report.ok
        assert {(row.table, row.what) for row in report.first} == {
            ("entries_fts", "does not index what the table holds"),
            ("entries", "text"),
            ("calls", "missing"),
            ("executions", "too much"),
        }
        models.rebuild()
        assert models.verify().ok


def test_a_view_that_somebody_adds_is_left_alone(path: Path) -> None:
    with ConversationStore(path, read_only=True) as store, store.read_models() as models:
        models.catch_up()
        with closing(sqlite3.connect(str(models.path))) as other:
            other.execute(
                "CREATE VIEW mine AS SELECT COUNT(*) AS answered FROM calls WHERE state = 'answered'"
            )
        assert models.verify().ok
        models.rebuild()
        assert list(models.rows("SELECT * FROM mine")) == [{"answered": 2}]


def test_foreign_keys_hold(tmp_path: Path) -> None:
    path = written(tmp_path / "chats.db", forking)
    with ConversationStore(path, read_only=True) as store, store.read_models() as models:
        models.catch_up()
        assert not list(models.rows("PRAGMA foreign_key_check"))


def test_a_damaged_event_is_told_and_harms_no_other_conversation(path: Path) -> None:
    with ConversationStore(path) as store:
        store.append("other", user("hello"))
    damage(path, CID, 4)
    with ConversationStore(path, read_only=True) as store, store.read_models() as models:
        assert models.catch_up().lag == 0
        (one,) = models.rows("SELECT damaged, version FROM conversations WHERE conversation_id = 'c'")
        assert (str(one["damaged"])[:11], one["version"]) == ("version 4: ", 3)
        told = [row["kind"] for row in models.rows("SELECT kind FROM events WHERE conversation_id = 'c'")]
        assert told[:5] == ["started", "user", "assistant", "damaged", "healed"]
        assert_tables_show(models, store, "other", 2)
        assert models.statistics().damaged == 1
        assert models.verify().ok


def test_an_event_that_does_not_fit_is_told_as_damage(path: Path) -> None:
    with closing(sqlite3.connect(path)) as database, database:
        state = database.execute("SELECT state FROM stored_events WHERE originator_version = 4").fetchone()[0]
        changed = state.replace(b'"behind":2', b'"behind":9')
        assert changed != state
        database.execute("UPDATE stored_events SET state = ? WHERE originator_version = 4", (changed,))
    with ConversationStore(path, read_only=True) as store, store.read_models() as models:
        models.catch_up()
        (one,) = models.rows("SELECT damaged FROM conversations")
        assert str(one["damaged"]).startswith("version 4: it does not fit the events before it")


def test_a_file_that_followed_another_log_is_refused_and_can_be_rebuilt(path: Path, tmp_path: Path) -> None:
    other = written(tmp_path / "other.db", pausing)
    reads = tmp_path / "reads.db"
    with ConversationStore(path) as store, store.read_models(reads) as models:
        models.catch_up()
    with ConversationStore(other) as store, store.read_models(reads) as models:
        with pytest.raises(NotReadModels, match="rebuild"):
            models.catch_up()
        models.rebuild()
        assert models.verify().ok


def test_an_older_copy_of_the_log_in_its_place_is_noticed(path: Path) -> None:
    copy = path.with_name("copy.db")
    shutil.copy(path, copy)
    with ConversationStore(path) as store, store.read_models() as models:
        store.append(CID, user("lost"))
        models.catch_up()
    shutil.copy(copy, path)
    with ConversationStore(path) as store, store.read_models() as models, pytest.raises(NotReadModels):
        models.catch_up()


def test_what_is_no_read_model_file_is_left_alone(path: Path, tmp_path: Path) -> None:
    before = path.read_bytes()
    with ConversationStore(path, read_only=True) as store:
        with pytest.raises(NotReadModels):
            store.read_models(path)
        text = tmp_path / "notes.txt"
        text.write_text("no database at all, but long enough to be looked at as one\n" * 20)
        with pytest.raises((NotReadModels, StoreDamaged)):
            store.read_models(text)
    assert path.read_bytes() == before


def test_a_store_in_memory_needs_a_name_for_its_read_models(tmp_path: Path) -> None:
    with ConversationStore(":memory:") as store:
        store.append(CID, user("hello"))
        with pytest.raises(InvalidArgument):
            store.read_models()
        with store.read_models(tmp_path / "reads.db") as models:
            models.catch_up()
            assert [hit.text for hit in models.search(Search(words="HELLO"))] == ["hello"]


def test_a_search_is_narrowed_down(path: Path) -> None:
    with ConversationStore(path) as store, store.read_models() as models:
        store.append("other", [user("find it"), {"role": "assistant", "content": "found nothing"}])
        models.catch_up()

        def found(words: str, **given: object) -> list[tuple[str, int | None]]:
            hits = models.search(Search(words=words, **given))  # type: ignore[arg-type]
            return sorted((hit.conversation_id, hit.entry) for hit in hits)

        assert found("found") == [("c", 3), ("c", 7), ("other", 2)]
        assert found("found", role="tool") == [("c", 3), ("c", 7)]
        assert found("found", conversation_id="other") == [("other", 2)]
        assert found("found", state="replaced") == [("c", 3)]
        assert found("fou*", role="assistant") == [("other", 2)]
        assert found('"found nothing"') == [("other", 2)]
        assert found("search", tool="search") == [("c", 2), ("c", 6)]
        assert found("found", tool="search") == [("c", 3), ("c", 7)]
        assert found('" OR NOT ( found') == []
        with pytest.raises(InvalidArgument):
            found('"')
        (hit,) = models.search(Search(words="nothing"))
        assert [hit.text[begin:end] for begin, end in hit.highlights] == ["nothing"]


def test_plain_words_are_a_search(path: Path) -> None:
    with ConversationStore(path) as store, store.read_models() as models:
        store.append(CID, user("hello Lisbon"))
        models.catch_up()
        hits = models.search("lisbon")
        assert [hit.text for hit in hits] == ["hello Lisbon"]
        assert models.search(Search("lisbon")) == models.search(Search(words="lisbon")) == hits
        for none in ("", None, b"lisbon", ["lisbon"], {"words": "lisbon"}):
            with pytest.raises(InvalidArgument, match="give words"):
                models.search(none)  # type: ignore[arg-type]


def test_a_run_of_chinese_is_one_word_and_found_by_its_beginning(path: Path) -> None:
    with ConversationStore(path) as store, store.read_models() as models:
        store.append(CID, user("会议在里斯本"))
        models.catch_up()
        found = {words: len(models.search(words)) for words in ("会议", "会议*", "里斯本*", "会议在里斯本")}
        assert found == {"会议": 0, "会议*": 1, "里斯本*": 0, "会议在里斯本": 1}
        assert [one.conversation_id for one in store.conversations(saying="里斯本")] == [CID]


def test_a_late_result_is_found_and_its_placeholder_no_longer(path: Path) -> None:
    with ConversationStore(path) as store, store.read_models() as models:
        models.catch_up()
        store.append(CID, {"role": "tool", "tool_call_id": "b", "content": "at last"})
        models.catch_up()
        assert [hit.entry for hit in models.search(Search(words="last"))] == [4]
        assert models.search(Search(words="interrupted")) == []


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs POSIX signals")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 0)])
def test_a_follower_that_is_asked_to_end_says_where_it_is(path: Path, number: int, code: int) -> None:
    command = [sys.executable, "-m", "turnledger", "--store", str(path), "follow"]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "COLUMNS": "200"},
    ) as follower:
        assert follower.stdout is not None
        assert "0 behind" in follower.stdout.readline()
        with ConversationStore(path) as store:
            store.append(CID, user("one more"))
        follower.send_signal(number)
        _, err = follower.communicate(timeout=60)
    assert (follower.returncode, err) == (code, "")


@pytest.mark.parametrize(
    "search",
    [
        {"words": None},
        {"of": "anything"},
        {"limit": 0},
        {"limit": True},
        {"limit": "5"},
        {"conversation_id": "a\0"},
        {"conversation_id": "\ud800"},
    ],
)
def test_a_search_that_has_no_meaning_is_refused(search: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument):
        Search(**{"words": "x", **search})


@pytest.mark.parametrize(
    "words",
    [
        "a AND",
        "NEAR(a b)",
        '"open',
        'a" OR "b',
        "a*",
        "*a",
        "^a",
        "text:a",
        "-a",
        "(a",
        "a\0b",
        "a\ud800",
        "ß😀",
    ],
)
def test_whatever_the_words_hold_is_looked_for_and_no_language(path: Path, words: str) -> None:
    with ConversationStore(path) as store, store.read_models() as models:
        models.catch_up()
        for of in ("entries", "events"):
            assert models.search(Search(words=words, of=of)) is not None
        assert models.search(Search(words=words, tool="\ud800", limit=10**30)) == []
        assert models.conversations(saying=words) is not None


@pytest.mark.parametrize("statement", ["SELEC", "SELECT nothing", "SELECT ?", "SELECT 1; SELECT 2", ""])
def test_a_statement_that_selects_no_rows_is_no_damage(path: Path, statement: str) -> None:
    with ConversationStore(path) as store, store.read_models() as models:
        models.catch_up()
        with pytest.raises(InvalidArgument, match="selects no rows"):
            list(models.rows(statement))
        assert models.verify().ok


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM entries",
        "DELETE FROM entries RETURNING entry_id",
        "UPDATE calls SET name = 'forged' RETURNING name",
        "WITH one AS (SELECT 1) DELETE FROM entries RETURNING entry_id",
        "INSERT INTO entries_fts (entries_fts) VALUES ('delete-all') RETURNING 1",
        "PRAGMA user_version=9",
        "PRAGMA journal_mode=DELETE",
        "PRAGMA Query_Only(1)",
        "PRAGMA optimize",
        "PRAGMA wal_checkpoint",
        "CREATE TEMP TABLE mine AS SELECT 1",
        "UPDATE sqlite_master SET sql = '' RETURNING name",
    ],
)
@pytest.mark.parametrize("in_memory", [False, True])
def test_a_query_cannot_write_and_is_told_so(path: Path, statement: str, in_memory: bool) -> None:
    with ConversationStore(path) as store, store.read_models(":memory:" if in_memory else None) as models:
        models.catch_up()
        before = rows(models)
        with pytest.raises(InvalidArgument, match=r"only reads|selects no rows"):
            list(models.rows(statement))
        assert rows(models) == before
        assert list(models.rows("PRAGMA user_version")) == [{"user_version": 0}]
        store.append(CID, user("more"))
        assert models.catch_up().lag == 0
        assert models.verify().ok


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT entry FROM entries_fts AS f JOIN entries ON entry_id = f.rowid WHERE f.text MATCH 'hello'",
        "SELECT snippet(entries_fts, -1, '', '', '', 4) FROM entries_fts('hello')",
        "SELECT * FROM buffers",
        "SELECT * FROM slowest_tools",
        "SELECT j.value FROM calls, json_each(calls.arguments) AS j UNION SELECT 1",
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION SELECT i + 1 FROM n WHERE i < 3) SELECT i FROM n",
        "SELECT name FROM pragma_table_info('entries')",
        "PRAGMA table_info(entries)",
        "EXPLAIN QUERY PLAN SELECT * FROM entries",
    ],
)
def test_whatever_reads_is_a_query(path: Path, statement: str) -> None:
    with ConversationStore(path) as store:
        store.append(CID, user("hello"))
        with store.read_models() as models:
            models.catch_up()
        with store.read_models() as models:
            assert list(models.rows(statement))


def test_rows_may_be_read_while_the_follower_goes_on(path: Path) -> None:
    with ConversationStore(path) as store, store.read_models() as models:
        models.catch_up()
        found = models.rows("SELECT * FROM events")
        next(found)
        assert list(models.rows("SELECT 1 AS one")) == [{"one": 1}]
        assert next(found)


def test_closed_read_models_say_that_they_are_closed(path: Path) -> None:
    with ConversationStore(path) as store:
        models = store.read_models()
        models.close()
        for call in (models.catch_up, models.standing, models.waiting, lambda: list(models.rows("SELECT 1"))):
            with pytest.raises(StoreClosed, match="read models again"):
                call()


def test_a_file_that_is_no_database_is_not_said_to_be_one_to_delete(path: Path, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine\n" * 1000)
    with ConversationStore(path) as store, pytest.raises(NotReadModels, match="something else"):
        store.read_models(tmp_path / "notes.txt")


@pytest.mark.parametrize("harm", ["DELETE FROM following", "UPDATE following SET position = 'x'"])
def test_read_models_that_do_not_say_how_far_they_are_are_damaged(path: Path, harm: str) -> None:
    with ConversationStore(path) as store:
        with store.read_models() as models:
            models.catch_up()
        with closing(sqlite3.connect(path.with_name("chats-read.db"))) as connection, connection:
            connection.execute(harm)
        with pytest.raises(StoreDamaged, match="delete it"):
            store.read_models()


def _lag(store: ConversationStore) -> int | None:
    try:
        with store.read_models(create=False) as models:
            return models.standing().lag
    except StoreNotFound:
        return None


def test_a_file_deleted_under_its_follower_is_made_anew(path: Path) -> None:
    with ConversationStore(path) as store, store.read_models() as models:
        models.catch_up()
        before = rows(models)
        for left in path.parent.glob("chats-read.db*"):
            left.unlink()
        models.catch_up()
        with store.read_models(create=False) as others:
            assert rows(others) == before
        stop = threading.Event()
        thread = threading.Thread(target=models.follow, args=(stop,))
        thread.start()
        path.with_name("chats-read.db").unlink()
        store.append(CID, user("news"))
        while _lag(store) != 0:
            time.sleep(0.01)
        stop.set()
        thread.join()


def test_a_file_deleted_under_an_idle_follower_comes_back_when_it_next_looks(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert models_module.LOOKS_EVERY_S == 60
    monkeypatch.setattr(models_module, "LOOKS_EVERY_S", 0.2)
    stop = threading.Event()
    with ConversationStore(path) as store, store.read_models() as models:
        models.catch_up()
        thread = threading.Thread(target=models.follow, args=(stop,))
        thread.start()
        path.with_name("chats-read.db").unlink()
        end = time.monotonic() + 30
        while _lag(store) != 0 and time.monotonic() < end:
            time.sleep(0.01)
        assert _lag(store) == 0
        stop.set()
        thread.join()


def test_a_long_text_that_says_the_words_often_is_found_at_once(path: Path) -> None:
    with ConversationStore(path) as store, store.read_models() as models:
        store.append(CID, user("before it all " * 400 + "Évora error in line; " * 60_000))
        models.catch_up()
        (hit,) = models.search(Search(words="evora err*"))
        assert hit.text.startswith("…")
        assert "before it all Évora error" in hit.text
        assert {hit.text[begin:end] for begin, end in hit.highlights} == {"Évora", "error"}
        assert len(hit.text) < 300


@pytest.fixture
def locked_up() -> Iterator[Path]:
    """A folder that nobody special may read, not write; its read models are one event behind."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with ConversationStore(folder / "chats.db") as store:
            store.append(CID, user("hello"))
            with store.read_models() as models:
                models.catch_up()
            store.append(CID, user("hello again"))
        for file in folder.iterdir():
            file.chmod(0o444)
        folder.chmod(0o555)
        yield folder
        folder.chmod(0o755)


_RUN = f"""
    import os, rich.progress
    import turnledger.cli.searching, turnledger.cli.following
    if os.geteuid() == 0:  # after the imports: the interpreter may stand where only root can read
        os.setgroups([])
        os.setgid({UNPRIVILEGED})
        os.setuid({UNPRIVILEGED})
    sys.stderr = sys.stdout
    try:
        turnledger.cli.main(sys.argv[1:])
    except SystemExit as end:
        print("code", end.code)
"""


def test_read_models_that_cannot_be_written_are_read_as_far_as_they_go(locked_up: Path) -> None:
    before = (locked_up / "chats-read.db").read_bytes()
    store = ("--store", locked_up / "chats.db")
    found = body(_RUN, "search", "hello", *store)
    assert "without the newest 1 event: " in found
    assert "--read-models FILE" in found
    assert "c  entry 1  user" in found
    assert "code 0" in found
    assert "entries       1" in body(_RUN, "stats", *store)
    assert "all the same" in body(_RUN, "follow", "--verify", *store)
    for what in (["--once"], ["--rebuild"], ["--once", "--read-models", locked_up / "more.db"]):
        assert "--read-models /" in body(_RUN, "follow", *what, *store)
    assert (locked_up / "chats-read.db").read_bytes() == before
    assert sorted(file.name for file in locked_up.iterdir()) == ["chats-read.db", "chats.db"]


def test_read_models_that_cannot_be_written_are_caught_up_when_nothing_is_missing(locked_up: Path) -> None:
    code = """
    import sys
    with ConversationStore(sys.argv[1], read_only=True) as store, store.read_models(sys.argv[2]) as models:
        try:
            print(models.catch_up().lag, len(models.search("hello")), models.verify().ok)
        except TurnledgerError as error:
            print(type(error).__name__)
    """
    locked_up.chmod(0o755)
    with ConversationStore(locked_up / "chats.db") as store, store.read_models() as models:
        models.catch_up()
    with ConversationStore(locked_up / "other.db") as store, store.read_models() as models:
        store.append(CID, user("hello"))
        models.catch_up()
    for file in locked_up.iterdir():
        file.chmod(0o444)
    locked_up.chmod(0o555)
    for name, told in (("chats-read.db", "0 2 True"), ("other-read.db", "NotReadModels")):
        given = (locked_up / "chats.db", locked_up / name)
        assert body(code, *given, unprivileged=True) == told


def test_a_search_index_that_is_broken_is_found_where_nothing_can_be_written(locked_up: Path) -> None:
    locked_up.chmod(0o755)
    with closing(sqlite3.connect(locked_up / "chats-read.db")) as connection, connection:
        connection.execute("INSERT INTO entries_fts (entries_fts) VALUES ('delete-all')")
    locked_up.chmod(0o555)
    told = body(_RUN, "follow", "--verify", "--store", locked_up / "chats.db")
    assert "entries_fts" in told
