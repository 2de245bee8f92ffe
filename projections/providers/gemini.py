"""The sendable list as Gemini contents: `client.models.generate_content(model=..., **request)`.

All of it is JSON in the service's own spelling (`functionCall`, `inlineData`); bytes are base64 text, which
the official library decodes. System messages are the `system_instruction` of the config. Results are
`functionResponse` parts, first in the user's turn, as many as the calls and in their order. A signature comes
back on the very part that bore it. An id is sent with a call and its response, save where Gemini itself
made the call without one.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any, NamedTuple

from turnledger.domain.messages import SYSTEM_ROLES
from turnledger.domain.pairing import Call, Item
from turnledger.domain.values import copied
from turnledger.projections.media import MIME_OF_ENDING, base64_text, bytes_of
from turnledger.projections.parts import MEDIA, Part
from turnledger.projections.providers.arguments import arguments_map
from turnledger.projections.providers.gemini_parts import (
    CALL,
    GIVEN,
    RESPONSE,
    SAID,
    SIGNATURE,
    SYSTEM,
    is_call,
    sendable_part,
    sendable_parts,
    sendable_response,
)
from turnledger.projections.providers.keeping import (
    Block,
    declared_ids,
    has_failed,
    kept_blocks,
    known_to,
    with_calls_left,
)
from turnledger.projections.providers.naming import fitting_name
from turnledger.projections.providers.table import spelled
from turnledger.projections.providers.turns import OPENING_TEXT, alternating

NAME = "gemini"
RENDERING = 1  # another number whenever the same events come to be rendered in another way
RESPONSE_KEY, RESULT, ERROR, WHOLE = "response", "result", "error", "map"
# what the service documents for a call that another model made: without it newer models refuse the turn
UNSIGNED = "skip_thought_signature_validator"

_IMAGES = ("image/png", "image/jpeg", "image/webp", "image/heic", "image/heif")
_BESIDE_MEDIA = frozenset((SIGNATURE, "mediaResolution", "videoMetadata"))
_MAJORS = ("audio", "video", "text")


class Sent(NamedTuple):
    """What a call is called where it is sent: its id, None for none, and its function's name."""

    call_id: str | None
    name: str


def rendered(items: list[Item]) -> tuple[list[Block], dict[str, Any]]:
    """The contents, and the keyword arguments of one request (beside the model and other config)."""
    nameless = {call_id for item in items for call_id in _without_ids(item)}
    calls = {
        call.call_id: Sent(None if call.call_id in nameless else call.call_id, _name(call))
        for item in items
        for call in item.calls
    }
    system = [part for item in items if item.role in SYSTEM_ROLES for part in blocks_of(item, calls)]
    others = (item for item in items if item.role not in SYSTEM_ROLES)
    spoken = ((_side(item), blocks_of(item, calls)) for item in _in_order_of_calls(others))
    turns = alternating(spoken, "user", {"text": OPENING_TEXT})
    contents = [{"role": side, "parts": parts} for side, parts in turns]
    config = {"config": {"system_instruction": {"parts": system}}} if system else {}
    return contents, {"contents": contents} | config


def _side(item: Item) -> str:
    return "model" if item.role == "assistant" else "user"


def _in_order_of_calls(items: Iterable[Item]) -> Iterator[Item]:
    """The results of a turn, which stand right behind it, in the order of its calls."""
    order: dict[str, int] = {}
    for is_result, run in groupby(items, key=lambda item: item.role == "tool"):
        if is_result:
            yield from sorted(run, key=lambda item: order.get(str(item.call_id), 0))
            continue
        for item in run:
            order |= {call.call_id: place for place, call in enumerate(item.calls)}
            yield item


def blocks_of(item: Item, calls: Mapping[str, Sent]) -> list[Block]:
    """An item's parts, with the ids that are sent; empty where it says nothing."""
    if item.role == "tool":
        return [_response(item, calls[str(item.call_id)])]
    kept = kept_blocks(NAME, item.metadata)
    shape = SYSTEM if item.role in SYSTEM_ROLES else SAID if item.role == "assistant" else GIVEN
    if kept is None:
        said = sendable_parts(spelled(item, NAME, _spell), shape)
        return said + _unsigned([_call(one, calls) for one in item.calls])

    def sent(call: Call, block: Block) -> Block:
        return {**block, **_named(block[CALL], calls[call.call_id])} if block else _call(call, calls)

    return sendable_parts(with_calls_left(copied(kept), item, is_call, sent), shape)


