"""Cold readings start from segments of the buffer: a cache, which must never say what the log does not."""

import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from turnledger import ConversationStore, CorruptEvent, Record, normalize
from turnledger.infrastructure import segments
from turnledger.projections.buffer import BufferView
from turnledger.projections.sendable import normalized_items
from turnledger.projections.sendable_view import SendableView

CID = "c"
IDS = ("a", "b", "c", "d", "e", "f", "0", " a")


def message(chance: random.Random) -> dict[str, Any]:
    kind = chance.random()
    if kind < 0.25:
        return {"role": "user", "content": chance.choice(["", "x", ["parts"]])}
    if kind < 0.6:
        calls = [
            {
                "tool_call_id": chance.choice(IDS),
                "name": chance.choice("pq"),
                "arguments": {"n": chance.randint(0, 2)},
            }
            for _ in range(chance.randint(0, 3))
        ]
        return {"role": "assistant", "content": chance.choice(["", "t"]), "tool_calls": calls}
    if kind < 0.9:
        healed = {"healed": True} if chance.random() < 0.2 else {}
        return {
            "role": "tool",
            "content": chance.choice(["r1", "r2"]),
            "tool_call_id": chance.choice(IDS),
            **healed,
        }
    return {"role": chance.choice(["system", "developer"]), "content": "s"}


def wander(
    store: ConversationStore,
    chance: random.Random,
    appends: int,
    compacts_after: int | None = None,
    *,
    retracts: bool = False,
) -> None:
    """A history that heals, replaces, reuses ids and, with a window, evicts; some calls stay open.

    If it is told to, it compacts each time that so many appends were made, and records what it sends; or it
    retracts, keeps records, and clears once.
    """
    for number in range(appends):
        batch = [message(chance) for _ in range(chance.randint(1, 3))]
        if number % 7 == 0:
            batch.append(
                {"role": "assistant", "tool_calls": [{"tool_call_id": f"late-{number}", "name": "slow"}]}
            )
        if number > 30 and number % 7 == 0:
            batch.append({"role": "tool", "tool_call_id": f"late-{number - 28}", "content": "at last"})
        store.append(CID, batch, records=[Record("sdk", None, number)] if retracts else [])
        if retracts and number % 4 == 3:
            standing = store.entries(CID)
            store.retract(CID, chance.choice(standing).number if standing and number % 8 == 3 else None)
        if retracts and number == 40:
            store.clear(CID)
        if compacts_after and number % compacts_after == compacts_after - 1:
            store.compact(CID, keep_last=chance.randint(0, 8), summary={"role": "user", "content": "so far"})
            store.record_request(CID)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "store.db"
    with ConversationStore(path, durability="normal") as store:
        wander(store, random.Random(1), 100)
        store.append("other", [{"role": "user", "content": str(n)} for n in range(200)])
        store.append("other", {"role": "user", "content": "last"})
    return path


def sql(path: Path, statement: str, *parameters: object) -> list[Any]:
    with closing(sqlite3.connect(path)) as connection, connection:
        return connection.execute(statement, parameters).fetchall()


def replayed(path: Path, at: int) -> list[dict[str, Any]]:
    """The buffer folded from the events alone."""
    view = BufferView()
    with ConversationStore(path) as store:
        for event in store.events(CID, to=at):
            view.apply(event)
    return view.buffer()


def cold(path: Path, at: int | None = None) -> list[dict[str, Any]]:
    with ConversationStore(path) as store:
        return store.buffer(CID, at=at)


