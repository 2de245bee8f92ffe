"""Messages of Strands, which are Bedrock's, as entries; and with the results that a repaired list has.

Pure. A result that Strands puts where it finds none is a stand-in (MEM-3): the real one replaces it (MEM-10).
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import fields, replace
from typing import Any
from uuid import NAMESPACE_OID, uuid5

from turnledger.adapters.answers import Answer, answer_in, answered_by
from turnledger.adapters.extras import extra
from turnledger.importing import read_messages
from turnledger.projections.providers import bedrock_converse

with extra("strands"):
    from strands.tools._tool_helpers import generate_missing_tool_result_content
    from strands.types.session import SessionMessage, decode_bytes_values

_STAND_IN = generate_missing_tool_result_content(["x"])[0]["toolResult"]["content"]
_FIELDS = {one.name for one in fields(SessionMessage)}


def session_message(kept: Mapping[str, Any]) -> SessionMessage:
    """What `SessionMessage.from_dict` gives, which looks at its own signature for each key: that is slow."""
    return SessionMessage(**{key: decode_bytes_values(kept[key]) for key in _FIELDS if key in kept})


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


def with_own_ids(message: SessionMessage, known: Collection[str]) -> None:
    """Gives calls of a known id one of their own, in the message that Strands goes on with."""
    here: set[str] = set()
    for use in uses_in(message.message):
        number, given = 1, use["toolUseId"]
        while use["toolUseId"] in here or use["toolUseId"] in known:
            number += 1
            use["toolUseId"] = f"{given}-{number}"
        here.add(use["toolUseId"])


def result_of(event: Answer) -> dict[str, Any]:
    """The result that the core was given, as Strands has one."""
    given = answer_in(bedrock_converse, event)["toolResult"]
    return {"status": "success", **given, "toolUseId": answered_by(event)}


def with_results(message: Mapping[str, Any], results: Mapping[str, Any]) -> None:
    """Puts these in the place of stand-ins, in the message that Strands goes on with."""
    for result in results_in(message):
        if is_stand_in(result) and result["toolUseId"] in results:
            result.update(results[result["toolUseId"]])


def answers_of(ids: Iterable[str], results: Mapping[str, Any]) -> list[Any]:
    """A block for each call, in their order: its result, or a stand-in."""
    return [
        {"toolResult": results[name]} if name in results else generate_missing_tool_result_content([name])[0]
        for name in ids
    ]


def made(answers: list[Any], number: int) -> SessionMessage:
    """A message of results that is made here, with the same tracking id each time."""
    ids = "/".join(answer["toolResult"]["toolUseId"] for answer in answers)
    tracking_id = str(uuid5(NAMESPACE_OID, f"turnledger/{ids}"))
    message: Any = {"role": "user", "content": answers, "tracking_id": tracking_id}
    return SessionMessage(message, number)


def with_answers(message: SessionMessage, answers: list[Any]) -> SessionMessage:
    """The message with these results before what else it has; in its own order, where it has the same."""
    given = message.to_message()
    own = [result["toolUseId"] for result in results_in(given)]
    named = {answer["toolResult"]["toolUseId"]: answer for answer in answers}
    if sorted(own) == sorted(named):
        answers = [named[call_id] for call_id in own]
    content = [*answers, *(block for block in given["content"] if "toolResult" not in block)]
    if given["content"] == content:
        return message
    changed = {**given, "content": content}
    redacted = message.redact_message is not None
    return replace(message, **{"redact_message" if redacted else "message": changed})