def _without_ids(item: Item) -> Iterator[str]:
    """The calls that Gemini itself made without an id."""
    shown = [block for block in kept_blocks(NAME, item.metadata) or () if is_call(block)]
    for call_id, block in zip(declared_ids(item), shown, strict=False):
        if call_id and "id" not in block[CALL]:
            yield call_id


def _named(function: Mapping[str, Any], sent: Sent) -> Block:
    """A kept call with the id that is sent."""
    rest = {key: value for key, value in function.items() if key != "id"}
    args = {"args": arguments_map(rest["args"])} if "args" in rest else {}
    return {CALL: _id_of(sent) | rest | {"name": sent.name} | args}


def _id_of(sent: Sent) -> Block:
    return {} if sent.call_id is None else {"id": sent.call_id}


def _name(call: Call) -> str:
    name = fitting_name(call.name, "[^a-zA-Z0-9_.:-]", 127)
    return name if re.match("[a-zA-Z_]", name) else f"_{name}"


def _call(call: Call, calls: Mapping[str, Sent]) -> Block:
    sent = calls[call.call_id]
    return {CALL: {**_id_of(sent), "name": sent.name, "args": arguments_map(call.arguments)}}


def _unsigned(calls: list[Block]) -> list[Block]:
    """Calls that another model made: the first bears the mark of such."""
    return [{**calls[0], SIGNATURE: UNSIGNED}, *calls[1:]] if calls else []


def _response(item: Item, sent: Sent) -> Block:
    """A result as it was kept, or in the service's words: `result` or `error`, and the media beside it."""
    given = (kept_blocks(NAME, item.metadata) or [{}])[0]
    kept = sendable_response(given.get(RESPONSE))
    function = (kept if "response" in kept else _answer(item)) | {"name": sent.name}
    function.pop("id", None)
    return sendable_part(given, {RESPONSE: _id_of(sent) | function})


def _answer(item: Item) -> Block:
    parts = spelled(item, NAME, _spell) if isinstance(item.content, list) else [{"text": item.text}]
    text = "\n".join(part["text"] for part in parts if "text" in part)
    shown = known_to(NAME, item.metadata).get(RESPONSE_KEY)
    if shown == WHOLE and isinstance(whole := _loaded(text), dict):
        response = whole
    else:
        response = {ERROR if has_failed(item) else shown if shown in ("output", RESULT) else RESULT: text}
    media = [{key: part[key]} for part in parts for key in ("inlineData", "fileData") if key in part]
    return {"response": response} | ({"parts": media} if media else {})


def _loaded(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _spell(part: Part) -> Block | None:
    """A part in Gemini's words, None where it has none."""
    if part.kind == "text":
        return _own(part, "text") or {"text": part.text}
    if part.kind not in MEDIA:
        return None
    data, kept = bytes_of(part.data), _own(part, "inlineData") or _own(part, "fileData")
    if kept is not None and (data or "fileData" in kept):
        return kept
    mime = part.mime or _mime_of(part.url)
    if not _is_shown(mime):
        return None
    if data:
        return {"inlineData": {"mimeType": mime, "data": base64_text(data)}}
    if part.url and part.url.startswith(("http:", "https:")):
        return {"fileData": {"mimeType": mime, "fileUri": part.url}}
    return None


def _own(part: Part, key: str) -> Block | None:
    """The part as it was given, where its keys are Gemini's own."""
    given = part.given
    if key not in given or not given.keys() <= _BESIDE_MEDIA | {key}:
        return None
    return dict(given)


def _is_shown(mime: str | None) -> bool:
    major = (mime or "").partition("/")[0]
    return mime in _IMAGES or mime == "application/pdf" or major in _MAJORS


def _mime_of(url: str | None) -> str | None:
    """What the ending of an address says; None where it says nothing."""
    ending = (url or "").partition("?")[0].rpartition(".")[2].lower()
    return MIME_OF_ENDING.get({"jpg": "jpeg"}.get(ending, ending))
