"""Google ADK's events as the log keeps them: verbatim as records, and as messages beside them.

Pure. What ADK says to itself (its requests for a confirmation or a credential) is no message; a response
that another is to follow (a long-running tool's first, a tool's that waits for a confirmation) is a stand-in,
which the real one replaces (MEM-10). What the store healed (MEM-3) comes back as an event behind its call.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from turnledger.adapters.extras import extra
from turnledger.importing import read_messages
from turnledger.projections.buffer import Entry

with extra("google-adk"):
    from google.adk.events.event import Event
    from google.adk.sessions.state import State
    from google.genai import types

_OWN_FUNCTIONS = ("adk_request_confirmation", "adk_request_credential", "adk_framework")


def as_kept(event: Event) -> dict[str, Any]:
    """The event as JSON, without the state that is of one invocation alone (`temp:`)."""
    kept: dict[str, Any] = json.loads(event.model_dump_json(exclude_none=True))
    if delta := kept.get("actions", {}).get("state_delta"):
        kept["actions"]["state_delta"] = without_temporary(delta)
    return kept


def without_temporary(delta: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in delta.items() if not key.startswith(State.TEMP_PREFIX)}


def messages_of(event: Event, long_running: Collection[str]) -> list[dict[str, Any]]:
    """What the event adds to the conversation, results first; `long_running` are calls of before."""
    if event.content is None:
        return []
    content = json.loads(event.content.model_dump_json(exclude_none=True))
    content["parts"] = [part for part in content.get("parts", ()) if not _is_own(part)]
    content["role"] = "user" if event.author == "user" or _only_responds(content["parts"]) else "model"
    if not content["parts"]:
        return []
    stand_ins = set(_stand_ins(event, long_running))
    messages = [dict(message) for message in read_messages([content])]
    for message in messages:
        if message["role"] == "tool" and message.get("tool_call_id") in stand_ins:
            message["metadata"] = {**message.get("metadata", {}), "healed": True}
    return messages


def _is_own(part: Mapping[str, Any]) -> bool:
    function = part.get("function_call") or part.get("function_response") or {}
    return function.get("name") in _OWN_FUNCTIONS


def _only_responds(parts: Iterable[Mapping[str, Any]]) -> bool:
    return all("function_response" in part for part in parts)


def _stand_ins(event: Event, long_running: Collection[str]) -> Iterator[str]:
    """The ids of the calls that the event answers for the time being."""
    yield from event.actions.requested_tool_confirmations
    yield from event.actions.requested_auth_configs
    if event.author != "user":
        yield from long_running


def with_own_ids(event: Event, declared: Mapping[str, str]) -> None:
    """Gives calls of a known id one of their own, in the event that ADK goes on with: models reuse ids.

    `declared` has of each call that is known the id of its event.
    """
    waits, here = event.long_running_tool_ids or set(), set[str]()
    for call in event.get_function_calls():
        number, given = 1, call.id
        while call.id and (call.id in here or declared.get(call.id, event.id) != event.id):
            number += 1
            call.id = f"{given}-{number}"
        if call.id != given and given in waits and given not in here:
            waits.remove(given)
            waits.add(call.id)
        here.add(call.id)


def with_healed(events: Iterable[Event], entries: Iterable[Entry]) -> list[Event]:
    """The events, and right behind each call that the store healed, its placeholder as an event."""
    texts = {
        entry.metadata["tool_call_id"]: str(entry.content)
        for entry in entries
        if entry.role == "tool" and entry.metadata.get("healed")
    }
    given = list(events)
    answered = {response.id for event in given for response in event.get_function_responses()}
    found: list[Event] = []
    for event in given:
        found.append(event)
        open_calls = [
            call for call in event.get_function_calls() if call.id in texts and call.id not in answered
        ]
        if open_calls:
            found.append(_healing(event, open_calls, texts))
    return found


def _healing(event: Event, calls: list[Any], texts: Mapping[str, str]) -> Event:
    """The same event each time, so that it is known again."""
    parts = [
        types.Part(
            function_response=types.FunctionResponse(
                id=call.id, name=call.name, response={"result": texts[call.id]}
            )
        )
        for call in calls
    ]
    return Event(
        id=f"{event.id}/healed",
        invocation_id=event.invocation_id,
        author=event.author,
        branch=event.branch,
        isolation_scope=event.isolation_scope,
        timestamp=event.timestamp,
        content=types.Content(role="user", parts=parts),
    )


def artifact_references(event: Event) -> list[dict[str, Any]]:
    """What an agent's event says was saved, as artifacts to hold: name and version, not the bytes."""
    if event.author == "user":
        return []
    responses = event.get_function_responses()
    call_id = responses[0].id if len(responses) == 1 else None
    return [
        {"type": "file", "payload": {"filename": name, "version": version}, "tool_call_id": call_id}
        for name, version in event.actions.artifact_delta.items()
    ]
