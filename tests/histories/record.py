"""Records a log that holds every kind of event with every field, from a fixed clock and fixed ids."""

import json
import sqlite3
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

from turnledger import ConversationStore, HeldLimits, Record

HERE = Path(__file__).parent
LIMITS = HeldLimits(artifacts=3, payload_bytes=1_000)


def call(call_id: str, name: str = "search", **arguments: Any) -> dict[str, Any]:
    return {"tool_call_id": call_id, "name": name, **({"arguments": arguments} if arguments else {})}


def turn(*calls: dict[str, Any], content: str = "") -> dict[str, Any]:
    return {"role": "assistant", "content": content, "tool_calls": list(calls)}


def result(call_id: str, content: Any = "found") -> dict[str, Any]:
    return {"role": "tool", "content": content, "tool_call_id": call_id}


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def link(name: str, **more: Any) -> dict[str, Any]:
    return {"type": "link", "payload": {"url": f"https://example.com/{name}", **more}, "tool_call_id": "c1"}


def ticking() -> Iterator[datetime]:
    start = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
    return (start + timedelta(seconds=number, microseconds=number * 7) for number in count())


def everything(path: Path) -> None:
    """One conversation with a window that goes through all that the rules know, and one that only starts."""
    ticks, numbers = ticking(), count(1)
    with ConversationStore(
        path,
        window=6,
        held_limits=LIMITS,
        clock=lambda: next(ticks),
        new_id=lambda: f"id-{next(numbers)}",
    ) as store:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _messages(store)
            _artifacts(store)
        store.append("other", {"role": "system", "content": "Be brief.", "model": "m-1"})
        _travelling(store)
        _taking_back(store)


def _messages(store: ConversationStore) -> None:
    store.append(
        "all",
        [
            {"role": "system", "content": "Be kind."},
            user("cats 🐈, NUL \0, half \ud800"),
            turn(call("c1", q="cats")),
        ],
        turn_id="t1",
        execution_id="e1",
        context={"actor": "worker-1", "trace": "4bf92f35"},
    )
    store.append(
        "all", user(["parts", {"type": "text", "text": "well?"}]), turn_id="t2", idempotency_key="k1"
    )
    store.append("all", result("c1", {"hits": 3, "exact": 1e16, "none": None}))
    store.append("all", [turn(call("c1", q="dogs")), result("c1", "two dogs")], reused_ids="compare")
    store.append(
        "all", [turn({"id": 7, "function": {"name": "now", "arguments": "{}"}}), result("7", float("nan"))]
    )
    store.append("all", [{"role": "developer", "content": 1.5}, user("and now?")])


def _artifacts(store: ConversationStore) -> None:
    store.hold("all", "e1", [link("a"), link("b"), {"type": ""}, link("big", text="x" * 2_000)], turn_id="t3")
    store.confirm("all", store.take("all", "e1", context={"actor": "operator"}))
    store.hold("all", "e1", [link("c"), link("d")], idempotency_key="k2")
    back = store.take("all", "e1")
    store.hold("all", "e1", [link("e"), link("f"), {"type": "note", "payload": {}, "tool_call_id": 12}])
    store.put_back("all", back)
    store.write_back(
        "all",
        "e1",
        [turn(call("c9"), content="Here you are."), result("c9")],
        artifacts=[link("g"), {"type": "x", "payload": 1}],
        turn_id="t4",
    )
    store.write_back(
        "all", "e1", [turn(call("c9"), content="Here you are.")], artifacts=[link("g"), link("h")]
    )
    store.discard("all", store.take("all", "e1"), reason="the run was cancelled")
    store.hold("all", "e2", [link("i")])
    store.take("all", "e2")
    store.hold("all", "e2", [link("j")])


