"""Messages of Strands, which are Bedrock's, as entries; and a list of them repaired.

Pure. A result that Strands puts where it finds none is a stand-in (MEM-3): the real one replaces it (MEM-10).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import NAMESPACE_OID, uuid5

from turnledger.adapters.extras import extra
from turnledger.domain.records import KeptRecord
from turnledger.importing import read_messages

with extra("strands"):
    from strands.tools._tool_helpers import generate_missing_tool_result_content
    from strands.types.session import SessionMessage, encode_bytes_values

_STAND_IN = generate_missing_tool_result_content(["x"])[0]["toolResult"]["content"]


def as_entries(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The messages to append that one of Strands is: its results first."""
    plain = {"role": message["role"], "content": list(message["content"])}
    entries = [dict(entry) for entry in read_messages([plain], format="bedrock-converse")]
    stand_ins = {r["toolUseId"] for r in results_in(message) if is_stand_in(r)}
    for entry in entries:
        if entry["role"] == "tool" and entry["tool_call_id"] in stand_ins:
            entry["metadata"] = {**entry.get("metadata", {}), "healed": True}
    return entries


def is_stand_in(result: Mapping[str, Any]) -> bool:
    return result.get("status") == "error" and result.get("content") == _STAND_IN


def results_in(message: Mapping[str, Any]) -> list[Any]:
    return [block["toolResult"] for block in message["content"] if "toolResult" in block]


def uses_in(message: Mapping[str, Any]) -> list[Any]:
    return [block["toolUse"] for block in message["content"] if "toolUse" in block]


def calls_in(kept: Mapping[str, Any]) -> list[str]:
    """The ids of the calls of a kept message."""
    return [use["toolUseId"] for use in uses_in(kept["message"])]


def same(record: KeptRecord | None, message: SessionMessage) -> bool:
    """Whether a record holds this very message."""
    return record is not None and record.value["message"] == encode_bytes_values(message.message)


def with_own_ids(message: SessionMessage, known: Iterable[str]) -> None:
    """Gives calls of a known id one of their own, in the message that Strands goes on with."""
    declared = set(known)
    for use in uses_in(message.message):
        number, given = 1, use["toolUseId"]
        while use["toolUseId"] in declared:
            number += 1
            use["toolUseId"] = f"{given}-{number}"
        declared.add(use["toolUseId"])


def repaired(messages: Sequence[SessionMessage]) -> list[SessionMessage]:
    """The messages with each result in the one right behind its call, once, the real one first.

    The newest message is left open where it calls: Strands itself goes on there.
    """
    results = _best_results(messages)
    found: list[SessionMessage] = []
    waiting: list[str] = []
    for place, message in enumerate(messages):
        given = message.to_message()
        ids = [use["toolUseId"] for use in uses_in(given)]
        rest = [block for block in given["content"] if "toolResult" not in block]
        answers = _answers(waiting, results)
        if answers and (given["role"] == "assistant" or not results_in(given)):
            found.append(SessionMessage(_made(answers), found[-1].message_id))
            answers = []
        if answers or rest:
            found.append(_replaced(message, [*answers, *rest]))
        waiting = ids if place < len(messages) - 1 else []
    return found


def _best_results(messages: Sequence[SessionMessage]) -> dict[str, Any]:
    """The result of each call: the first real one, else a stand-in."""
    best: dict[str, Any] = {}
    for message in messages:
        for result in results_in(message.to_message()):
            known = best.get(result["toolUseId"])
            if known is None or (is_stand_in(known) and not is_stand_in(result)):
                best[result["toolUseId"]] = result
    return best


def _answers(ids: Sequence[str], results: Mapping[str, Any]) -> list[Any]:
    """A block for each call, in their order."""
    return [
        {"toolResult": results[name]} if name in results else generate_missing_tool_result_content([name])[0]
        for name in ids
    ]


def _made(answers: list[Any]) -> Any:
    """A message of results that is made here, with the same tracking id each time."""
    ids = "/".join(answer["toolResult"]["toolUseId"] for answer in answers)
    return {"role": "user", "content": answers, "tracking_id": str(uuid5(NAMESPACE_OID, f"turnledger/{ids}"))}


def _replaced(message: SessionMessage, content: list[Any]) -> SessionMessage:
    """The message with this content; itself, where it is the same."""
    given = message.to_message()
    if given["content"] == content:
        return message
    changed = {**given, "content": content}
    redacted = message.redact_message is not None
    return replace(message, **{"redact_message" if redacted else "message": changed})
