"""Recorded requests: what exactly the model saw, rebuilt from the log and checked."""

from typing import Any

import pytest

from tests.spec import CID, Given, assistant, call, result, turn, user
from turnledger import (
    ConversationNotFound,
    ConversationStore,
    CorruptEvent,
    InvalidArgument,
    RequestNotFound,
    RequestRecorded,
    VersionConflict,
)
from turnledger.infrastructure import auditing, requests
from turnledger.projections.audit.report import REQUESTS
from turnledger.projections.providers import RENDERINGS

PROVIDER = "openai-chat"


def test_a_request_is_recorded_by_a_digest_and_not_by_its_list() -> None:
    past = Given([user("a long text")])
    recorded = past.store.record_request(CID, provider=PROVIDER, model="m-1", execution_id="e")
    *_, event = past.store.events(CID)
    assert isinstance(event, RequestRecorded)
    assert "a long text" not in repr(event)
    assert (event.of_version, event.provider, event.model, event.execution_id) == (2, PROVIDER, "m-1", "e")
    assert (event.messages, event.rendering, event.digest) == (1, RENDERINGS[PROVIDER], recorded.digest)
    assert (recorded.number, recorded.version, recorded.of_version) == (1, 3, 2)


@pytest.mark.parametrize("provider", [None, PROVIDER])
def test_what_the_model_saw_is_rebuilt_whatever_came_later(provider: str | None) -> None:
    past = Given([user("a"), turn(call("c1", {"q": 1}))])
    sent = past.store.sendable(CID, provider=provider)
    past.store.record_request(CID, provider=provider, expected_version=sent.version)
    past.when([user("b"), result("c1", "late")])
    past.compact(1)
    rebuilt = past.store.request_messages(CID, 1)
    assert (rebuilt.messages, rebuilt.request) == (sent.messages, sent.request)
    assert not rebuilt.rendered_differently


def test_requests_are_listed_in_order_and_numbered_from_one() -> None:
    past = Given([user("a")])
    past.store.record_request(CID, model="m-1")
    past.when(assistant("b"))
    past.store.record_request(CID, model="m-2")
    found = past.store.requests(CID)
    assert [(one.number, one.version, one.of_version, one.model) for one in found] == [
        (1, 3, 2, "m-1"),
        (2, 5, 4, "m-2"),
    ]
    assert past.store.requests(CID) == found


def test_a_request_changes_no_buffer() -> None:
    past = Given([user("a")])
    version = past.version
    past.store.record_request(CID)
    past.when(assistant("b"), expected_version=version)
    assert past.outcome.appended == 1


def test_a_request_for_a_list_that_has_changed_since_is_refused() -> None:
    past = Given([user("a")])
    sent = past.store.sendable(CID)
    past.when(user("b"))
    with pytest.raises(VersionConflict):
        past.store.record_request(CID, expected_version=sent.version)
    past.when(user("c"))
    assert past.store.requests(CID) == []


def test_a_writer_that_comes_in_between_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    past = Given([user("a")])
    render, store, once = past.store.sendable, past.store, [True]

    def raced(*args: Any, **keys: Any) -> Any:
        rendered = render(*args, **keys)
        if once:
            once.clear()
            store.append(CID, user("meanwhile"))
        return rendered

    monkeypatch.setattr(past.store, "sendable", raced)
    recorded = past.store.record_request(CID)
    assert (recorded.of_version, recorded.messages) == (3, 2)
    assert past.store.verify().ok


def test_another_rendering_reads_differently_and_is_no_damage(monkeypatch: pytest.MonkeyPatch) -> None:
    past = Given([user("a")])
    past.store.record_request(CID, provider=PROVIDER)
    render = past.store.sendable

    def rendered_anew(*args: Any, **keys: Any) -> Any:
        sendable = render(*args, **keys)
        assert sendable.request is not None
        sendable.request["store"] = True
        return sendable

    monkeypatch.setattr(past.store, "sendable", rendered_anew)
    for module in (requests, auditing):
        monkeypatch.setattr(module, "RENDERINGS", {**RENDERINGS, PROVIDER: RENDERINGS[PROVIDER] + 1})
    assert past.store.request_messages(CID, 1).rendered_differently
    assert past.store.verify().ok


def test_the_same_rendering_that_reads_differently_is_damage(monkeypatch: pytest.MonkeyPatch) -> None:
    past = Given([user("a"), assistant("b")])
    monkeypatch.setattr(requests, "digest_of_sent", lambda sent: "0" * 64)
    past.store.record_request(CID)
    monkeypatch.undo()
    with pytest.raises(CorruptEvent, match="not the one that was sent"):
        past.store.request_messages(CID, 1)
    (finding,) = past.store.verify().findings
    assert (finding.invariant, finding.versions) == (REQUESTS, (3, 4))


def test_the_digest_is_of_the_list_to_the_letter() -> None:
    digests = {
        requests.digest_of_sent([{"role": "user", "content": content}])
        for content in ("1", 1, 1.0, True, "é", "e\u0301", None)
    }
    assert len(digests) == 7
    assert requests.digest_of_sent({"a": 1, "b": 2}) == requests.digest_of_sent({"b": 2, "a": 1})


@pytest.mark.parametrize("number", [0, 2, -1, True, "1"])
def test_a_request_that_was_not_recorded_is_not_found(number: Any) -> None:
    past = Given([user("a")])
    past.store.record_request(CID)
    with pytest.raises(RequestNotFound, match="1 to 1"):
        past.store.request_messages(CID, number)


def test_what_cannot_be_recorded_is_refused() -> None:
    store = Given([user("a")]).store
    for model in ("", " ", 7, "m" * 1_025):
        with pytest.raises(InvalidArgument, match="model"):
            store.record_request(CID, model=model)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match="provider"):
        store.record_request(CID, provider="nobody")
    with pytest.raises(ConversationNotFound):
        store.record_request("nobody")
    with pytest.raises(ConversationNotFound):
        store.requests("nobody")
    assert store.version(CID) == 2


def test_a_request_of_nothing_but_a_held_artifact_is_an_empty_list() -> None:
    with ConversationStore(":memory:") as store:
        store.hold(CID, "e", [{"type": "link", "payload": {}}])
        assert store.record_request(CID).messages == 0
        assert store.request_messages(CID, 1).messages == []