def _travelling(store: ConversationStore) -> None:
    """What came with the second recording: requests, a compaction, forks, and a fork of a fork."""
    store.record_request("all", provider="openai-chat", model="m-2", execution_id="e1", turn_id="t5")
    store.fork("all", at=store.version("all"), into="fork", turn_id="t6", context={"actor": "debugger"})
    store.append("fork", [turn(call("c1", q="owls")), user("And owls?")])
    store.append("fork", result("c1", ["two owls"]))
    store.record_request("fork")
    summary = {"role": "user", "content": "So far: cats, dogs and owls.", "by": "m-2"}
    store.compact("fork", keep_last=1, summary=summary, turn_id="t7", context={"actor": "worker-2"})
    store.fork("fork", at=store.version("fork"), into="fork of a fork")
    store.append("fork of a fork", [user("And now?"), turn(call("c1", q="cats"))])
    store.compact("fork of a fork", keep_last=0, summary={"role": "system", "content": "All is said."})


def _taking_back(store: ConversationStore) -> None:
    """What came with the third recording: retractions, records, a clearing."""
    store.append("retried", [user("cats?"), turn(call("c1", q="cats")), result("c1", "wrong")], turn_id="t8")
    store.retract("retried", turn_id="t8", context={"actor": "worker-3"})
    store.append("retried", [result("c1", "right"), turn(call("c2"))], execution_id="e3")
    store.append("retried", user("Never mind."))
    store.retract("retried", 2, idempotency_key="k3")
    store.append(
        "retried",
        [turn(call("c1", q="cats")), result("c1", "three")],
        records=[
            Record("sdk", "u1", {"type": "assistant", "uuid": "u1", "parts": [None, 1.5, "🐈"]}),
            Record("sdk", "u1", "kept before"),
            Record("other", None, ["no key"]),
        ],
        turn_id="t9",
    )
    store.hold("retried", "e3", [link("k")])
    store.clear("retried", context={"actor": "operator"})
    store.append("retried", [turn(call("c1", q="cats")), user("Again.")], records=[Record("sdk", "u1", None)])


def rows(path: Path) -> list[dict[str, Any]]:
    """The rows of the log, as they are kept."""
    with closing(sqlite3.connect(path)) as connection:
        found = connection.execute(
            "SELECT originator_id, originator_version, topic, state FROM stored_events"
        )
        return [
            {"conversation_id": id_, "version": version, "topic": topic, "state": state.decode()}
            for id_, version, topic, state in found
        ]


def shown(path: Path) -> dict[str, Any]:
    """What the views make of each conversation at each version."""
    with ConversationStore(path, create=False) as store:
        return {
            summary.conversation_id: [
                _at(store, summary.conversation_id, v) for v in range(summary.version + 1)
            ]
            for summary in store.conversations()
        }


def _at(store: ConversationStore, conversation_id: str, version: int) -> dict[str, Any]:
    sendable = store.sendable(conversation_id, at=version)
    return {
        "wire": store.wire(conversation_id, at=version),
        "sendable": sendable.messages,
        "dropped": sendable.dropped,
        "held": store.held(conversation_id, at=version),
        **_records(store, conversation_id, version),
    }


def _records(store: ConversationStore, conversation_id: str, version: int) -> dict[str, Any]:
    kept = store.records(conversation_id, at=version)
    told = [[one.kind, one.key, one.value, one.version, one.time.isoformat()] for one in kept]
    return {"records": told} if told else {}


def main(folder: str) -> None:
    target = HERE / folder
    if target.exists() and any(target.iterdir()):
        raise SystemExit(f"{folder} is recorded already and is never edited: name a new one")
    target.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        path = Path(temporary) / "everything.db"
        everything(path)
        lines = [json.dumps(row, ensure_ascii=False) for row in rows(path)]
        (target / "everything.rows.jsonl").write_text("\n".join(lines) + "\n")
        (target / "everything.shown.json").write_text(
            json.dumps(shown(path), ensure_ascii=False, indent=1) + "\n"
        )


if __name__ == "__main__":
    main(sys.argv[1])
