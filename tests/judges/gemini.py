"""Requests of Gemini's generate_content.

The rules of order are those that the service names when it refuses: "ensure that function call turn comes
immediately after a user turn or after a function response turn", "the number of function response parts is
equal to the number of function call parts of the function call turn", "required oneof field 'data' must have
one initialized field".
"""

import re
from base64 import b64decode
from itertools import pairwise
from typing import Any

from tests.judges.official import first, judge, library, list_of, why_not_json

BESIDE_DATA = {"thought", "thoughtSignature", "videoMetadata", "mediaResolution"}


def _contents() -> Any:
    return list_of(library("google.genai.types").Content)


def _config() -> Any:
    return list_of(library("google.genai.types").GenerateContentConfig)


_typed_contents, _typed_config = judge(_contents), judge(_config)


def why_not(request: dict[str, Any]) -> str | None:
    if set(request) - {"contents", "config"}:
        return f"it has more than contents and a config: {set(request)}"
    contents, config = request["contents"], request.get("config")
    system = config["system_instruction"]["parts"] if config else []
    return first(
        why_not_json(request),
        _typed_contents(contents),
        _typed_config([config] if config else []),
        "the system prompt is empty" if config and not system else None,
        _why_not_alternating(contents),
        *(_why_not_part(part) for content in contents for part in content["parts"]),
        *(_why_not_part(part) for part in system),
        *(_why_not_answered(one, other) for one, other in pairwise([*contents, {"parts": []}])),
        _why_not_once([part["functionCall"] for content in contents for part in calls_in(content)]),
    )


def _why_not_alternating(contents: list[dict[str, Any]]) -> str | None:
    for place, content in enumerate(contents):
        if set(content) != {"role", "parts"}:
            return f"content {place} has the keys {set(content)}"
        if content["role"] != ("user", "model")[place % 2]:
            return f"content {place} is of role {content['role']}: they alternate, and the user begins"
        if not content["parts"]:
            return f"content {place} has no part"
        if content["role"] == "user" and calls_in(content):
            return "a call is not the model's"
        if content["role"] == "model" and any("functionResponse" in part for part in content["parts"]):
            return "a response is not the user's"
    return None


def _why_not_part(part: dict[str, Any]) -> str | None:
    data = set(part) - BESIDE_DATA
    if len(data) != 1:
        return f"a part holds {len(data)} things: {set(part)}"
    if part.get("text") == "" and not part.get("thoughtSignature"):
        return "a part is empty"
    if "thoughtSignature" in part:
        b64decode(part["thoughtSignature"], altchars=b"-_", validate=True)
    function = part.get("functionCall", part.get("functionResponse"))
    if function and not re.fullmatch("[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}", function["name"]):
        return f"the name {function['name']!r} is not allowed"
    if "functionResponse" in part and not isinstance(function and function.get("response"), dict):
        return "a response is no map"
    return None


def calls_in(content: dict[str, Any]) -> list[dict[str, Any]]:
    return [part for part in content["parts"] if "functionCall" in part]


def _why_not_answered(content: dict[str, Any], following: dict[str, Any]) -> str | None:
    """All responses of a turn together, first in the next content, in the number and order of the calls."""
    declared = [part["functionCall"] for part in calls_in(content)]
    answered = [
        part["functionResponse"] for part in following["parts"][: len(declared)] if "functionResponse" in part
    ]
    if sum("functionResponse" in part for part in following["parts"]) != len(declared):
        return "the number of responses is not that of the calls"
    told = [(one.get("id"), one["name"]) for one in answered]
    return None if told == [(one.get("id"), one["name"]) for one in declared] else f"responses to {told}"


def _why_not_once(declared: list[dict[str, Any]]) -> str | None:
    ids = [one["id"] for one in declared if "id" in one]
    return "an id is declared twice" if len(ids) != len(set(ids)) else None
