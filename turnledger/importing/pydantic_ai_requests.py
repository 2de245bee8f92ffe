"""Requests of Pydantic AI: prompts, results of tools, a run's instructions, each as a message of ours."""

from collections.abc import Mapping
from typing import Any

from turnledger.importing.pairing import Unanswered, given_id
from turnledger.importing.reading import Read, beyond, said
from turnledger.importing.steps import PARTS_KEY, at_its_place, result_text
from turnledger.projections.parts import part_of
from turnledger.projections.providers.keeping import ERROR_KEY

NAME = "pydantic-ai"
_FAILED = ("failed", "retried")  # what the library itself sends as an error
_ROLES = {
    "system-prompt": "system",
    "user-prompt": "user",
    "retry-prompt": "user",
    "retry-feedback": "user",
    "speech": "user",
}
_RESULT_KEYS = ("content", "tool_name", "tool_call_id")


def read(message: Mapping[str, Any], index: int, unanswered: Unanswered, instructions: str) -> list[Read]:
    """Its results; then the system's prompts, the instructions where there are new ones, and the user's."""
    found: dict[str, list[Read]] = {"tool": [], "system": [], "user": []}
    kept: list[dict[str, Any]] = []
    for place, part in enumerate(message["parts"]):
        kind = kind_of(part)
        if kind == "tool-return" or (kind == "retry-prompt" and part.get("tool_name")):
            found["tool"].append(Read(_result(part, unanswered), index, (place,)))
        elif kind in _ROLES:
            found[_ROLES[kind]].append(Read(_prompt(part, _ROLES[kind]), index, (place,)))
        else:
            kept.append(at_its_place(place, part))
    if instructions:
        told = {"role": "system", "content": instructions, "metadata": {NAME: {"instructions": True}}}
        found["system"].append(Read(told, index))
    reads = [*found["tool"], *found["system"], *found["user"]]
    known = beyond(message, ("kind", PARTS_KEY, "instructions")) | ({PARTS_KEY: kept} if kept else {})
    if reads and known:
        _know(reads[0].message, {"request": known})
    return reads


def kind_of(part: Any) -> str:
    """A part's kind, empty where it tells none."""
    kind = part.get("part_kind") if isinstance(part, Mapping) else None
    return kind if isinstance(kind, str) else ""


def _know(message: dict[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """The message, with more that is known of it."""
    if known:
        metadata = message.setdefault("metadata", {})
        metadata[NAME] = {**metadata.get(NAME, {}), **known}
    return message


def _result(part: Mapping[str, Any], unanswered: Unanswered) -> dict[str, Any]:
    content, is_retry = part.get("content"), part["part_kind"] == "retry-prompt"
    blocks = content if isinstance(content, list) else [content]
    shown = any(_is_medium(block) for block in blocks)
    known = beyond(part, _RESULT_KEYS if is_retry else (*_RESULT_KEYS, "part_kind"))
    if not shown and not isinstance(content, str | None):
        known["output"] = {"type": "json"}
    message = {
        "role": "tool",
        "content": [_block(block) for block in blocks] if shown else result_text(content),
        "tool_call_id": unanswered.answer(part.get("tool_name"), given_id(part.get("tool_call_id"))),
        "metadata": {ERROR_KEY: True} if is_retry or part.get("outcome") in _FAILED else {},
    }
    _know(message, known)
    return message if message["metadata"] else {k: v for k, v in message.items() if k != "metadata"}


def _prompt(part: Mapping[str, Any], role: str) -> dict[str, Any]:
    """A text, or texts and media; what is no part of what was said (a mark for the cache) is kept."""
    content = part.get("transcript" if part["part_kind"] == "speech" else "content")
    plain = part["part_kind"] in ("system-prompt", "user-prompt")
    known = beyond(part, ("content", "part_kind") if plain else ("transcript", "content"))
    if not isinstance(content, list) or not plain:
        return _know({"role": role, "content": result_text(content)}, known)
    spoken = {place: block for place, block in enumerate(content) if _is_said(block)}
    shown = said([_block(block) for block in spoken.values()], role) if spoken else ""
    joined = isinstance(shown, str) and not (len(content) == 1 and isinstance(content[0], str))
    beside = [
        at_its_place(place, block) for place, block in enumerate(content) if joined or place not in spoken
    ]
    return _know({"role": role, "content": shown}, known | ({"content": beside} if beside else {}))


def _is_said(block: Any) -> bool:
    return isinstance(block, str) or _is_medium(block)


def _is_medium(block: Any) -> bool:
    return isinstance(block, Mapping) and "kind" in block and part_of(block) is not None


def _block(block: Any) -> dict[str, Any]:
    """A medium as it stands, else a text."""
    return dict(block) if _is_medium(block) else {"type": "text", "text": result_text(block)}
