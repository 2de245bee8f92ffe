"""Requests of Bedrock's Converse: botocore's own validation, the limits of its service model, rules of order.

The rules that the model does not express are those that the service names when it refuses: "The text field in
the ContentBlock object is blank", "Expected toolResult blocks for the following Ids", "The document file name
can only contain alphanumeric characters, whitespace characters, hyphens, parentheses, and square brackets".
"""

import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from tests.judges.official import first, library
from turnledger.projections.media import in_json

MEDIA = ("image", "document", "video", "audio")


@cache
def _shape() -> Any:
    model = library("botocore.loaders").Loader().load_service_model("bedrock-runtime", "service-2")
    return library("botocore.model").ServiceModel(model).operation_model("Converse").input_shape


def why_not(request: dict[str, Any]) -> str | None:
    if set(request) - {"messages", "system"}:
        return f"it has more than messages and a system prompt: {set(request)}"
    messages, system = request["messages"], request.get("system", [])
    whole = {"modelId": "any", **request}
    return first(
        _why_not_json(request),
        library("botocore.validate").ParamValidator().validate(whole, _shape()).generate_report() or None,
        next(limits(whole, _shape()), None),
        "the system prompt is empty" if "system" in request and not system else None,
        _why_not_alternating(messages),
        *(_why_not_blocks(message) for message in messages),
        *(_why_not_text(block) for block in system),
        _why_not_paired(messages),
        _why_not_ending(messages),
        _why_not_names([name for message in messages for name in names(message["content"])]),
    )


def _why_not_json(request: Any) -> str | None:
    try:
        json.dumps(request, allow_nan=False, ensure_ascii=False, default=in_json).encode("utf-8")
    except (ValueError, TypeError) as error:
        return f"the request does not encode: {error}"
    return None


def limits(value: Any, shape: Any, place: str = "request") -> Iterator[str]:
    """What botocore's validation leaves to the service: lengths, patterns, choices, bytes that are such."""
    known = shape.metadata
    if shape.type_name == "structure" and not shape.is_document_type:
        for key, inner in value.items():
            yield from limits(inner, shape.members[key], f"{place}.{key}")
    elif shape.type_name == "list":
        for inner in value:
            yield from limits(inner, shape.member, place)
    elif shape.type_name == "blob" and not isinstance(value, bytes):
        yield f"{place} holds no bytes: they would be encoded twice"
    elif shape.type_name == "string":
        if known.get("enum") and value not in known["enum"]:
            yield f"{place} is {value!r}, none of {known['enum']}"
        if known.get("pattern") and not re.fullmatch(known["pattern"], value):
            yield f"{place} is {value!r}, which does not match {known['pattern']}"
    if "max" in known and len(value) > known["max"]:
        yield f"{place} is longer than {known['max']}"


def _why_not_alternating(messages: list[dict[str, Any]]) -> str | None:
    for place, message in enumerate(messages):
        if set(message) != {"role", "content"}:
            return f"message {place} has the keys {set(message)}"
        if message["role"] != ("user", "assistant")[place % 2]:
            return f"message {place} is of role {message['role']}: they alternate, and the user begins"
        if not message["content"]:
            return f"message {place} has no block"
    return None


def _why_not_text(block: dict[str, Any]) -> str | None:
    return "a text is blank" if "text" in block and not block["text"].strip() else None


def _why_not_blocks(message: dict[str, Any]) -> str | None:
    blocks, seen_other = message["content"], False
    for block in blocks:
        inner = block.get("toolResult", {}).get("content", [])
        if reason := first(_why_not_text(block), *(_why_not_text(one) for one in inner)):
            return reason
        is_result = bool(_of_ours([block], "toolResult"))
        if is_result and seen_other:
            return "a result stands behind something else"
        seen_other = seen_other or not is_result
        if message["role"] == "assistant" and not block.keys().isdisjoint(MEDIA):
            return "only the user shows something"
        if "toolUse" in block and not re.fullmatch("[a-zA-Z0-9_-]{1,64}", block["toolUse"]["toolUseId"]):
            return f"the id {block['toolUse']['toolUseId']!r} has characters that are not always allowed"
    if any("document" in block for block in blocks) and not any("text" in block for block in blocks):
        return "a document has no text beside it"
    return None if any("cachePoint" not in block for block in blocks) else "a break in the cache of nothing"


def _why_not_paired(messages: list[dict[str, Any]]) -> str | None:
    declared: list[str] = []
    waiting: list[str] = []
    for message in messages:
        blocks = message["content"]
        answered = [one["toolUseId"] for one in _of_ours(blocks, "toolResult")]
        if sorted(answered) != sorted(waiting):
            return f"results for {answered}, where {waiting} wait for one"
        if answered and message["role"] != "user":
            return "a result is not the user's"
        waiting = [one["toolUseId"] for one in _of_ours(blocks, "toolUse")]
        declared += waiting
        if waiting and message["role"] != "assistant":
            return "a call is not the assistant's"
    if waiting:
        return f"no result for {waiting}"
    return "an id is declared twice" if len(declared) != len(set(declared)) else None


def _of_ours(blocks: list[dict[str, Any]], key: str) -> list[dict[str, Any]]:
    """The calls or results of a client's tools; those of a server's have a type."""
    return [block[key] for block in blocks if key in block and "type" not in block[key]]


def _why_not_ending(messages: list[dict[str, Any]]) -> str | None:
    if not messages or messages[-1]["role"] != "assistant":
        return None
    last = messages[-1]["content"][-1]
    if "reasoningContent" in last:
        return "the last block is reasoning"
    blank = last.get("text", "") != last.get("text", "").rstrip()
    return "the assistant's last text ends with white space" if blank else None


def names(blocks: list[dict[str, Any]]) -> Iterator[str]:
    """The names of all documents, those in results too."""
    for block in blocks:
        if "document" in block:
            yield block["document"]["name"]
        yield from names(block.get("toolResult", {}).get("content", []))


def _why_not_names(found: list[str]) -> str | None:
    for name in found:
        if not re.fullmatch(r"[a-zA-Z0-9()\[\]-]+(\s[a-zA-Z0-9()\[\]-]+)*", name):
            return f"a document's name is {name!r}"
    return "two documents have one name" if len(found) != len(set(found)) else None
