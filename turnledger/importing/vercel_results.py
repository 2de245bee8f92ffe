"""What a tool gave back to the AI SDK, in a model message: text, JSON, errors, or content in parts."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from turnledger.importing.reading import beyond, said
from turnledger.importing.steps import result_text

DENIED_TEXT = "Tool execution denied."


class Output(NamedTuple):
    """A result's content, whether it is an error, and what is known of it beyond that."""

    content: Any
    failed: bool
    known: dict[str, Any]


def output_of(part: Mapping[str, Any]) -> Output:
    """The output of a `tool-result` part; version 4 of the SDK knows a bare `result` and `isError`."""
    output = part.get("output")
    if isinstance(output, Mapping) and isinstance(output.get("type"), str):
        return _typed(output, output["type"])
    bare = part.get("result") if output is None else output
    known = {} if isinstance(bare, str) else {"output": {"type": "json"}}
    content = part.get("experimental_content")
    if isinstance(content, list) and content:
        return Output(said(content, "tool"), part.get("isError") is True, {"output": {"value": bare}})
    return Output(result_text(bare), part.get("isError") is True, known)


def _typed(output: Mapping[str, Any], kind: str) -> Output:
    value = output.get("value")
    known = beyond(output, ("value",))
    known = {"output": known} if known != {"type": "text"} else {}
    if kind == "execution-denied":
        return Output(result_text(output.get("reason") or DENIED_TEXT), True, known)
    if kind == "content" and isinstance(value, list) and value:
        return Output(said(value, "tool"), False, known)
    return Output(result_text(value), kind.startswith("error"), known)
