"""Reads the cases, and compares as their README says."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from turnledger import ConversationStore

FOLDER = Path(__file__).parent.parent / "cases"
TOLD = {"id", "source", "kind", "why"}


class Unknown:
    """An object of no known type."""


def decoded(value: Any) -> Any:
    """A case's value with what JSON cannot hold put in its place."""
    if isinstance(value, list):
        return [decoded(item) for item in value]
    if not isinstance(value, dict):
        return value
    if "$bytes_hex" in value:
        return bytes.fromhex(value["$bytes_hex"])
    if "$float" in value:
        return float(value["$float"])
    if "$repeat" in value:
        return value["$repeat"][0] * value["$repeat"][1]
    if "$unserializable" in value:
        return Unknown()
    assert not any(key.startswith("$") for key in value), f"a value that the runner does not know: {value}"
    result: dict[str, Any] = {}
    for key, item in value.items():
        result[key] = result if item == {"$circular": True} else decoded(item)
    return result


def cases(kind: str) -> list[dict[str, Any]]:
    found = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.json"))]
    return [case for case in found if case["kind"] == kind]


def names(kind: str) -> list[str]:
    return [case["id"] for case in cases(kind)]


def only(keys: Any, *known: str) -> None:
    """Fails on a key that the runner would ignore."""
    unknown = set(keys) - set(known) - TOLD
    assert not unknown, f"the runner does not know {sorted(unknown)}"


def as_json(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _call(call: dict[str, Any]) -> tuple[Any, ...]:
    function = call.get("function") or {}
    found = call.get("tool_call_id"), call.get("id")
    call_id = next((value for value in found if value not in (None, "")), "")
    return call_id, call.get("name") or function.get("name", "")


def _arguments(call: dict[str, Any]) -> Any:
    given = call.get("arguments", (call.get("function") or {}).get("arguments"))
    try:
        return json.loads(given) if isinstance(given, str) else given
    except ValueError:
        return given


def _runs(messages: list[dict[str, Any]]) -> Iterator[tuple[int, int]]:
    start = 0
    while start < len(messages):
        end = start
        while end < len(messages) and messages[end]["role"] == "tool":
            end += 1
        if end > start:
            yield start, end
        start = max(end, start + 1)


def with_runs_sorted(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The run of tool entries right behind a turn compares as a set."""
    result = list(messages)
    for start, end in _runs(messages):
        result[start:end] = sorted(messages[start:end], key=as_json)
    return result


def _pairing(message: dict[str, Any], key: str) -> Any:
    return (message.get("metadata") or {}).get(key, message.get(key))


def assert_message(found: dict[str, Any], expected: dict[str, Any]) -> None:
    assert found["role"] == expected["role"]
    assert as_json(found["content"]) == as_json(expected["content"])
    calls, wanted = _pairing(found, "tool_calls") or [], _pairing(expected, "tool_calls") or []
    assert list(map(_call, calls)) == list(map(_call, wanted))
    for call, want in zip(calls, wanted, strict=True):
        if _arguments(want) is not None:
            assert as_json(_arguments(call)) == as_json(_arguments(want))
        if "original_id" in want:
            assert call.get("original_id") == want["original_id"]
    assert (_pairing(found, "tool_call_id") or "") == (_pairing(expected, "tool_call_id") or "")
    assert (_pairing(found, "healed") is True) is (_pairing(expected, "healed") is True)


def assert_messages(
    found: list[dict[str, Any]], expected: list[dict[str, Any]], order: str | None = None
) -> None:
    assert order in (None, "any")
    if order == "any":
        found, expected = with_runs_sorted(found), with_runs_sorted(expected)
    assert [message["role"] for message in found] == [message["role"] for message in expected]
    for message, want in zip(found, expected, strict=True):
        assert_message(message, want)


def contents(store: ConversationStore, conversation_id: str) -> list[Any]:
    return [message["content"] for message in store.buffer(conversation_id)]


def run_append(store: ConversationStore, conversation_id: str, step: dict[str, Any]) -> Any:
    """One step of an append, with what is expected of it."""
    result = store.append(conversation_id, decoded(step["append"]))
    expect = step.get("expect", {})
    only(expect, "appended", "count")
    if "appended" in expect:
        assert result.appended == expect["appended"]
        assert result.appended_any is (expect["appended"] > 0)
    if "count" in expect:
        assert result.count == expect["count"]
        assert len(store.buffer(conversation_id)) == expect["count"]
    return result
