"""The cases of kind import: messages of a provider or client, and the flat list that they become."""

import json
from typing import Any

import pytest

from tests.contract.cases import as_json, assert_messages, cases, names, only, with_runs_sorted
from tests.sendable_check import why_not_sendable
from turnledger import ConversationStore, normalize
from turnledger.importing import ALIASES, FORMATS, guessed_format, import_transcript

KNOWN = {*FORMATS, *ALIASES}
_PREFERRED = "_preferred"


def flat(message: dict[str, Any]) -> dict[str, Any]:
    """A stored or flat message with the keys that an expectation may name, arguments as JSON values."""
    pairing = message.get("metadata", message)
    found: dict[str, Any] = {"role": message["role"], "content": message["content"]}
    if calls := pairing.get("tool_calls"):
        found["tool_calls"] = [_call(call) for call in calls]
    if "tool_call_id" in pairing:
        found["tool_call_id"] = pairing["tool_call_id"]
    return found


def _call(call: dict[str, Any]) -> dict[str, Any]:
    given = call.get("arguments", {})
    try:
        arguments = json.loads(given) if isinstance(given, str) else given
    except ValueError:
        arguments = given
    return {"tool_call_id": call["tool_call_id"], "name": call["name"], "arguments": arguments}


class Tokens:
    """What stands for `@1`, `@2`: one id each, and each id one token."""

    def __init__(self) -> None:
        self._ids: dict[str, str] = {}

    def id_of(self, token: str, found: str | None) -> str:
        if not token.startswith("@"):
            return token
        assert found or token in self._ids
        known = self._ids.setdefault(token, found or "")
        assert len(set(self._ids.values())) == len(self._ids), f"two tokens are one id: {self._ids}"
        return known

    def put_in(self, expected: list[dict[str, Any]], found: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """The expectation with the ids that were found in the place of its tokens."""
        result: list[dict[str, Any]] = json.loads(as_json(expected))
        for want, message in zip(result, found, strict=True):
            for call, declared in zip(want.get("tool_calls", ()), message.get("tool_calls", ()), strict=True):
                call["tool_call_id"] = self.id_of(call["tool_call_id"], declared["tool_call_id"])
            if "tool_call_id" in want:
                want["tool_call_id"] = self.id_of(want["tool_call_id"], message.get("tool_call_id"))
        return result


def assert_flat(found: list[dict[str, Any]], expect: dict[str, Any], prefix: str, tokens: Tokens) -> None:
    """Compares with what `expect` says under the keys of that prefix."""
    if prefix + "messages" in expect:
        expected = expect[prefix + "messages"]
        assert [one["role"] for one in found] == [one["role"] for one in expected]
        order = expect.get("sibling_results_order")
        if order == "any":
            found, expected = with_runs_sorted(found), with_runs_sorted(expected)
        assert_messages(found, tokens.put_in(expected, found), order)
    if prefix + "roles" in expect:
        assert [message["role"] for message in found] == expect[prefix + "roles"]
    for place, calls in expect.get(prefix + "tool_calls", {}).items():
        declared = found[int(place)]["tool_calls"]
        for call, (token, name, arguments) in zip(declared, calls, strict=True):
            assert call["tool_call_id"] == tokens.id_of(token, call["tool_call_id"])
            assert (call["name"], as_json(call["arguments"])) == (name, as_json(arguments))
    for place, token in expect.get(prefix + "tool_call_ids", {}).items():
        answered = found[int(place)]["tool_call_id"]
        assert answered == tokens.id_of(token, answered)
    for place, text in expect.get(prefix + "contains_at", {}).items():
        assert text in found[int(place)]["content"]
    for text in expect.get(prefix + "contains_content", ()):
        assert any(text in message["content"] for message in found)
    for text in expect.get(prefix + "not_contains_content", ()):
        assert all(text not in message["content"] for message in found)


EXPECTED = ("messages", "roles", "tool_calls", "tool_call_ids", "contains_at", "contains_content")
THEN = (
    "then_normalized",
    "then_normalized_roles",
    "then_normalized_dropped",
    "then_placeholder_ids",
    "sibling_results_order",
)


def _pending(name: str, format: str) -> Any:
    marks = () if format in KNOWN else (pytest.mark.xfail(reason=f"{format} is not read yet", strict=True),)
    return pytest.param(name, id=name, marks=marks)


@pytest.mark.parametrize("name", [_pending(case["id"], case["format"]) for case in cases("import")])
def test_import_case(name: str) -> None:
    (case,) = (case for case in cases("import") if case["id"] == name)
    only(case, "format", "messages", "expect", "open")
    expect = {key.removesuffix(_PREFERRED): value for key, value in case["expect"].items()}
    only(expect, *EXPECTED, *THEN, "not_contains_content")
    with ConversationStore(":memory:") as store:
        done = import_transcript(store, "case", case["messages"], case["format"])
        if "messages" in expect:  # an import may leave out what repeats
            dropped = done.report.duplicates if done.report else ()
            expect["messages"] = [one for i, one in enumerate(expect["messages"]) if i not in dropped]
        tokens, buffer = Tokens(), store.buffer("case")
        healed = [message for message in buffer if message["metadata"].get("healed")]
        assert not healed or "then_placeholder_ids" in expect
        assert_flat([flat(message) for message in buffer if message not in healed], expect, "", tokens)
        normalized = normalize(buffer)
        assert why_not_sendable(normalized.messages) is None
        assert_then([flat(message) for message in normalized.messages], expect, tokens)
        if "then_normalized_dropped" in expect:
            assert normalized.dropped in (0, expect["then_normalized_dropped"])
        assert import_transcript(store, "case", case["messages"], case["format"]).outcome == "unchanged"
        assert store.verify("case").ok
        assert done.format == ALIASES.get(case["format"], case["format"])


def assert_then(sent: list[dict[str, Any]], expect: dict[str, Any], tokens: Tokens) -> None:
    if "then_normalized" in expect:
        both = {"messages": expect["then_normalized"]} | {
            key: value for key, value in expect.items() if key == "sibling_results_order"
        }
        assert_flat(sent, both, "", tokens)
    if "then_normalized_roles" in expect:
        assert [message["role"] for message in sent] == expect["then_normalized_roles"]
    if "then_placeholder_ids" in expect:
        found = [
            one["tool_call_id"] for one in sent if one["content"].startswith("Tool call was interrupted")
        ]
        assert found == [tokens.id_of(token, None) for token in expect["then_placeholder_ids"]]


@pytest.mark.parametrize(
    "name", [case["id"] for case in cases("import") if case["format"] in KNOWN], ids=lambda name: name
)
def test_the_format_of_a_case_is_guessed(name: str) -> None:
    (case,) = (case for case in cases("import") if case["id"] == name)
    assert guessed_format(case["messages"]) == ALIASES.get(case["format"], case["format"])


def test_every_import_case_is_run() -> None:
    assert len(names("import")) == 16
