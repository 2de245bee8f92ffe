"""Damage: one row, or the file itself. Each has its own clear error, and harms nothing else."""

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.system.processes import assistant, contents, result, user
from turnledger import (
    CallHealed,
    ConversationStore,
    CorruptEvent,
    Envelope,
    NewerLog,
    NotAStore,
    StoreDamaged,
    StoreNotFound,
    TurnledgerError,
)

BAD = 3
HELD = {"type": "t", "payload": {}}


@pytest.fixture(name="path")
def store_with_two_conversations(tmp_path: Path) -> Path:
    """`bad` has versions 1 to 6, of which the third will be damaged; `good` stays as it is."""
    path = tmp_path / "store.db"
    with ConversationStore(path) as store:
        store.append("bad", [user("one"), assistant("two", "a"), result("a"), user("four"), user("five")])
        store.append("good", user("fine"))
    return path


def execute(path: Path, statement: str, *parameters: object) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(statement, parameters)


def set_row(assignment: str, *parameters: object, version: int = BAD) -> Callable[[Path], None]:
    return lambda path: execute(
        path,
        f"UPDATE stored_events SET {assignment} WHERE originator_id = 'bad' AND originator_version = ?",
        *parameters,
        version,
    )


def delete_row(path: Path) -> None:
    execute(path, "DELETE FROM stored_events WHERE originator_id = 'bad' AND originator_version = ?", BAD)


def swap_rows(path: Path) -> None:
    for before, after in ((BAD, -1), (BAD + 1, BAD), (-1, BAD + 1)):
        execute(
            path,
            "UPDATE stored_events SET originator_version = ?"
            " WHERE originator_id = 'bad' AND originator_version = ?",
            after,
            before,
        )


ROW_OF_OTHER = (
    "state = (SELECT state FROM stored_events WHERE originator_id = 'bad' AND originator_version = 2)"
)
DAMAGES: dict[str, Callable[[Path], None]] = {
    "bytes overwritten": set_row("state = CAST(substr(state, 1, 9) || x'ff00' || substr(state, 12) AS BLOB)"),
    "half of it gone": set_row("state = substr(state, 1, length(state) / 2)"),
    "no state": set_row("state = NULL"),
    "text for state": set_row("state = 'two'"),
    "a number for state": set_row("state = 7"),
    "other JSON": set_row("state = ?", b"[1]"),
    "empty JSON": set_row("state = ?", b"{}"),
    "another event's topic": set_row("topic = 'turnledger.EntriesEvicted'"),
    "a topic that is no text": set_row("topic = x'00'"),
    "no topic": set_row("topic = NULL"),
    "another version's event": set_row(ROW_OF_OTHER),
    "row deleted": delete_row,
}


