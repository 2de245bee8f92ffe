"""Messages among the items of OpenAI Responses: as they were imported, where they are that; parts."""

import re
from collections.abc import Mapping
from typing import Any

from turnledger.domain.values import copied
from turnledger.projections.parts import Part, data_url, part_of
from turnledger.projections.providers.table import own_shape

_BREAK = "prompt_cache_breakpoint"
_SHAPES = {
    "input_text": frozenset(("type", "text", _BREAK)),
    "input_image": frozenset(("type", "detail", "image_url", "file_id", _BREAK)),
    "input_file": frozenset(("type", "detail", "file_data", "file_id", "file_url", "filename", _BREAK)),
}
_SAID = {
    "output_text": frozenset(("type", "text", "annotations", "logprobs")),
    "refusal": frozenset(("type", "refusal")),
}
_DETAILS = ("auto", "low", "high", "original")
_STATES = ("in_progress", "completed", "incomplete")
_PHASES = ("commentary", "final_answer")
_ID = re.compile("[a-zA-Z0-9_-]{1,64}")
_BEGINNINGS = {"message": "msg", "reasoning": "rs", "function_call": "fc", "custom_tool_call": "ctc"}

Block = dict[str, Any]


def fits(item_id: Any, kind: str) -> bool:
    """Whether the service takes an id for an item of that kind."""
    if not isinstance(item_id, str) or not _ID.fullmatch(item_id):
        return False
    return item_id.startswith(_BEGINNINGS.get(kind, ""))


def given_message(given: Mapping[str, Any]) -> Block | None:
    """A message as the service takes it; None where it says nothing that can be sent as it was given."""
    role, content = given.get("role"), given.get("content")
    if role == "assistant":
        return _assistant(given, content)
    about: Block = {"type": "message"} if given.get("type") == "message" else {}
    if isinstance(content, str):
        return {**about, "role": role, "content": content}
    parts = [_own(block, _SHAPES) for block in content] if isinstance(content, list) else []
    if not parts or None in parts:
        return None
    if about and given.get("status") in _STATES:
        about["status"] = given["status"]
    return {**about, "role": role, "content": parts}


def _assistant(given: Mapping[str, Any], content: Any) -> Block | None:
    """An answer of the service, with its id; in the short form where it has none that can be sent."""
    about: Block = {"type": "message"} if given.get("type") == "message" else {}
    about["role"] = "assistant"
    if given.get("phase") in _PHASES:
        about["phase"] = given["phase"]
    if isinstance(content, str):
        return {**about, "content": content}
    parts = [part for block in content if (part := _own(block, _SAID))] if isinstance(content, list) else []
    if parts and len(parts) == len(content) and fits(given.get("id"), "message"):
        status = given.get("status") if given.get("status") in _STATES else "completed"
        return {**about, "type": "message", "id": given["id"], "status": status, "content": parts}
    text = said_text(content)
    return {**about, "content": text} if text else None


def said_text(content: Any) -> str:
    """What the assistant said, refusals too: the parts of one message are pieces of one text."""
    if isinstance(content, str):
        return content
    parts = [part_of(block) for block in content] if isinstance(content, list) else []
    return "".join(part.text for part in parts if part and part.kind in ("text", "refusal"))


def _own(block: Any, shapes: Mapping[str, frozenset[str]]) -> Block | None:
    """A part of OpenAI's own, complete; None for any other."""
    part = part_of(block)
    if part is None:
        return None
    given = {key: copied(value) for key, value in part.given.items() if value is not None}
    own = own_shape(Part(part.kind, given=given), shapes)
    if own is None:
        return None
    if own["type"] == "output_text":
        own["annotations"] = own["annotations"] if isinstance(own.get("annotations"), list) else []
    if own["type"] == "input_image":
        own["detail"] = own["detail"] if own.get("detail") in _DETAILS else "auto"
    return own


def spell(part: Part) -> Block | None:
    """A part in the words of Responses, None where they have none for it."""
    own = _own(part.given, _SHAPES)
    if own is not None:
        return own
    if part.kind == "text":
        return {"type": "input_text", "text": part.text}
    if part.kind == "image" and (url := data_url(part)):
        detail = part.given.get("image_url")
        detail = detail.get("detail") if isinstance(detail, Mapping) else None
        return {"type": "input_image", "image_url": url, "detail": detail if detail in _DETAILS else "auto"}
    if part.kind == "document" and part.data is not None and part.mime:
        name = part.name or "document"
        return {"type": "input_file", "file_data": data_url(part), "filename": name}
    if part.kind == "document" and part.url is not None and part.url.startswith(("http:", "https:")):
        return {"type": "input_file", "file_url": part.url}
    return None
