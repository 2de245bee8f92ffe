"""The Claude Agent SDK's own loop on a store of ours: what breaks sessions leaves them sound."""

import inspect
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.judges import anthropic
from tests.judges.official import library
from tests.system.adapters.outcomes_claude_agent_sdk import OUTCOMES
from tests.system.adapters.staging import check_log, run
from turnledger import ConversationStore

pytestmark = pytest.mark.filterwarnings("ignore")  # of the SDK's own

library("claude_agent_sdk")

from claude_agent_sdk import SessionStore, fold_session_summary, project_key_for_directory  # noqa: E402
from claude_agent_sdk.testing import run_session_store_conformance  # noqa: E402

from tests.system.adapters.claude_scenes import SCENES  # noqa: E402
from tests.system.adapters.claude_shop import SESSION, Program, calls, line_of, result, says, shape  # noqa: E402
from turnledger.adapters.claude_agent_sdk import TurnledgerSessionStore, conversation_of  # noqa: E402

KEY = {"project_key": "-home-ann", "session_id": SESSION}
CID = conversation_of(KEY)
SIGNATURES = {
    "append": "(self, key: SessionKey, entries: list[SessionStoreEntry]) -> None",
    "load": "(self, key: SessionKey) -> list[SessionStoreEntry] | None",
    "list_sessions": "(self, project_key: str) -> list[SessionStoreListEntry]",
    "list_session_summaries": "(self, project_key: str) -> list[SessionSummaryEntry]",
    "delete": "(self, key: SessionKey) -> None",
    "list_subkeys": "(self, key: SessionListSubkeysKey) -> list[str]",
}


@pytest.fixture
def sessions() -> Iterator[TurnledgerSessionStore]:
    with ConversationStore(":memory:") as store:
        yield TurnledgerSessionStore(store)


def signature_of(function: Any) -> str:
    return str(inspect.signature(function)).replace("claude_agent_sdk.types.", "").replace("'", "")


def lines(*said: Any) -> list[dict[str, Any]]:
    """Lines of a transcript, each behind the one before it: a prompt, or (an answer's id, its blocks)."""
    found: list[dict[str, Any]] = []
    for one in said:
        message = {"role": "user", "content": one}
        if isinstance(one, tuple):
            message = {"id": one[0], "role": "assistant", "content": one[1]}
        kind = str(message["role"])
        found.append(line_of(SESSION, kind, message, found[-1]["uuid"] if found else None))
    return found


