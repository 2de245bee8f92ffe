"""An agent of Strands on a store of ours: what spoils a session elsewhere leaves it sound here."""

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.judges import bedrock_converse
from tests.judges.official import library
from tests.system.adapters.outcomes_strands import OUTCOMES
from tests.system.adapters.staging import OURS, check_outcomes, ends_as_told, in_child, run
from turnledger import ConversationStore

pytestmark = pytest.mark.filterwarnings("ignore")  # of Strands' own

library("strands")

from strands.session.session_repository import SessionRepository  # noqa: E402
from strands.types.exceptions import SessionException  # noqa: E402
from strands.types.session import Session, SessionAgent, SessionMessage, SessionType  # noqa: E402

from tests.system.adapters.strands_desk import (  # noqa: E402
    AGENT,
    CID,
    LINK,
    SCENES,
    SESSION,
    calls,
    result,
    resumed,
    says,
)
from turnledger.adapters.strands import TurnledgerRepository, conversation_of  # noqa: E402


@pytest.fixture
def repository() -> Iterator[Any]:
    with ConversationStore(":memory:") as store:
        yield TurnledgerRepository(store)


def message(number: int, role: str, content: list[Any], **more: Any) -> Any:
    return SessionMessage({"role": role, "content": content, **more}, number)


def kept(repository: Any, *messages: Any) -> list[Any]:
    for one in messages:
        repository.create_message(SESSION, AGENT, one)
    return [found.message for found in repository.list_messages(SESSION, AGENT)]


test_the_scene_ends_as_the_table_says_and_leaves_a_sound_log = ends_as_told(
    SCENES, OUTCOMES, "desk.db", CID, "bedrock-converse", bedrock_converse.why_not
)


def test_every_scene_has_an_outcome_of_both() -> None:
    check_outcomes(OUTCOMES, SCENES)


def test_what_a_paused_run_holds_is_delivered_once_on_the_answer_of_another_process(tmp_path: Path) -> None:
    assert in_child("strands_desk", "paused", OURS, tmp_path) == 0
    with ConversationStore(tmp_path / "desk.db") as store:
        assert [held.payload for held in store.held(CID)] == [LINK["payload"]]
        assert not any(m.get("toolArtifacts") for m in store.wire(CID))
        run(resumed(OURS, tmp_path))
        assert store.held(CID) == []
        shown = [m for m in store.wire(CID) if m.get("toolArtifacts")]
        assert [(m["content"], len(m["toolArtifacts"])) for m in shown] == [("Refunded", 1)]


def test_messages_come_back_as_they_were_given_bytes_and_tracking_too(repository: Any) -> None:
    image = {"image": {"format": "png", "source": {"bytes": b"\x89PNG"}}}
    thought = {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "c2ln"}}}
    use = {"toolUse": {"toolUseId": "c-track", "name": "track", "input": {"parcel": 1}}}
    given = [
        message(0, "user", [{"text": "Look"}, image], tracking_id="t-0"),
        message(1, "assistant", [thought, use], tracking_id="t-1"),
        message(2, "user", result("track", "depot"), tracking_id="t-2"),
        message(3, "assistant", says("There"), tracking_id="t-3"),
    ]
    assert kept(repository, *given) == [one.message for one in given]
    assert repository.list_messages(SESSION, AGENT, limit=2, offset=1) == given[1:3]
    assert repository.read_message(SESSION, AGENT, 3) == given[3]
    assert repository.read_message(SESSION, AGENT, 4) is None


def test_a_result_behind_another_message_comes_back_behind_its_call(repository: Any) -> None:
    found = kept(
        repository,
        message(0, "user", says("Where?")),
        message(1, "assistant", calls("track", "label")),
        message(2, "user", says("Hello?")),
        message(3, "user", result("track", "depot")),
        message(4, "assistant", says("There")),
    )
    results = [block["toolResult"] for block in found[2]["content"]]
    assert [(r["toolUseId"], r["content"][0]["text"]) for r in results] == [
        ("c-track", "depot"),
        ("c-label", "Tool was interrupted."),
    ]
    assert [one["content"] for one in found[3:]] == [says("Hello?"), says("There")]
    again = repository.list_messages(SESSION, AGENT)[2].message
    assert again["tracking_id"] == found[2]["tracking_id"]


def test_the_newest_message_is_left_open_where_it_calls(repository: Any) -> None:
    found = kept(repository, message(0, "user", says("Where?")), message(1, "assistant", calls("track")))
    assert len(found) == 2


