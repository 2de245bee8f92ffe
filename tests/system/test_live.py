"""A warm store decides on what it knows, with no look at the log: what it knows must be what the log says."""

import gc
import shutil
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from tests.system.kill import CONVERSATIONS, Writer
from turnledger import ConversationStore, VersionConflict, normalize
from turnledger.domain.conversation import Conversation

USER = {"role": "user", "content": "go on"}
TURN = {"role": "assistant", "content": "", "tool_calls": [{"tool_call_id": "a", "name": "search"}]}
ANSWER = {"role": "assistant", "content": "well"}
RESULT = {"role": "tool", "content": "found", "tool_call_id": "a"}


@pytest.mark.parametrize("seed", range(6))
def test_what_a_store_knows_after_its_own_writes_is_what_their_events_give(seed: int) -> None:
    writer = Writer(":memory:", seed)
    for deed in range(1, 121):
        writer.perform(deed)
        if deed % 10:
            continue
        for conversation_id in CONVERSATIONS:
            live = writer.store._application.cached(conversation_id)
            if live is None:
                continue
            folded = Conversation()
            for event in writer.store.events(conversation_id):
                folded.evolve(event)
            assert live.conversation == folded, (deed, conversation_id)


@pytest.fixture(name="two")
def two_stores(place: Path | str) -> tuple[ConversationStore, ConversationStore]:
    """Two stores on one log, both warm at the same version."""
    ours, theirs = (ConversationStore(place, durability="normal") for _ in range(2))
    ours.append("c", [USER, TURN])
    theirs.append("c", {"role": "system", "content": "be kind"})
    ours.append("c", {"role": "system", "content": "be brief"})
    theirs.buffer("c")
    return ours, theirs


def test_a_result_that_another_store_has_recorded_meanwhile_is_a_duplicate(
    two: tuple[ConversationStore, ConversationStore],
) -> None:
    ours, theirs = two
    assert theirs.append("c", RESULT).appended == 1
    assert ours.append("c", RESULT).duplicates == (0,)
    assert [m["role"] for m in ours.buffer("c")].count("tool") == 1


def test_a_call_that_another_store_has_made_meanwhile_is_healed(
    two: tuple[ConversationStore, ConversationStore],
) -> None:
    ours, theirs = two
    theirs.append("c", [RESULT, {**TURN, "tool_calls": [{"tool_call_id": "b", "name": "search"}]}])
    assert ours.append("c", USER).healed == ("b",)


def test_what_was_stale_is_refused_by_what_the_log_says_now_and_not_by_what_was_known(
    two: tuple[ConversationStore, ConversationStore],
) -> None:
    ours, theirs = two
    known = ours.version("c")
    newer = theirs.append("c", USER).version
    assert ours.append("c", {"role": "assistant", "content": "well"}, expected_version=newer).appended == 1
    with pytest.raises(VersionConflict):
        ours.append("c", USER, expected_version=known)


