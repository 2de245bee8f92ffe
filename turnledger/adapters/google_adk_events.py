"""Google ADK's events as the log keeps them: verbatim as records, and as messages beside them.

Pure. What ADK says to itself (its requests for a confirmation or a credential) is no message; a response
that another is to follow (a long-running tool's first, a tool's that waits for a confirmation) is a stand-in,
which the real one replaces (MEM-10). What the store healed (MEM-3), or the core answered, comes back as an
event behind its turn.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from turnledger.adapters.answers import Answer, answer_in
from turnledger.adapters.extras import extra
from turnledger.domain.events import RecordKept
from turnledger.importing import read_messages
from turnledger.projections.providers import gemini

with extra("google-adk"):
    from google.adk.events.event import Event
    from google.adk.sessions.state import State
    from google.genai import types

OWN_FUNCTIONS = ("adk_request_confirmation", "adk_request_credential", "adk_framework")


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
    return function.get("name") in OWN_FUNCTIONS


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


def answer_of(event: Answer | RecordKept, call_id: str, name: str) -> types.Part:
    """The response to a call that an event of the log has: one of ADK's as it was, another in its words."""
    if isinstance(event, RecordKept):
        parts = event.record["content"]["parts"]
        part = next(p for p in parts if p.get("function_response", {}).get("id") == call_id)
        return types.Part.model_validate_json(json.dumps(part))
    part = types.Part.model_validate_json(json.dumps(answer_in(gemini, event)))
    part.function_response.id, part.function_response.name = call_id, name
    return part


def with_answers(events: Iterable[Event], answers: Mapping[str, types.Part]) -> list[Event]:
    """The events, and right behind each turn that has answers these as an event, in the order of its calls.

    ADK sends a turn's results in the order of their events, and mostly without ids: what other events answer
    of these calls leaves them, or would go before. The last event keeps its place, since ADK goes on there,
    and so does what ADK looks for, the user's answer to a long-running call; both say what the answer is.
    """
    known = list(events)
    made = {_made_id(event) for event in known if event.get_function_calls()}
    given = [event for event in known if event.id not in made]
    staying = {call_id for event in given for call_id in event.long_running_tool_ids or ()}
    found: list[Event] = []
    for event in given:
        stays = set(answers) if event is given[-1] else staying
        found.append(_without_copies(event, answers, stays))
        parts = [answers[call.id] for call in event.get_function_calls() if call.id in answers]
        if parts:
            found.append(_answering(event, parts))
    return found


def _without_copies(event: Event, answers: Mapping[str, types.Part], stays: Collection[str]) -> Event:
    if not any(response.id in answers for response in event.get_function_responses()):
        return event
    left = [
        answers.get(_answered(part), part)
        for part in event.content.parts
        if _answered(part) in stays or _answered(part) not in answers
    ]
    return event.model_copy(update={"content": types.Content(role=event.content.role, parts=left)})


def _answered(part: types.Part) -> str:
    return (part.function_response and part.function_response.id) or ""


def _made_id(event: Event) -> str:
    return f"{event.id}/healed"


def _answering(event: Event, parts: list[types.Part]) -> Event:
    """The same event each time, so that it is known again."""
    return Event(
        id=_made_id(event),
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