def test_two_workers_never_take_one_number(repository: Any) -> None:
    mine, other = message(0, "user", says("mine")), message(0, "user", says("other"))
    found = kept(repository, mine, other, message(0, "user", says("mine")))
    assert [one["content"] for one in found] == [says("mine"), says("other")]
    assert (mine.message_id, other.message_id) == (0, 1)


def test_a_redacted_message_is_replaced_in_what_is_sent_and_stays_in_the_log(repository: Any) -> None:
    secret = message(1, "user", says("secret"))
    kept(repository, message(0, "user", says("Hi")), secret)
    secret.redact_message = {"role": "user", "content": says("redacted")}
    repository.update_message(SESSION, AGENT, secret)
    assert repository.list_messages(SESSION, AGENT)[1].to_message()["content"] == says("redacted")
    store = repository.store
    assert [m["content"] for m in store.buffer(CID)] == ["Hi", "redacted"]
    assert "secret" in [m["content"] for m in store.buffer(CID, at=5)]
    first = message(0, "user", says("Hi"))
    first.redact_message = {"role": "user", "content": says("gone")}
    repository.update_message(SESSION, AGENT, first)
    assert [m["content"] for m in store.buffer(CID)] == ["redacted"]  # what is older only leaves
    assert repository.list_messages(SESSION, AGENT)[0].to_message()["content"] == says("gone")
    with pytest.raises(SessionException):
        repository.update_message(SESSION, AGENT, message(9, "user", says("x")))
    assert store.verify().ok


def test_a_session_and_its_agents_are_made_read_updated_and_deleted(repository: Any) -> None:
    session = Session(SESSION, SessionType.AGENT)
    assert repository.read_session(SESSION) is None
    assert repository.create_session(session) == session
    assert repository.read_session(SESSION) == session
    with pytest.raises(SessionException):
        repository.create_session(session)
    agent = SessionAgent(AGENT, {"n": 1}, {})
    with pytest.raises(SessionException):
        repository.update_agent(SESSION, agent)
    repository.create_agent(SESSION, agent)
    again = SessionAgent(AGENT, {"n": 2}, {}, created_at="later")
    repository.update_agent(SESSION, again)
    found = repository.read_agent(SESSION, AGENT)
    assert (found.state, found.created_at) == ({"n": 2}, agent.created_at)
    kept(repository, message(0, "user", says("Hi")))
    repository.create_session(Session(f"{SESSION}0", SessionType.AGENT))
    repository.delete_session(SESSION)
    assert repository.read_session(SESSION) is None
    assert repository.read_agent(SESSION, AGENT) is None
    assert repository.list_messages(SESSION, AGENT) == []
    assert repository.read_session(f"{SESSION}0") is not None
    repository.create_session(session)
    assert len(repository.store.buffer(CID, at=4)) == 1
    assert repository.store.verify().ok


def test_the_state_of_several_agents_is_kept(repository: Any) -> None:
    class Graph:
        id = "graph"
        state = 1

        def serialize_state(self) -> Any:
            return {"state": self.state}

    graph = Graph()
    assert repository.read_multi_agent(SESSION, "graph") is None
    with pytest.raises(SessionException):
        repository.update_multi_agent(SESSION, graph)
    repository.create_multi_agent(SESSION, graph)
    graph.state = 2
    repository.update_multi_agent(SESSION, graph)
    assert repository.read_multi_agent(SESSION, "graph") == {"state": 2}


def test_ids_with_a_slash_name_other_conversations() -> None:
    assert conversation_of("a/b") != conversation_of("a", "b")


def test_the_protocol_is_the_one_that_was_read() -> None:
    read = {
        name: str(inspect.signature(getattr(SessionRepository, name)))
        .replace("strands.types.session.", "")
        .replace("typing.", "")
        .replace("**kwargs: Any", "**")
        .removeprefix("(self, ")
        for name in sorted(SessionRepository.__abstractmethods__)
    }
    assert read == SIGNATURES


SIGNATURES = {
    "create_agent": "session_id: str, session_agent: SessionAgent, **) -> None",
    "create_message": "session_id: str, agent_id: str, session_message: SessionMessage, **) -> None",
    "create_session": "session: Session, **) -> Session",
    "list_messages": "session_id: str, agent_id: str, limit: int | None = None, offset: int = 0, **) "
    "-> list[SessionMessage]",
    "read_agent": "session_id: str, agent_id: str, **) -> SessionAgent | None",
    "read_message": "session_id: str, agent_id: str, message_id: int, **) -> SessionMessage | None",
    "read_session": "session_id: str, **) -> Session | None",
    "update_agent": "session_id: str, session_agent: SessionAgent, **) -> None",
    "update_message": "session_id: str, agent_id: str, session_message: SessionMessage, **) -> None",
}