def rows(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        return int(connection.execute("SELECT COUNT(*) FROM stored_events").fetchone()[0])


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_row_is_named_by_whatever_reads_it_and_harms_no_other_conversation(
    path: Path, damage: str
) -> None:
    DAMAGES[damage](path)
    left = rows(path)
    with ConversationStore(path) as store:
        for reading in (
            lambda: store.buffer("bad"),
            lambda: store.sendable("bad"),
            lambda: store.wire("bad", at=4),
            lambda: list(store.events("bad")),
            lambda: store.append("bad", user("more")),
            lambda: store.hold("bad", "e", [HELD]),
        ):
            with pytest.raises(CorruptEvent) as raised:
                reading()
            assert (raised.value.conversation_id, raised.value.version) == ("bad", BAD)
            assert raised.value.reason
            assert "\n" not in str(raised.value)
        assert rows(path) == left
        assert [m["content"] for m in store.buffer("bad", at=2)] == ["one"]
        assert store.append("good", user("still")).count == 2
        assert contents(store, "good") == ["fine", "still"]
        assert [found.conversation_id for found in store.conversations()] == ["bad", "good"]
        assert [found.version for found in store.conversations()] == [6, 3]
        report = store.verify()
        assert {finding.conversation_id for finding in report.findings} == {"bad"}


@pytest.mark.parametrize("damage", DAMAGES)
def test_skipping_what_is_damaged_gives_what_is_sound_and_lists_the_rest(path: Path, damage: str) -> None:
    DAMAGES[damage](path)
    with ConversationStore(path) as store:
        events = store.events("bad", damaged="skip")
        assert [event.version for event in events] == [1, 2, 4, 5, 6]
        assert [found.version for found in events.damaged] == [BAD]


def test_swapped_rows_are_both_named(path: Path) -> None:
    swap_rows(path)
    with ConversationStore(path) as store:
        with pytest.raises(
            CorruptEvent, match=f"version {BAD}: the row holds the event of version {BAD + 1}"
        ):
            store.buffer("bad")
        events = store.events("bad", damaged="skip")
        assert [event.version for event in events] == [1, 2, 5, 6]
        assert [found.version for found in events.damaged] == [BAD, BAD + 1]


@pytest.mark.parametrize("version", [2, 3, 5])
def test_a_changed_text_that_still_reads_well_is_told_by_the_chain(path: Path, version: int) -> None:
    set_row("state = CAST(replace(CAST(state AS TEXT), '\"o', '\"0') AS BLOB)", version=2)(path)
    set_row("state = CAST(replace(CAST(state AS TEXT), 'two', 'TWO') AS BLOB)", version=3)(path)
    with ConversationStore(path) as store:
        with pytest.raises(CorruptEvent) as raised:
            store.buffer("bad")
        assert raised.value.version in (2, 3)
        events = store.events("bad", damaged="skip", to=version)
        assert [event.version for event in events] == [n for n in (1, 4, 5) if n <= version]
        assert [found.version for found in events.damaged] == [n for n in (2, 3) if n <= version]


def test_an_event_that_reads_well_but_fits_nothing_before_it_is_named_each_time_it_is_read(
    path: Path,
) -> None:
    """Half of it was folded once, and the second reading took that for the whole."""
    with ConversationStore(path) as store:
        last = list(store.events("bad"))[-1]
        envelope = Envelope(version=6, time=last.time, batch=6, previous=last.previous)
        odd = CallHealed(
            conversation_id="bad",
            envelope=envelope,
            entry=9,
            call_id="a",
            turn_entry=2,
            behind=77,
            content="x",
        )
        row = store._application.mapper.stored(odd)
        set_row("topic = ?, state = ?", row.topic, row.state, version=6)(path)
    with ConversationStore(path) as store:
        for _ in range(2):
            with pytest.raises(CorruptEvent, match="version 6: it does not fit"):
                store.buffer("bad")
            with pytest.raises(CorruptEvent, match="version 6: it does not fit"):
                store.append("bad", user("x"))
        assert len(store.buffer("bad", at=5)) == 4


@pytest.mark.parametrize(
    "newer",
    [
        set_row("topic = 'turnledger.MessageRedacted'"),
        set_row("topic = 'os:system'"),
        set_row(
            "state = CAST(replace(CAST(state AS TEXT), ?, ?) AS BLOB)",
            '"envelope":{',
            '"envelope":{"schema_number":99,',
        ),
    ],
    ids=["unknown topic", "topic of a module", "newer schema"],
)
def test_what_a_newer_release_wrote_is_refused_and_not_written_to(
    path: Path, newer: Callable[[Path], None]
) -> None:
    newer(path)
    left = rows(path)
    with ConversationStore(path) as store:
        for call in (
            lambda: store.buffer("bad"),
            lambda: list(store.events("bad")),
            lambda: store.append("bad", user("x")),
            lambda: store.take("bad", "e"),
        ):
            with pytest.raises(NewerLog, match=f"version {BAD}.*a newer turnledger reads it"):
                call()
        assert rows(path) == left
        assert [found.version for found in store.conversations()] == [6, 2]
        events = store.events("bad", damaged="skip")
        assert [event.version for event in events] == [1, 2, 4, 5, 6]
        assert [found.version for found in events.damaged] == [BAD]
        store.append("good", user("still"))


def test_bytes_that_are_no_text_in_a_topic_or_an_id_stop_no_other_reading(path: Path) -> None:
    set_row("topic = CAST(x'ff41' AS TEXT)")(path)
    execute(path, "INSERT INTO stored_events VALUES (CAST(x'ff42' AS TEXT), 1, 'x', x'00')")
    with ConversationStore(path) as store:
        with pytest.raises(NewerLog):
            store.buffer("bad")
        assert [found.conversation_id for found in store.conversations()][:2] == ["bad", "good"]
        assert contents(store, "good") == ["fine"]


def test_a_row_whose_version_is_no_number_counts_for_nothing(path: Path) -> None:
    set_row("originator_version = 'x'", version=6)(path)
    with ConversationStore(path) as store:
        assert store.version("bad") == 5
        assert len(store.buffer("bad")) == 4


def read_all(path: Path) -> dict[str, list[str]]:
    with ConversationStore(path) as store:
        ids = [found.conversation_id for found in store.conversations()]
        for found in ids:
            list(store.events(found))
        return {found: contents(store, found) for found in ids}


@pytest.fixture(name="big")
def store_of_many_pages(tmp_path: Path) -> Path:
    path = tmp_path / "big.db"
    with ConversationStore(path) as store:
        for n in range(40):
            store.append(f"c{n % 4}", user(f"{n} " + "x" * 2000))
    return path


@pytest.mark.parametrize("length", [1, 50, 99, 100, 512, 4095, 4096, 4097, 0.25, 0.5, 0.9, -4096])
def test_a_file_that_was_cut_off_says_so(big: Path, length: float) -> None:
    content = big.read_bytes()
    kept = round(length * len(content)) if isinstance(length, float) else int(length) % len(content)
    big.write_bytes(content[:kept])
    with pytest.raises((StoreDamaged, NotAStore), match=f"{big} .*damaged"):
        read_all(big)
    assert big.read_bytes() == content[:kept]


@pytest.fixture(name="crashed")
def store_with_its_changes_in_the_log(tmp_path: Path, path: Path) -> Iterator[Path]:
    """A copy of a store as a crash leaves it: the last changes stand in the -wal file only."""
    copy = tmp_path / "copy.db"
    with ConversationStore(path) as store:
        for n in range(5):
            store.append("good", user(f"{n}"))
        for suffix in ("", "-wal"):
            Path(f"{copy}{suffix}").write_bytes(Path(f"{path}{suffix}").read_bytes())
        yield copy


def test_a_store_left_by_a_crash_opens_with_every_change(crashed: Path) -> None:
    assert read_all(crashed)["good"] == ["fine", "0", "1", "2", "3", "4"]


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.95])
def test_a_log_that_was_cut_off_loses_its_end_and_nothing_before(crashed: Path, share: float) -> None:
    wal = Path(f"{crashed}-wal")
    content = wal.read_bytes()
    wal.write_bytes(content[: round(share * len(content))])
    found = read_all(crashed)["good"]
    assert found == ["fine", "0", "1", "2", "3", "4"][: len(found)]
    assert len(found) < 6
    with ConversationStore(crashed) as store:
        assert store.append("good", user("on")).count == len(found) + 1
        assert store.verify().ok


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_a_file_that_was_cut_off_beside_its_log_is_whole_or_says_so(crashed: Path, share: float) -> None:
    content = crashed.read_bytes()
    crashed.write_bytes(content[: round(share * len(content))])
    try:
        found = read_all(crashed)
    except (StoreDamaged, NotAStore):
        return
    assert found["good"] == ["fine", "0", "1", "2", "3", "4"]


