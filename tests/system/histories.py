"""Small histories that the audit's tests break; each is written through the face, by a clock that ticks."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

from turnledger import ConversationStore, Record

STARTED_AT = datetime(2026, 1, 1, tzinfo=UTC)
History = Callable[[ConversationStore], None]


def ticking() -> Callable[[], datetime]:
    seconds = count()
    return lambda: STARTED_AT + timedelta(seconds=next(seconds))


def counting() -> Callable[[], str]:
    numbers: Iterator[int] = count(1)
    return lambda: f"id-{next(numbers)}"


def written(path: Path, history: History, window: int | None = None) -> Path:
    """A closed store with one conversation, `c`, of this history."""
    with ConversationStore(path, clock=ticking(), new_id=counting(), window=window) as store:
        history(store)
    return path


def user(content: str = "go on") -> dict[str, Any]:
    return {"role": "user", "content": content}


def turn(*ids: str, name: str = "search") -> dict[str, Any]:
    calls = [{"tool_call_id": call_id, "name": name} for call_id in ids]
    return {"role": "assistant", "content": "", "metadata": {"tool_calls": calls}}


def said(content: str = "done") -> dict[str, Any]:
    return {"role": "assistant", "content": content}


def result(call_id: str, content: str = "found") -> dict[str, Any]:
    return {"role": "tool", "content": content, "metadata": {"tool_call_id": call_id}}


def link(number: int) -> dict[str, Any]:
    return {"type": "link", "payload": {"number": number}, "tool_call_id": None}


def healing(store: ConversationStore) -> None:
    """2 user · 3 turn a, b · 4 and 5 healed · 6 user · 7 a replaced · 8 turn d · 9 result d · 10 said"""
    store.append("c", user())
    store.append("c", turn("a", "b"))
    store.append("c", user())
    store.append("c", result("a"))
    store.append("c", turn("d"))
    store.append("c", result("d"))
    store.append("c", said())


def pausing(store: ConversationStore) -> None:
    """2 id-1, id-2 held · 3 taken · 4 id-4 held · 5 put back · 6 said · 7 taken · 8 delivered on entry 1,
    with id-6 · 9 id-7 held · 10 taken · 11 delivered elsewhere · 12 id-9 held · 13 taken · 14 discarded"""
    store.hold("c", "run", [link(1), link(2)])
    take = store.take("c", "run")
    store.hold("c", "run", [link(3)])
    store.put_back("c", take)
    store.write_back("c", "run", said(), artifacts=[link(4)])
    store.hold("c", "run", [link(5)])
    store.confirm("c", store.take("c", "run"))
    store.hold("c", "run", [link(6)])
    store.discard("c", store.take("c", "run"), reason="the run was given up")


def retracting(store: ConversationStore) -> None:
    """2 user · 3 turn a, b · 4 result a · 5 record u1 · 6 result a and 7 turn a, b retracted · 8 said ·
    9 record u2 · 10 cleared · 11 record u1 · 12 turn a · 13 result a"""
    store.append("c", user())
    store.append("c", turn("a", "b"))
    store.append("c", result("a"), records=[Record("sdk", "u1", 1)])
    store.retract("c", 2)
    store.append("c", said(), records=[Record("sdk", "u2", 2)])
    store.clear("c")
    store.append("c", [], records=[Record("sdk", "u1", 3)])
    store.append("c", [turn("a"), result("a")])


def sliding(store: ConversationStore) -> None:
    """With a window of 4: 2 system · 3 user · 4 turn a · 5 result a · 6 said · 7 user · 8 entry 2 evicted ·
    9 said · 10 entries 3, 4 evicted"""
    store.append("c", {"role": "system", "content": "be kind"})
    for message in (user(), turn("a"), result("a"), said(), user(), said()):
        store.append("c", message)


def compacting(store: ConversationStore) -> None:
    """2 user · 3 turn a · 4 result a · 5 said · 6 entries 1 to 3 evicted · 7 summary, entry 5 · 8 turn b ·
    9 and 10 said · 11 entries 5, 4, 7 evicted · 12 summary, entry 9"""
    for message in (user(), turn("a"), result("a"), said()):
        store.append("c", message)
    store.compact("c", keep_last=1, summary=user("so far"))
    for message in (turn("b"), said(), said()):
        store.append("c", message)
    store.compact("c", keep_last=1, summary=user("so far"))


def requesting(store: ConversationStore) -> None:
    """2 user · 3 request · 4 said · 5 request"""
    store.append("c", user())
    store.record_request("c", provider="openai-chat")
    store.append("c", said())
    store.record_request("c", provider="openai-chat")


def forking(store: ConversationStore) -> None:
    """1 forked from `source`, which has entries 1 user, 2 turn a, 3 result a, 4 said · 2 user · 3 said"""
    for message in (user(), turn("a"), result("a")):
        store.append("source", message)
    store.write_back("source", "run", said(), artifacts=[link(1)])
    store.fork("source", at=store.version("source"), into="c")
    store.append("c", user())
    store.append("c", said())
