"""Results that come past Strands: each is sent once, behind its call, as `sendable` has it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.judges import bedrock_converse
from tests.judges.official import library
from tests.system.adapters.staging import OURS, check_log, in_child, run
from turnledger import ConversationStore

pytestmark = pytest.mark.filterwarnings("ignore")  # of Strands' own

library("strands")

from strands import Agent  # noqa: E402
from strands.session.repository_session_manager import RepositorySessionManager  # noqa: E402
from strands.types.session import SessionMessage  # noqa: E402

from tests.system.adapters.strands_desk import AGENT, CID, SESSION, Told, says, shape  # noqa: E402
from turnledger.adapters.strands import TurnledgerRepository  # noqa: E402

STAND_IN = "Tool was interrupted."
CORE, STRANDS = "core", "strands"


@pytest.fixture
def store() -> Iterator[ConversationStore]:
    with ConversationStore(":memory:") as opened:
        yield opened
        assert opened.verify().ok


def restored(store: ConversationStore, *turns: list[Any]) -> Any:
    """The agent, as a process has it that comes new."""
    manager = RepositorySessionManager(SESSION, TurnledgerRepository(store))
    return Agent(model=Told(turns), agent_id=AGENT, session_manager=manager, callback_handler=None)


def called(store: ConversationStore, *ids: str) -> None:
    """A process died as these calls were made."""
    restored(store)
    message(store, 0, "user", says("Where?"))
    uses = [{"toolUse": {"toolUseId": one, "name": "track", "input": {}}} for one in ids]
    message(store, 1, "assistant", uses)


def message(store: ConversationStore, number: int, role: str, content: list[Any]) -> None:
    one = SessionMessage({"role": role, "content": content}, number)
    TurnledgerRepository(store).create_message(SESSION, AGENT, one)


def block(call_id: str, text: str) -> dict[str, Any]:
    return {"toolResult": {"toolUseId": call_id, "status": "success", "content": says(text)}}


def given(store: ConversationStore, call_id: str, text: str, by: str = CORE) -> None:
    """A result comes, to the core or as a message to Strands."""
    if by == CORE:
        store.append(CID, {"role": "tool", "tool_call_id": call_id, "content": text})
    else:
        run(restored(store, says("Thanks")).invoke_async([block(call_id, text)]))


def sent(store: ConversationStore) -> list[tuple[str, str]]:
    """The results that the model is sent when the user goes on in another process, call and text."""
    agent = restored(store, says("Yes?"))
    run(agent.invoke_async("Hello?"))
    [messages] = agent.model.sent
    assert not shape(messages).startswith("refused"), shape(messages)
    results = [b["toolResult"] for m in messages for b in m["content"] if "toolResult" in b]
    return [(r["toolUseId"], r["content"][0]["text"]) for r in results]


@pytest.mark.parametrize("goes_on", [0, 1, 2])
def test_a_result_that_the_core_is_given_is_sent_whenever_the_user_goes_on(
    goes_on: int, store: ConversationStore
) -> None:
    called(store, "x")
    for _ in range(goes_on):
        assert sent(store) == [("x", STAND_IN)]
    given(store, "x", "real")
    for _ in range(2):
        assert sent(store) == [("x", "real")]
        assert [m["content"] for m in store.sendable(CID).messages if m["role"] == "tool"] == ["real"]


@pytest.mark.parametrize("ways", [(CORE, CORE), (CORE, STRANDS), (STRANDS, CORE), (STRANDS, STRANDS)])
@pytest.mark.parametrize("order", [("x", "y"), ("y", "x")])
@pytest.mark.parametrize("goes_on", [False, True])
def test_results_of_parallel_calls_are_sent_however_they_come(
    goes_on: bool, order: tuple[str, str], ways: tuple[str, str], store: ConversationStore
) -> None:
    called(store, "x", "y")
    known = {"x": STAND_IN, "y": STAND_IN}
    if goes_on:
        assert dict(sent(store)) == known
    for call_id, way in zip(order, ways, strict=True):
        known[call_id] = f"of {call_id}"
        given(store, call_id, known[call_id], way)
        assert dict(sent(store)) == known


@pytest.mark.parametrize("ways", [(CORE, STRANDS), (STRANDS, CORE)])
def test_of_a_result_that_comes_both_ways_the_first_is_sent_and_only_once(
    ways: tuple[str, str], store: ConversationStore
) -> None:
    called(store, "x")
    sent(store)
    for way in ways:
        given(store, "x", f"by {way}", way)
        assert sent(store) == [("x", f"by {ways[0]}")]
    assert [m["content"] for m in store.sendable(CID).messages if m["role"] == "tool"] == [f"by {ways[0]}"]


def test_a_result_is_sent_after_a_process_was_killed_in_its_tool_and_given_it_by_another(
    tmp_path: Path,
) -> None:
    assert in_child("strands_desk", "killed", OURS, tmp_path) == -9
    with ConversationStore(tmp_path / "desk.db") as store:
        given(store, "c-die", "real")
        assert sent(store) == [("c-die", "real")]
    check_log(tmp_path / "desk.db", CID, "bedrock-converse", bedrock_converse.why_not)


def test_a_stand_in_that_is_sent_again_after_the_core_was_given_the_result_changes_nothing(
    store: ConversationStore,
) -> None:
    called(store, "x")
    stand_in = {"toolResult": {"toolUseId": "x", "status": "error", "content": says(STAND_IN)}}
    message(store, 2, "user", [dict(stand_in)])
    given(store, "x", "real")
    version = store.version(CID)
    message(store, 2, "user", [dict(stand_in)])
    assert store.version(CID) == version
    assert sent(store) == [("x", "real")]


def test_a_result_in_a_redacted_message_stays_strands_own(store: ConversationStore) -> None:
    called(store, "x")
    own = {"toolResult": {"toolUseId": "x", "status": "success", "content": [{"json": {"secret": 1}}]}}
    message(store, 2, "user", [own])
    repository = TurnledgerRepository(store)
    redacted: Any = repository.read_message(SESSION, AGENT, 2)
    own = {"toolResult": {"toolUseId": "x", "status": "success", "content": [{"json": {"secret": 0}}]}}
    redacted.redact_message = {"role": "user", "content": [own]}
    repository.update_message(SESSION, AGENT, redacted)
    assert repository.list_messages(SESSION, AGENT)[2].to_message()["content"] == [own]


def test_a_picture_that_the_core_is_given_is_sent_as_bytes(store: ConversationStore) -> None:
    called(store, "x")
    url = "data:image/png;base64,iVBORw0KGgo="
    picture: Any = [{"type": "image_url", "image_url": {"url": url}}]
    given(store, "x", picture)
    message(store, 2, "user", says("Hello?"))
    found = TurnledgerRepository(store).list_messages(SESSION, AGENT)[2].to_message()["content"]
    image = {"image": {"format": "png", "source": {"bytes": b"\x89PNG\r\n\x1a\n"}}}
    assert found == [{"toolResult": {"toolUseId": "x", "status": "success", "content": [image]}}]


def test_results_come_back_in_the_order_in_which_they_were_given(store: ConversationStore) -> None:
    called(store, "x", "y")
    message(store, 2, "user", [block("y", "b"), block("x", "a")])
    message(store, 3, "assistant", says("There"))
    assert sent(store) == [("y", "b"), ("x", "a")]