@pytest.mark.parametrize("window", [None, 5, 40])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("retracts", [False, True], ids=["", "retracts"])
def test_a_cold_reading_of_any_version_is_what_the_events_say(
    window: int | None, seed: int, retracts: bool, tmp_path: Path
) -> None:
    path = tmp_path / "store.db"
    with ConversationStore(path, window=window, durability="normal") as store:
        wander(store, random.Random(seed), 70, 20, retracts=retracts)
        last = store.version(CID)
    assert sql(path, "SELECT COUNT(*) FROM buffer_segments WHERE conversation_id = ?", CID)[0][0] > 2
    view = BufferView()
    with ConversationStore(path) as store:
        assert store.buffer(CID, at=0) == []
        for event in store.events(CID):
            view.apply(event)
            assert store.buffer(CID, at=event.version) == view.buffer()
            if event.version % 5 == 0:
                assert store.sendable(CID, at=event.version).messages == normalize(view.buffer()).messages
        assert store.verify().ok
    assert cold(path) == cold(path, last) == view.buffer()


@pytest.mark.parametrize("seed", range(60))
def test_the_list_kept_up_to_date_is_the_normalized_buffer_at_every_version(seed: int) -> None:
    chance = random.Random(seed)
    buffer, sendable = BufferView(), SendableView()
    with ConversationStore(":memory:", window=chance.choice([None, None, 3, 9])) as store:
        wander(store, chance, 15, chance.choice([None, 4]))
        for event in store.events(CID):
            sendable.apply(event)
            buffer.apply(event)
            if chance.random() < 0.7:
                messages, drops = sendable.read(buffer)
                whole = normalize(buffer.buffer())
                assert messages == whole.messages
                assert tuple(drops) == whole.drops
            if chance.random() < 0.5:
                assert sendable.items(buffer) == normalized_items(row.stored for row in buffer.rows())


def test_what_a_caller_does_to_messages_of_its_own_shows_nowhere(path: Path) -> None:
    with ConversationStore(path) as store:
        last = store.version(CID)
        for at in (None, last - 7, None, last, last - 7):
            own = store.sendable(CID, at=at).messages
            assert own == normalize(store.buffer(CID, at=at)).messages
            spoil(own)


def spoil(value: Any) -> None:
    """Changes every container in a value."""
    for inner in value.values() if isinstance(value, dict) else value:
        if isinstance(inner, dict | list):
            spoil(inner)
    value.clear()


def test_a_cold_reading_of_a_fork_is_what_its_events_say(path: Path) -> None:
    with ConversationStore(path, durability="normal") as store:
        last = store.version(CID)
        before = store.buffer(CID, at=last - 40)
        store.fork(CID, at=last - 40, into="fork")
        for number in range(70):
            store.append("fork", [{"role": "user", "content": f"{number}"}, message(random.Random(number))])
        shown = store.buffer("fork")
    assert sql(path, "SELECT COUNT(*) FROM buffer_segments WHERE conversation_id = 'fork'")[0][0] > 1
    with ConversationStore(path) as store:
        assert store.buffer("fork") == shown
        assert store.buffer("fork", at=1) == before
        assert store.verify("fork").ok


