"""The calls of a LangChain message, wherever a version or a provider put them."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from turnledger.domain.messages import arguments_of_call, name_of_call
from turnledger.importing.pairing import given_id

CALL_TYPES = (
    "tool_call",
    "tool_use",
    "function_call",
    "invalid_tool_call",
    "tool_call_chunk",
    "input_json_delta",
)
_GIVEN = ("args", "input", "arguments")


class DumpedCall(NamedTuple):
    """A call: the id that it has, its name, its arguments."""

    call_id: str | None
    name: str
    arguments: Any


def calls_of(data: Mapping[str, Any]) -> list[DumpedCall]:
    """The calls beside the content, with those whose arguments were broken; else those in it; else those of
    older dumps."""
    beside = data.get("additional_kwargs")
    older = beside if isinstance(beside, Mapping) else {}
    content = data.get("content")
    blocks = [block for block in _maps(content) if block.get("type") in CALL_TYPES[:3]]
    for found in (
        [*_maps(data.get("tool_calls")), *_maps(data.get("invalid_tool_calls"))],
        blocks,
        list(_maps(older.get("tool_calls"))),
        list(_maps([older.get("function_call")])),
    ):
        if found:
            return [_call(call) for call in found]
    return []


def _maps(listed: Any) -> Iterator[Mapping[str, Any]]:
    yield from (one for one in listed if isinstance(one, Mapping)) if isinstance(listed, list) else ()


def _call(call: Mapping[str, Any]) -> DumpedCall:
    given = (call[key] for key in _GIVEN if call.get(key) is not None)
    name = name_of_call(call)
    return DumpedCall(
        given_id(call.get("call_id")) or given_id(call.get("id")), name, next(given, arguments_of_call(call))
    )