def test_what_is_read_from_segments_counts_for_the_cache_as_what_is_read_from_events(
    place: Path | str,
) -> None:
    """It counted for nothing, so that a process that only read kept every conversation for ever."""
    path, ids = place, [f"c{number}" for number in range(12)]
    with ConversationStore(path, durability="normal") as store:
        for conversation_id in ids:
            store.append(conversation_id, [USER] * 64)
            store.append(conversation_id, USER)
        written = store._application._cached_bytes
    with ConversationStore(path) as store:
        for conversation_id in ids:
            assert len(store.buffer(conversation_id)) == 65
        assert store._application._cached_bytes == pytest.approx(written, rel=0.1)
    with ConversationStore(path, cache_bytes=written // 4) as store:
        for conversation_id in ids:
            store.buffer(conversation_id)
        assert len(store._application._cache) in (2, 3)


def test_a_store_that_tries_once_writes_behind_what_another_wrote(place: Path | str) -> None:
    """It took being overtaken for a try, and stayed as it was: every further write failed too."""
    ours, theirs = (ConversationStore(place, timeout_s=0) for _ in range(2))
    ours.append("c", USER)
    theirs.append("c", USER)
    assert ours.append("c", USER).count == 3


def test_an_older_copy_of_the_log_put_in_its_place_is_seen_by_a_warm_store(tmp_path: Path) -> None:
    """It went on behind events that were no longer there, and its append was lost to every other store."""
    path, copy = tmp_path / "c.db", tmp_path / "copy.db"
    with ConversationStore(path, durability="normal") as store:
        store.append("c", {"role": "user", "content": "1"})
        restored(path, copy)
        store.append("c", [{"role": "user", "content": "2"}, {"role": "user", "content": "3"}])
        restored(copy, path)
        store.append("c", {"role": "user", "content": "4"})
        assert [m["content"] for m in store.buffer("c")] == ["1", "4"]
        restored(copy, path)
        assert [m["content"] for m in store.buffer("c")] == ["1"]
        assert store.verify().ok
    with ConversationStore(path) as cold:
        assert [m["content"] for m in cold.buffer("c")] == ["1"]


def restored(source: Path, target: Path) -> None:
    with closing(sqlite3.connect(source)) as a, closing(sqlite3.connect(target)) as b:
        a.backup(b)


def test_a_finaliser_that_calls_in_the_middle_of_a_reading_leaves_it_right(tmp_path: Path) -> None:
    """The inner call took the outer one for a fold that was interrupted, and the list was doubled."""
    calls: dict[str, Callable[[ConversationStore], object]] = {
        "shared": lambda store: store.sendable("c", shared=True),
        "provider": lambda store: store.sendable("c", provider="anthropic"),
        "retract": lambda store: store.retract("c"),
        "clear": lambda store: store.clear("c"),
        "verify": lambda store: store.verify(),
        "record_request": lambda store: store.record_request("c"),
    }
    for outer in ("shared", "provider"):
        for inner, call in calls.items():
            with ConversationStore(tmp_path / f"{outer}-{inner}.db", durability="normal") as store:
                ended_within(store, calls[outer], call)
                assert store.sendable("c").messages == normalize(store.buffer("c")).messages, (outer, inner)
                assert store.verify().ok


def ended_within(
    store: ConversationStore,
    outer: Callable[[ConversationStore], object],
    inner: Callable[[ConversationStore], object],
) -> None:
    """Makes the outer call on a long conversation, in which the collector makes the inner one."""
    made: list[object] = []

    class Session:
        def __init__(self) -> None:
            self.me = self

        def __del__(self) -> None:
            made.append(inner(store))

    many = [{"role": "user", "content": str(number)} for number in range(1500)]
    store.append("c", many)
    store.sendable("c", shared=True)
    store.clear("c")
    store.append("c", many)
    Session()
    outer(store)
    gc.collect()
    assert made


FOLDS = ("sendable_view.py", "live.py", "buffer.py", "plain.py")


class Interrupting:
    """Notes the lines of the folds that work comes by, and interrupts it at one of them."""

    def __init__(self, at: int | None = None) -> None:
        self.at = at
        self.lines: list[tuple[str, int]] = []

    def trace(self, frame: FrameType, happening: str, _: object) -> Any:
        if not frame.f_code.co_filename.endswith(FOLDS):
            return self.trace if happening == "call" else None
        if happening == "line":
            self.lines.append((frame.f_code.co_filename, frame.f_lineno))
            if len(self.lines) == self.at:
                raise KeyboardInterrupt
        return self.trace

    def run(self, work: Callable[[], object]) -> None:
        sys.settrace(self.trace)
        try:
            work()
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(None)

    @property
    def moments(self) -> list[int]:
        """The first and the last time that each line was come by."""
        first = {line: number for number, line in reversed(list(enumerate(self.lines, start=1)))}
        last = {line: number for number, line in enumerate(self.lines, start=1)}
        return sorted({*first.values(), *last.values()})


def long_log(path: Path) -> Path:
    """One with segments, and a call that is open from long ago."""
    with ConversationStore(path, durability="normal") as store:
        store.append("c", [{"role": "system", "content": "be kind"}, USER, TURN])
        store.append("c", [{"role": "assistant", "content": str(number)} for number in range(80)])
        store.append("c", ANSWER)
    return path


@pytest.mark.parametrize("reading", ["buffer", "sendable", "held", "append"])
def test_an_interrupt_at_any_line_of_a_fold_leaves_nothing_half_folded(reading: str, tmp_path: Path) -> None:
    """Half a fold was taken for a whole one: messages were doubled, and decisions made on an empty state."""
    path = long_log(tmp_path / "c.db")
    with ConversationStore(path) as store:
        sent = store.sendable("c").messages
    uninterrupted = Interrupting()
    read_with(uninterrupted, reading, path, tmp_path, sent)
    assert len(uninterrupted.moments) > 10
    for moment in uninterrupted.moments:
        read_with(Interrupting(moment), reading, path, tmp_path, sent)


def read_with(
    interrupting: Interrupting, reading: str, path: Path, tmp_path: Path, sent: list[dict[str, Any]]
) -> None:
    copy = Path(shutil.copy(path, tmp_path / "copy.db"))
    with ConversationStore(copy, durability="normal") as store:
        if reading == "append":
            store.sendable("c")
            interrupting.run(lambda: store.append("c", {"role": "system", "content": "x"}))
        else:
            interrupting.run(lambda: getattr(store, reading)("c"))
            assert store.sendable("c").messages == sent
        assert store.append("c", USER).healed == ("a",)
        assert store.sendable("c").messages == normalize(store.buffer("c")).messages


def test_what_is_recorded_is_acknowledged_though_it_could_not_be_taken_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The append raised, and had been recorded all the same."""
    with ConversationStore(tmp_path / "c.db") as store:
        store.append("c", USER)
        with monkeypatch.context() as broken:
            broken.setattr(Conversation, "adopt", lambda self, draft: 1 // 0)
            assert store.append("c", TURN).version == 3
        assert store.append("c", USER).healed == ("a",)
        assert store.verify().ok
