"""Messages among the items of OpenAI Responses: as they were imported, where they are that; parts."""

import re
from collections.abc import Mapping
from typing import Any

from turnledger.domain.values import copied
from turnledger.projections.parts import Part, data_url, part_of
from turnledger.projections.providers.keeping import Block
from turnledger.projections.providers.openai_shapes import DETAILS, GIVEN, SAID
from turnledger.projections.providers.shapes import Kinds, fitting

_DEFAULTS: Mapping[str, Block] = {"output_text": {"annotations": []}, "input_image": {"detail": "auto"}}
_STATES = ("in_progress", "completed", "incomplete")
_PHASES = ("commentary", "final_answer")
_ID = re.compile("[a-zA-Z0-9_-]{1,64}")
_BEGINNINGS = {"message": "msg", "reasoning": "rs", "function_call": "fc", "custom_tool_call": "ctc"}


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
    if role not in ("user", "system", "developer"):
        return None
    about: Block = {"type": "message"} if given.get("type") == "message" else {}
    if isinstance(content, str):
        return {**about, "role": role, "content": content}
    parts = given_parts(content)
    if not parts:
        return None
    if about and given.get("status") in _STATES:
        about["status"] = given["status"]
    return {**about, "role": role, "content": parts}


def given_parts(content: Any) -> list[Block] | None:
    """Parts of a message or a result as they were given, None where not all of them are OpenAI's."""
    parts = [_own(block, GIVEN) for block in content] if isinstance(content, list) else [None]
    found = [part for part in parts if part is not None]
    return found if len(found) == len(parts) else None


def _assistant(given: Mapping[str, Any], content: Any) -> Block | None:
    """An answer of the service, with its id; in the short form where it has none that can be sent."""
    about: Block = {"type": "message"} if given.get("type") == "message" else {}
    about["role"] = "assistant"
    if given.get("phase") in _PHASES:
        about["phase"] = given["phase"]
    if isinstance(content, str):
        return {**about, "content": content}
    parts = [part for block in content if (part := _own(block, SAID))] if isinstance(content, list) else []
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


def _own(block: Any, shapes: Kinds) -> Block | None:
    """A part of OpenAI's own, complete; None for any other."""
    own: Block | None = fitting(block, shapes) if part_of(block) else None
    if own is None or part_of(own) is None:
        return None
    whole: Block = copied(_DEFAULTS.get(own["type"], {}) | own)
    return whole


def spell(part: Part) -> Block | None:
    """A part in the words of Responses, None where they have none for it."""
    own = _own(part.given, GIVEN)
    if own is not None:
        return own
    if part.kind == "text":
        return {"type": "input_text", "text": part.text}
    if part.kind == "image" and (url := data_url(part)):
        detail = part.given.get("image_url")
        detail = detail.get("detail") if isinstance(detail, Mapping) else None
        return {"type": "input_image", "image_url": url, "detail": detail if detail in DETAILS else "auto"}
    if part.kind == "document" and part.data is not None and part.mime:
        name = part.name or "document"
        return {"type": "input_file", "file_data": data_url(part), "filename": name}
    if part.kind == "document" and part.url is not None and part.url.startswith(("http:", "https:")):
        return {"type": "input_file", "file_url": part.url}
    return None