def test_two_stores_in_turn_write_the_same_segments_once(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with ConversationStore(path) as one, ConversationStore(path) as two:
        for number in range(60):
            one.append(CID, {"role": "user", "content": f"one {number}"})
            two.append(CID, {"role": "user", "content": f"two {number}"})
        assert one.verify().ok
    found = sql(path, "SELECT version FROM buffer_segments ORDER BY version")
    assert [row[0] for row in found] == [32, 64, 96]
    assert [m["content"] for m in cold(path)[:2]] == ["one 0", "two 0"]


def test_a_write_after_a_cold_reading_knows_every_call_of_the_log(path: Path) -> None:
    with ConversationStore(path) as store:
        store.buffer(CID)
        known = next(entry for entry in store.entries(CID) if entry.metadata.get("tool_calls"))
        assert store.append(CID, known.stored).appended == 0
        assert store.verify(CID).ok


DAMAGES: dict[str, Callable[[Path], object]] = {
    "all deleted": lambda path: sql(path, "DELETE FROM buffer_segments"),
    "one deleted": lambda path: sql(path, "DELETE FROM buffer_segments WHERE version = 64"),
    "a bit turned": lambda path: sql(
        path,
        "UPDATE buffer_segments SET changes = CAST(replace(changes, 'user', 'tool') AS BLOB)"
        " WHERE version = 64",
    ),
    "no JSON": lambda path: sql(path, "UPDATE buffer_segments SET changes = x'00' WHERE version = 96"),
    "NULL": lambda path: sql(path, "UPDATE buffer_segments SET changes = NULL WHERE version = 96"),
    "numbers gone": lambda path: sql(path, "UPDATE buffer_segments SET row_bytes = NULL, checksum = NULL"),
    "another conversation's": lambda path: sql(
        path,
        "UPDATE buffer_segments SET changes = (SELECT changes FROM buffer_segments AS o"
        " WHERE o.conversation_id = 'other' AND o.version = buffer_segments.version),"
        " checksum = (SELECT checksum FROM buffer_segments AS o"
        " WHERE o.conversation_id = 'other' AND o.version = buffer_segments.version),"
        " row_bytes = (SELECT row_bytes FROM buffer_segments AS o"
        " WHERE o.conversation_id = 'other' AND o.version = buffer_segments.version),"
        " digest = (SELECT digest FROM buffer_segments AS o"
        " WHERE o.conversation_id = 'other' AND o.version = buffer_segments.version)"
        " WHERE conversation_id = 'c'",
    ),
    "of a newer format": lambda path: sql(path, "UPDATE buffer_segments SET format = 99"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_segments_that_are_lost_or_damaged_change_no_reading(damage: str, path: Path) -> None:
    before = cold(path)
    DAMAGES[damage](path)
    assert cold(path) == before
    with ConversationStore(path) as store:
        store.append(CID, {"role": "user", "content": "and on"})
        store.append(CID, {"role": "user", "content": "and on"})
    assert cold(path) == replayed(path, 10**6)


def test_segments_that_lost_their_log_are_not_believed(path: Path) -> None:
    """A segment written apart from its events, and trusted on load, would show what is not in the log."""
    sql(path, "DELETE FROM stored_events WHERE originator_id = 'c' AND originator_version > 70")
    assert cold(path) == replayed(path, 70)


def test_a_row_that_was_damaged_is_named_though_segments_cover_it(path: Path) -> None:
    sql(path, "UPDATE stored_events SET state = x'0000' WHERE originator_id = 'c' AND originator_version = 9")
    with ConversationStore(path) as store:
        with pytest.raises(CorruptEvent, match="version 9"):
            store.buffer(CID)
        assert len(store.buffer("other")) == 201


def test_a_row_that_was_deleted_is_named_though_segments_cover_it(path: Path) -> None:
    sql(path, "DELETE FROM stored_events WHERE originator_id = 'c' AND originator_version = 9")
    with ConversationStore(path) as store, pytest.raises(CorruptEvent, match="version 9"):
        store.buffer(CID)


def test_the_audit_names_a_segment_that_is_not_what_the_log_says(path: Path) -> None:
    found = sql(path, "SELECT version, digest, row_bytes, changes FROM buffer_segments WHERE version = 64")[0]
    doctored = segments.Segment(*found)._replace(changes=found[3].replace(b'"x"', b'"y"'))
    assert doctored.changes != found[3]
    sql(
        path,
        "UPDATE buffer_segments SET changes = ?, checksum = ? WHERE version = 64 AND conversation_id = 'c'",
        doctored.changes,
        segments._checksum(CID, doctored),
    )
    with ConversationStore(path) as store:
        (finding,) = store.verify(CID).findings
    assert finding.versions == (64,)
    assert "segment" in finding.message


def test_a_failed_append_writes_no_segment(path: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    shutil.copy(path, copy)
    before = sql(copy, "SELECT * FROM buffer_segments")
    with ConversationStore(copy) as store, pytest.raises(ValueError, match="role"):
        store.append(CID, [{"role": "user", "content": "x"}, {"role": "nobody"}])
    assert sql(copy, "SELECT * FROM buffer_segments") == before
