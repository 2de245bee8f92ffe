"""Salvage: what the sound events of a damaged log still show."""

from tests.spec import CID, Given, assistant, result, turn, user
from turnledger import DomainEvent
from turnledger.projections.salvage import salvaged


def shown(events: list[DomainEvent]) -> list[object]:
    return [message["content"] for message in salvaged(events)]


def events(past: Given, conversation_id: str = CID) -> list[DomainEvent]:
    return list(past.store.events(conversation_id))


def test_of_a_sound_log_the_buffer_is_saved() -> None:
    past = Given([user("a"), turn("c1"), user("b"), result("c1"), assistant("c")]).compact(2)
    past.store.fork(CID, at=past.version, into="f")
    past.store.append("f", [turn("c2"), user("d")])
    for name in (CID, "f"):
        assert salvaged(events(past, name)) == past.store.buffer(name)


def test_without_the_entry_that_it_stood_behind_a_summary_comes_first() -> None:
    past = Given([turn("c1"), assistant("a"), assistant("b")]).compact(1)
    past.buffer("assistant[c1]", "user what was said", "assistant b")
    sound = [event for event in events(past) if event.version != 2]
    assert shown(sound) == ["what was said", "b"]


def test_without_its_beginning_a_fork_shows_what_came_after() -> None:
    past = Given([user("a"), turn("c1")])
    past.store.fork(CID, at=3, into="f")
    past.store.append("f", [user("b"), assistant("c")])
    assert shown(events(past, "f")[1:]) == ["Tool call was interrupted; no result.", "b", "c"]
