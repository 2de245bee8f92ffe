"""Recorded conversations, some of which use an id for several calls, appended message by message."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.model import Model
from tests.sendable_check import why_not_openai, why_not_sendable
from turnledger import ConversationStore

TESTS = Path(__file__).parents[1]
FILES = [
    path
    for path in (
        TESTS / "data" / "tau-bench-airline-5.jsonl",
        TESTS.parents[1] / "shared" / "data" / "tau-bench-airline-50.jsonl",
    )
    if path.exists()
]
"""Five that come with the tests, and all fifty where they lie beside the checkout."""


def has_id(message: dict[str, Any]) -> bool:
    return bool(message.get("tool_calls") or message.get("tool_call_id"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
@pytest.mark.parametrize("again", [False, True], ids=["once", "each twice"])
def test_message_by_message_nothing_is_lost_and_what_comes_twice_adds_nothing(
    path: Path, again: bool
) -> None:
    conversations = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    added = renamed = 0
    with ConversationStore(":memory:") as store:
        for conversation in conversations:
            conversation_id, messages = conversation["id"], conversation["messages"]
            model = Model(None, 100, 4 * 2**20)
            for message in messages:
                report = store.append(conversation_id, message)
                added += report.appended
                renamed += bool(report.renamed)
                expected = model.append([message], "compare", None, None)
                assert (list(report.entries), report.version) == (expected.entries, model.version)
                if again and has_id(message):
                    repeat = store.append(conversation_id, message)
                    assert (repeat.appended, repeat.version) == (0, report.version)
            buffer = store.buffer(conversation_id)
            assert [(entry["role"], entry["content"]) for entry in buffer] == [
                (message["role"], message["content"] or "") for message in messages
            ]
            sendable = store.sendable(conversation_id)
            assert (sendable.dropped, why_not_sendable(sendable.messages)) == (0, None)
            request = store.sendable(conversation_id, provider="openai-chat").messages
            assert why_not_openai(request) is None
            assert len(request) == len(messages)
    assert added == sum(len(conversation["messages"]) for conversation in conversations)
    assert renamed >= 3


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_each_is_gone_through_forked_compacted_and_compared(path: Path) -> None:
    conversations = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    with ConversationStore(":memory:") as store:
        for conversation in conversations:
            travelled(store, conversation["id"], conversation["messages"])
        anchors = [store.head(found.conversation_id) for found in store.conversations()]
        assert len(anchors) == 2 * len(conversations)
        assert store.verify(anchors=anchors).findings == ()


def travelled(store: ConversationStore, conversation_id: str, messages: list[dict[str, Any]]) -> None:
    sent = []
    for message in messages:
        if message["role"] == "assistant":
            sent.append(store.sendable(conversation_id, provider="openai-chat").messages)
            store.record_request(conversation_id, provider="openai-chat")
        store.append(conversation_id, message)
    for number, list_sent in enumerate(sent, start=1):
        assert store.request_messages(conversation_id, number).messages == list_sent
    rows = list(store.history(conversation_id))
    last = rows[-1].version
    assert sum(len(row.buffer.added) for row in rows) == len(messages)
    assert rows[-1].sendable.length == len(messages)
    fork = f"{conversation_id} again"
    store.fork(conversation_id, at=last // 2, into=fork)
    assert store.sendable(fork).messages == store.sendable(conversation_id, at=last // 2).messages
    for message in messages:  # a transcript that is sent whole finds what it has, and adds the rest
        if has_id(message):
            store.append(fork, message)
    diff = store.diff(conversation_id, last, store.version(fork), other=fork)
    same = store.sendable(fork).messages == store.sendable(conversation_id).messages
    assert (diff.first_changed is None) is (diff.cause is None) is same
    store.compact(fork, keep_last=2, summary={"role": "user", "content": "so far"})
    assert why_not_sendable(store.sendable(fork).messages) is None
    assert store.diff(fork, 1, store.version(fork)).first_changed is not None
    assert not [item for item in store.open_calls(conversation_id) if item.kind == "placeholder"]