@pytest.mark.parametrize("gone", [True, False], ids=["deleted", "emptied"])
def test_an_emptied_file_does_not_cost_the_changes_that_its_log_still_holds(
    crashed: Path, gone: bool
) -> None:
    """SQLite deletes the log of a database that has no pages."""
    wal = Path(f"{crashed}-wal")
    content = wal.read_bytes()
    if gone:
        crashed.unlink()
    else:
        crashed.write_bytes(b"")
    with pytest.raises(StoreDamaged, match=r"copy.db-wal still holds changes"):
        ConversationStore(crashed)
    assert wal.read_bytes() == content


def test_a_file_whose_pages_were_overwritten_says_so_and_other_pages_still_read(big: Path) -> None:
    content = bytearray(big.read_bytes())
    content[-4096:] = b"\xa5" * 4096
    big.write_bytes(bytes(content))
    with pytest.raises((StoreDamaged, CorruptEvent)):
        read_all(big)


def make_text(path: Path) -> None:
    path.write_text("Dear diary,\n" * 500)


def make_foreign(path: Path) -> None:
    execute(path, "CREATE TABLE notes (text)")


def make_foreign_with_our_table(path: Path) -> None:
    execute(path, "CREATE TABLE stored_events (id, text)")


def make_fifo(path: Path) -> None:
    os.mkfifo(path)


NO_STORES: dict[str, tuple[Callable[[Path], object], type[TurnledgerError], str]] = {
    "a text": (make_text, NotAStore, "no SQLite database"),
    "another program's database": (make_foreign, NotAStore, "another program's database"),
    "another program's table of our name": (make_foreign_with_our_table, NotAStore, "another program's"),
    "a folder": (Path.mkdir, NotAStore, "is a folder"),
    "a pipe": (make_fifo, NotAStore, "no ordinary file"),
}


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize("kind", NO_STORES)
def test_what_is_no_store_is_told_apart_and_left_as_it_is(tmp_path: Path, kind: str, read_only: bool) -> None:
    make, error, text = NO_STORES[kind]
    path = tmp_path / "thing"
    make(path)
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(error, match=text) as raised:
        ConversationStore(path, read_only=read_only)
    assert str(path) in str(raised.value)
    assert (path.read_bytes() if path.is_file() else None) == before
    assert sorted(found.name for found in tmp_path.iterdir()) == ["thing"]


def test_a_missing_folder_a_missing_file_and_an_empty_file_each_say_what_they_are(tmp_path: Path) -> None:
    with pytest.raises(StoreNotFound, match="there is no folder"):
        ConversationStore(tmp_path / "none" / "store.db")
    for options in ({"create": False}, {"read_only": True}):
        with pytest.raises(StoreNotFound, match="there is no store at"):
            ConversationStore(tmp_path / "store.db", **options)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "empty.db").touch()
    for options in ({"create": False}, {"read_only": True}):
        with pytest.raises(NotAStore, match="it holds nothing"):
            ConversationStore(tmp_path / "empty.db", **options)  # type: ignore[arg-type]
    with ConversationStore(tmp_path / "empty.db") as store:
        store.append("c", user("x"))


def test_a_store_of_a_newer_format_asks_for_an_upgrade(path: Path) -> None:
    execute(path, "PRAGMA user_version=99")
    with pytest.raises(NewerLog, match="upgrade"):
        ConversationStore(path)


def test_a_name_that_no_system_takes_is_a_mistake_of_the_caller(tmp_path: Path) -> None:
    with pytest.raises(TurnledgerError, match="out of reach"):
        ConversationStore(tmp_path / ("n" * 300))