@cache
def played(scene: str, whose: str, folder: Path) -> str:
    """A scene, and why the model's provider refuses what it was asked with at the end."""
    outcome = run(SCENES[scene](whose, folder / f"{whose}.db"))
    refused = anthropic.why_not({"messages": Program.sent[-1]})
    return f"refused: {refused}" if refused else outcome


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A folder for each scene."""
    yield cache(lambda scene: tmp_path_factory.mktemp(scene.replace(" ", "-")))


@pytest.mark.parametrize(("scene", "whose"), [row for row in OUTCOMES if row[1] != "view"])
def test_the_scene_ends_as_the_table_says(scene: str, whose: str, folder: Any) -> None:
    assert played(scene, whose, folder(scene)) == OUTCOMES[scene, whose]


@pytest.mark.parametrize("scene", SCENES)
def test_after_the_scene_the_log_is_sound_and_its_list_valid(scene: str, folder: Any) -> None:
    played(scene, "turnledger", folder(scene))
    key = {**KEY, "project_key": project_key_for_directory(folder(scene))}
    check_log(folder(scene) / "turnledger.db", conversation_of(key), "anthropic", anthropic.why_not)
    with ConversationStore(folder(scene) / "turnledger.db") as store:
        view = shape(store.sendable(conversation_of(key), provider="anthropic").messages)
        assert view == OUTCOMES.get((scene, "view"), view)


def test_what_a_paused_run_held_is_delivered_on_its_last_word(folder: Any) -> None:
    scene = "a human approves in another process"
    played(scene, "turnledger", folder(scene))
    key = {**KEY, "project_key": project_key_for_directory(folder(scene))}
    with ConversationStore(folder(scene) / "turnledger.db") as store:
        wire = store.wire(conversation_of(key))
        assert [m["content"] for m in wire if m.get("toolArtifacts")] == ["Your label"]
        assert store.held(conversation_of(key)) == []


def test_the_protocol_is_as_it_was_read() -> None:
    assert {name: signature_of(getattr(SessionStore, name)) for name in SIGNATURES} == SIGNATURES
    assert signature_of(fold_session_summary) == (
        "(prev: SessionSummaryEntry | None, key: SessionKey, entries: list[SessionStoreEntry])"
        " -> SessionSummaryEntry"
    )
    public = {name for name in vars(SessionStore) if not name.startswith("_")}
    assert public == set(SIGNATURES)


def test_the_sdk_s_own_conformance_suite_passes(tmp_path: Path) -> None:
    numbers = iter(range(100))
    run(run_session_store_conformance(lambda: TurnledgerSessionStore(tmp_path / f"{next(numbers)}.db")))
    assert next(numbers) == 15, "one store to look at, and one for each of its 14 contracts"


def test_it_works_on_trio_too() -> None:
    trio = library("trio")
    trio.run(run_session_store_conformance, lambda: TurnledgerSessionStore(":memory:"))


@pytest.mark.parametrize(
    "odd",
    [
        {"half": "\ud83d"},
        {"key \ud83d": 1},
        {"number": 1e999},
        {"deep": json.loads("[" * 150 + "]" * 150)},
        {"digits": 10**4_200},
        {"n": [1, 1.0, True, None, 0.1, "é", "\u0000", {}]},
    ],
    ids=lambda odd: next(iter(odd)),
)
def test_every_entry_comes_back_deep_equal(sessions: TurnledgerSessionStore, odd: Any) -> None:
    entry = {"type": "x", "uuid": "u1", **odd}
    run(sessions.append(KEY, [entry]))
    assert repr(run(sessions.load(KEY))) == repr([entry])


def test_an_entry_sent_again_is_kept_once_and_one_without_uuid_twice(
    sessions: TurnledgerSessionStore,
) -> None:
    entries = [*lines("Hello"), {"type": "tag", "tag": "a"}]
    run(sessions.append(KEY, entries))
    run(sessions.append(KEY, entries))
    assert run(sessions.load(KEY)) == [*entries, entries[1]]
    assert [m["content"] for m in sessions.store.buffer(CID)] == ["Hello"]


def test_a_batch_that_repeats_one_uuid_keeps_it_once(sessions: TurnledgerSessionStore) -> None:
    [line] = lines("Hello")
    run(sessions.append(KEY, [line, line]))
    assert run(sessions.load(KEY)) == [line]
    assert len(sessions.store.buffer(CID)) == 1


def test_another_process_s_entries_are_known(tmp_path: Path) -> None:
    one, other = (TurnledgerSessionStore(tmp_path / "s.db") for _ in range(2))
    first = lines("Hello", ("m1", says("Hi")))
    run(one.append(KEY, first[:1]))
    run(other.append(KEY, first))
    run(one.append(KEY, first))
    assert run(other.load(KEY)) == first


def test_an_answer_s_lines_are_one_turn(sessions: TurnledgerSessionStore) -> None:
    one, two = calls("track", "label")
    run(sessions.append(KEY, lines("Hello", ("m1", says("I look")), ("m1", [one]), ("m1", [two]))))
    said = sessions.store.buffer(CID)
    assert [m["role"] for m in said] == ["user", "assistant"]
    assert [c["tool_call_id"] for c in said[1]["metadata"]["tool_calls"]] == ["call-1", "call-2"]


def test_an_answer_s_lines_that_come_one_by_one_read_the_same_to_a_provider(
    sessions: TurnledgerSessionStore,
) -> None:
    one, two = calls("track", "label")
    given = lines("Hello", ("m1", says("I look")), ("m1", [one]), ("m1", [two]))
    for line in [*given, *lines([result(one, "depot")]), *lines([result(two, "label.txt")])]:
        run(sessions.append(KEY, [line]))
    sendable = sessions.store.sendable(CID, provider="anthropic")
    assert anthropic.why_not(sendable.request or {}) is None
    assert shape(sendable.messages) == "u a c:call-1 r:call-1 depot c:call-2 r:call-2 label.txt"


def test_thinking_goes_back_with_its_signature(sessions: TurnledgerSessionStore) -> None:
    thought = {"type": "thinking", "thinking": "Hm", "signature": "c2ln"}
    run(sessions.append(KEY, lines("Hello", ("m1", [thought]), ("m1", says("Hi")), "And?")))
    assert sessions.store.sendable(CID, provider="anthropic").messages[1]["content"][0] == thought


def test_the_view_names_the_lines_it_was_made_of(sessions: TurnledgerSessionStore) -> None:
    given = lines("Hello", ("m1", says("Hi")))
    run(sessions.append(KEY, given))
    found = [m["metadata"]["claude-code"]["lines"] for m in sessions.store.buffer(CID)]
    assert found == [[{"uuid": line["uuid"], "blocks": 1}] for line in given]


def test_a_sidechain_in_the_session_s_own_file_is_no_part_of_its_view(
    sessions: TurnledgerSessionStore,
) -> None:
    given = [*lines("Hello"), {**lines("Look it up")[0], "isSidechain": True}]
    run(sessions.append(KEY, given))
    assert [m["content"] for m in sessions.store.buffer(CID)] == ["Hello"]


def test_a_subagent_s_transcript_is_a_conversation_of_its_own(sessions: TurnledgerSessionStore) -> None:
    key = {**KEY, "subpath": "subagents/agent-7"}
    run(sessions.append(key, [{**lines("Look it up")[0], "isSidechain": True}]))
    assert [m["content"] for m in sessions.store.buffer(conversation_of(key))] == ["Look it up"]
    assert run(sessions.list_subkeys(KEY)) == ["subagents/agent-7"]
    assert run(sessions.list_sessions("-home-ann")) == []


def test_what_cannot_be_a_message_is_kept_as_an_entry_all_the_same(sessions: TurnledgerSessionStore) -> None:
    deep = json.loads("[" * 150 + "]" * 150)
    block = {"type": "tool_use", "id": "c1", "name": "track", "input": {"deep": deep}}
    given = lines("Hello", ("m1", [block]))
    run(sessions.append(KEY, given))
    assert run(sessions.load(KEY)) == given
    assert [m["content"] for m in sessions.store.buffer(CID)] == ["Hello"]


def test_a_deleted_session_can_be_begun_again_with_the_same_entries(tmp_path: Path) -> None:
    one, other = (TurnledgerSessionStore(tmp_path / "s.db") for _ in range(2))
    given = lines("Hello")
    run(one.append(KEY, given))
    run(other.delete(KEY))
    assert run(one.load(KEY)) is None
    run(one.append(KEY, given))
    assert run(other.load(KEY)) == given
    assert one.store.buffer(CID, at=2) == one.store.buffer(CID), "the log keeps what was deleted"


def test_a_project_s_long_name_is_cut_and_told_by_a_digest(sessions: TurnledgerSessionStore) -> None:
    names = [f"{'-deep' * 40}-{tail}" for tail in "ab"]
    for name in names:
        run(sessions.append({"project_key": name, "session_id": SESSION}, lines("Hello")))
    assert [len(run(sessions.list_sessions(name))) for name in names] == [1, 1]


@pytest.mark.parametrize("name", ["a/b", "ü ~%", "", "claude"])
def test_names_with_any_characters_stay_apart(sessions: TurnledgerSessionStore, name: str) -> None:
    run(sessions.append({"project_key": name, "session_id": "s/1"}, lines("Hello")))
    run(sessions.append({"project_key": name, "session_id": "s", "subpath": "1/ü"}, lines("Hi")))
    assert [one["session_id"] for one in run(sessions.list_sessions(name))] == ["s/1"]
    assert run(sessions.list_subkeys({"project_key": name, "session_id": "s"})) == ["1/ü"]


def test_the_summary_is_the_sdk_s_own_fold(sessions: TurnledgerSessionStore) -> None:
    given = [*lines("Hello"), {"type": "summary", "summary": "A parcel"}]
    for entry in given:
        run(sessions.append(KEY, [entry]))
    [summary] = run(sessions.list_session_summaries("-home-ann"))
    assert summary["data"] == fold_session_summary(None, KEY, given)["data"]


def any_line(random: Random, number: int, before: list[str]) -> dict[str, Any]:
    """A line of any kind, behind any of those before it; calls and results share few ids."""
    call = {"type": "tool_use", "id": f"c{random.randrange(6)}", "name": "track", "input": {"n": number % 2}}
    kind, content = random.choice(
        [
            ("user", "Hello"),
            ("user", random.choice(["", " ", says("Hi")])),
            ("user", [result(call, random.choice(["depot", says("depot")]))]),
            ("assistant", [call]),
            ("assistant", says(random.choice(["There", ""]))),
            ("assistant", [{"type": "thinking", "thinking": "Hm", "signature": "c2ln"}]),
            ("system", None),
        ]
    )
    message = content and {"role": kind, "content": content, "id": f"m{number // 3}"}
    line = line_of(SESSION, kind, message or None, random.choice([*before[-3:], None]))
    return {**line, "uuid": f"u{number}", "isSidechain": random.random() < 0.1}


@settings(max_examples=60, deadline=None)
@given(st.randoms(use_true_random=False))
def test_whatever_lines_come_in_whatever_batches_the_view_is_valid(random: Random) -> None:
    given_lines: list[dict[str, Any]] = []
    for number in range(random.randrange(1, 16)):
        given_lines.append(any_line(random, number, [line["uuid"] for line in given_lines]))
    with ConversationStore(":memory:") as store:
        sessions, place = TurnledgerSessionStore(store), 0
        while place < len(given_lines):
            again, count = random.randrange(3), random.randrange(1, 5)
            run(sessions.append(KEY, given_lines[max(place - again, 0) : place + count]))
            place += count
        assert run(sessions.load(KEY)) == given_lines
        sendable = store.sendable(CID, provider="anthropic")
        assert not sendable.messages or anthropic.why_not(sendable.request or {}) is None
        assert store.verify().ok


def test_a_place_of_a_store_is_enough(tmp_path: Path) -> None:
    run(TurnledgerSessionStore(tmp_path / "s.db").append(KEY, lines("Hello")))
    with ConversationStore(tmp_path / "s.db", create=False) as store:
        assert [m["content"] for m in store.buffer(CID)] == ["Hello"]
