"""The calls of a LangChain message wherever it names them: what goes, goes everywhere; so does a new id."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from turnledger.importing.doctor.anatomy import Piece
from turnledger.importing.langchain_calls import CALL_TYPES, OLDER, Path, Placed, read_call
from turnledger.importing.pairing import given_id


class Doubles:
    """The calls that are left of a message, and what stands for each of them elsewhere in it."""

    def __init__(self, calls: Sequence[Placed], kept: Mapping[Path, Any]) -> None:
        self._kept = kept
        self._paths = {path for path, _ in calls}
        self._left: dict[str | None, list[Any]] = defaultdict(list)
        self._ids = {read_call(call).call_id for _, call in calls} - {None}
        for path, call in calls:
            if path in kept:
                self._left[read_call(call).call_id].append(kept[path])

    def left(self, listed: Sequence[Any], above: Path) -> Iterator[Any]:
        """What is left of a list: its calls, those that stand for them, and all that is none."""
        left = {call_id: list(found) for call_id, found in self._left.items()}
        for place, one in enumerate(listed):
            path = (*above, place)
            if path in self._paths:
                yield from [self._kept[path]] if path in self._kept else []
                continue
            named = read_call(one).call_id if _is_call(one, above) else None
            if named not in self._ids:
                yield one
            elif left.get(named):
                yield _like(one, left[named].pop(0))

    def only(self, one: Any, path: Path) -> Any:
        """What is left of a value that may be a call."""
        return self._kept.get(path) if path in self._paths else one


def _is_call(one: Any, above: Path) -> bool:
    return isinstance(one, Mapping) and (above[-1] != "content" or one.get("type") in CALL_TYPES)


def _like(one: Mapping[str, Any], call: Mapping[str, Any]) -> Any:
    """A call's double with the id and the name that the call has now."""
    piece, now = call_piece(one, ()), read_call(call)
    named = call_with_id(one, now.call_id) if now.call_id and piece.call_id != now.call_id else one
    return named if piece.name == now.name else call_with_name(named, now.name)


def call_with_id(call: Mapping[str, Any], call_id: str) -> dict[str, Any]:
    """A call under another id."""
    return {**call, "call_id" if given_id(call.get("call_id")) else "id": call_id}


def call_with_name(call: Mapping[str, Any], name: str) -> dict[str, Any]:
    """A call under another name."""
    inner = call.get("function")
    return (
        {**call, "function": {**inner, "name": name}} if isinstance(inner, dict) else {**call, "name": name}
    )


def older_left(older: dict[str, Any], doubles: Doubles) -> dict[str, Any]:
    """What is left of `additional_kwargs`."""
    new = dict(older)
    if isinstance(older.get("tool_calls"), list):
        new["tool_calls"] = list(doubles.left(older["tool_calls"], (OLDER, "tool_calls")))
    if "function_call" in older:
        new["function_call"] = doubles.only(older["function_call"], (OLDER, "function_call"))
    return {key: value for key, value in new.items() if value is not None or older[key] is None}


def call_piece(call: Mapping[str, Any], path: Path) -> Piece:
    """A call as a piece of its message."""
    read, old = read_call(call), path[-1:] == ("function_call",)
    given = call.get("call_id") if given_id(call.get("call_id")) else call.get("id")
    return Piece("call", call, path, given, read.name, read.arguments, needs_id=not old)
