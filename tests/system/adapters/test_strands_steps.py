"""The repository of Strands step by step: what a step reads, what a crash leaves between two, odd names."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.judges.official import library
from tests.system.adapters.staging import Died, Mortal
from turnledger import ConversationStore

pytestmark = pytest.mark.filterwarnings("ignore")  # of Strands' own

library("strands")

from strands.types.exceptions import SessionException  # noqa: E402
from strands.types.session import Session, SessionAgent, SessionMessage, SessionType  # noqa: E402

from turnledger.adapters.strands import TurnledgerRepository, conversation_of  # noqa: E402

CID = conversation_of("s", "a")


@pytest.fixture
def store() -> Iterator[Mortal]:
    with Mortal(":memory:") as opened:
        yield opened


def begun(store: ConversationStore, session: str = "s", agent: str = "a") -> Any:
    repository: Any = TurnledgerRepository(store)
    repository.create_session(Session(session, SessionType.AGENT))
    repository.create_agent(session, SessionAgent(agent, {}, {}))
    return repository


def said(text: str) -> list[Any]:
    return [{"text": text}]


def called(*ids: str) -> list[Any]:
    return [{"toolUse": {"toolUseId": one, "name": "track", "input": {}}} for one in ids]


def answered(*ids: str) -> list[Any]:
    return [{"toolResult": {"toolUseId": one, "status": "success", "content": said(one)}} for one in ids]


def told(repository: Any, *contents: list[Any], first: int = 0) -> None:
    for number, content in enumerate(contents, first):
        role = "assistant" if "toolUse" in str(content) or number % 2 else "user"
        repository.create_message("s", "a", SessionMessage({"role": role, "content": content}, number))


def shape(messages: list[Any]) -> list[str]:
    """The blocks: a text, `c:` a call, `r:` a result, and of a stand-in that it is one."""
    found = []
    for message in messages:
        for block in message.to_message()["content"]:
            result = block.get("toolResult", {})
            stands_in = " stand-in" if result.get("status") == "error" else ""
            call = block.get("toolUse", {}).get("toolUseId")
            found.append(block.get("text") or (call and f"c:{call}") or f"r:{result['toolUseId']}{stands_in}")
    return found


def redact(repository: Any, number: int, text: str = "gone") -> None:
    message = repository.read_message("s", "a", number)
    message.redact_message = {"role": message.message["role"], "content": said(text)}
    repository.update_message("s", "a", message)


def test_a_step_reads_what_is_new_and_not_how_long_the_session_is(store: Mortal) -> None:
    repository = begun(store)
    told(repository, *(said(str(number)) for number in range(60)))
    repository.list_messages("s", "a", offset=58)
    store.read = 0
    told(repository, said("next"), first=60)
    repository.update_agent("s", SessionAgent("a", {"n": 1}, {}))
    repository.read_agent("s", "a")
    assert store.read < 6
    store.read = 0
    assert shape(repository.list_messages("s", "a", offset=58)) == ["58", "59", "next"]
    assert shape([repository.read_message("s", "a", 7)]) == ["7"]
    assert store.read < 9


def test_pages_put_together_are_the_list_as_a_whole(store: Mortal) -> None:
    repository = begun(store)
    told(repository, said("Where?"), called("x", "y"), said("Hello?"), answered("x"), said("There"))
    told(repository, called("z"), said("?"), first=5)
    whole = shape(repository.list_messages("s", "a"))
    assert whole == [
        "Where?",
        "c:x",
        "c:y",
        "r:x",
        "r:y stand-in",
        "Hello?",
        "There",
        "c:z",
        "r:z stand-in",
        "?",
    ]
    for size in 1, 2, 3, 5:
        pages = [repository.list_messages("s", "a", limit=size, offset=at) for at in range(0, 20, size)]
        assert [block for page in pages for block in shape(page)] == whole


def test_a_message_of_nothing_comes_back(store: Mortal) -> None:
    repository = begun(store)
    told(repository, said("Hi"), [])
    assert [m.message["content"] for m in repository.list_messages("s", "a")] == [said("Hi"), []]


def test_what_is_read_is_the_callers_own(store: Mortal) -> None:
    class Graph:
        id = "g"

        def serialize_state(self) -> Any:
            return {"n": [1]}

    repository = begun(store)
    repository.create_multi_agent("s", Graph())
    repository.update_agent("s", SessionAgent("a", {"n": [1]}, {}))
    repository.read_multi_agent("s", "g")["n"].append(2)
    repository.read_agent("s", "a").state["n"].append(2)
    assert repository.read_multi_agent("s", "g") == {"n": [1]}
    assert repository.read_agent("s", "a").state == {"n": [1]}


def test_a_session_that_is_nowhere_is_not_deleted(store: Mortal) -> None:
    repository = begun(store)
    with pytest.raises(SessionException):
        repository.delete_session("t")
    repository.delete_session("s")
    with pytest.raises(SessionException):
        repository.delete_session("s")


def test_a_session_whose_process_died_as_it_was_deleted_leaves_no_agent_to_the_next(store: Mortal) -> None:
    repository = begun(store)
    told(repository, said("Hi"))
    calls = iter(range(9))
    store.dies = lambda call, _: call == "clear" and next(calls) == 2
    with pytest.raises(Died):
        repository.delete_session("s")
    del store.dies
    assert repository.read_session("s") is not None  # it is still there to be deleted
    assert repository.read_agent("s", "a") is None
    repository.delete_session("s")
    assert begun(store).list_messages("s", "a") == []


def test_a_redaction_whose_process_died_is_ended_when_the_session_is_read_again(store: Mortal) -> None:
    repository = begun(store)
    told(repository, said("q"), called("x", "y"), [*answered("x", "y"), *said("secret")])
    calls = iter(range(9))
    store.dies = lambda call, _: call == "retract" and next(calls) == 1
    with pytest.raises(Died):
        redact(repository, 2)
    del store.dies
    other: Any = TurnledgerRepository(store)
    assert shape(other.list_messages("s", "a"))[-1] == "gone"
    for _ in range(2):
        assert [m["content"] for m in store.buffer(CID)][-1] == "gone"
        assert "secret" not in str(store.sendable(CID).messages)
        other = TurnledgerRepository(store)
        other.list_messages("s", "a")
    assert store.verify().ok


def test_a_redaction_keeps_what_was_healed_for_the_message(store: Mortal) -> None:
    repository = begun(store)
    told(repository, said("q"), called("x"), said("secret"))
    redact(repository, 2)
    assert [(m["role"], m["content"]) for m in store.sendable(CID).messages] == [
        ("user", "q"),
        ("assistant", ""),
        ("tool", "Tool call was interrupted; no result."),
        ("user", "gone"),
    ]


@pytest.mark.parametrize("name", ["a/b", "..", "%2F", "x" * 2_000, "a\nb\x00", "né ü 😀", "", " "])
def test_sessions_and_agents_may_have_any_name(store: Mortal, name: str) -> None:
    repository = begun(store, name, name)
    message = SessionMessage({"role": "user", "content": said("Hi")}, 0)
    repository.create_message(name, name, message)
    assert repository.list_messages(name, name) == [message]
    assert repository.read_session(name + "!") is None
    repository.delete_session(name)
    assert repository.read_agent(name, name) is None
