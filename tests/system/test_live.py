"""A warm store decides on what it knows, with no look at the log: what it knows must be what the log says."""

from pathlib import Path

import pytest

from tests.system.kill import CONVERSATIONS, Writer
from turnledger import ConversationStore, VersionConflict
from turnledger.domain.conversation import Conversation

USER = {"role": "user", "content": "go on"}
TURN = {"role": "assistant", "content": "", "tool_calls": [{"tool_call_id": "a", "name": "search"}]}
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
def two_stores(tmp_path: Path) -> tuple[ConversationStore, ConversationStore]:
    """Two stores on one file, both warm at the same version."""
    ours, theirs = (ConversationStore(tmp_path / "c.db", durability="normal") for _ in range(2))
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


def test_what_is_read_from_segments_counts_for_the_cache_as_what_is_read_from_events(tmp_path: Path) -> None:
    """It counted for nothing, so that a process that only read kept every conversation for ever."""
    path, ids = tmp_path / "c.db", [f"c{number}" for number in range(12)]
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
