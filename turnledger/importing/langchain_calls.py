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
OLDER = "additional_kwargs"
Path = tuple[str | int, ...]
Placed = tuple[Path, Mapping[str, Any]]
_GIVEN = ("args", "input", "arguments")


class DumpedCall(NamedTuple):
    """A call: the id that it has, its name, its arguments."""

    call_id: str | None
    name: str
    arguments: Any


def calls_of(data: Mapping[str, Any]) -> list[DumpedCall]:
    """The calls of a message."""
    return [read_call(call) for _, call in placed_calls(data)]


def placed_calls(data: Mapping[str, Any]) -> list[Placed]:
    """The calls beside the content, with those whose arguments were broken; else those in it; else those of
    older dumps: each with the path to it."""
    beside = data.get(OLDER)
    older = beside if isinstance(beside, Mapping) else {}
    oldest = older.get("function_call")
    legacy: list[Placed] = [((OLDER, "function_call"), oldest)] if isinstance(oldest, Mapping) else []
    for found in (
        [*_maps(("tool_calls",), data), *_maps(("invalid_tool_calls",), data)],
        [(path, block) for path, block in _maps(("content",), data) if block.get("type") in CALL_TYPES[:3]],
        [((OLDER, *path), call) for path, call in _maps(("tool_calls",), older)],
        legacy,
    ):
        if found:
            return found
    return []


def _maps(path: tuple[str], data: Mapping[str, Any]) -> Iterator[Placed]:
    listed = data.get(path[0])
    for place, one in enumerate(listed if isinstance(listed, list) else ()):
        if isinstance(one, Mapping):
            yield (*path, place), one


def read_call(call: Mapping[str, Any]) -> DumpedCall:
    """What a call says, in any of its spellings."""
    given = (call[key] for key in _GIVEN if call.get(key) is not None)
    name = name_of_call(call)
    return DumpedCall(
        given_id(call.get("call_id")) or given_id(call.get("id")), name, next(given, arguments_of_call(call))
    )
