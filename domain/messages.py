"""The message model: the stored and the flat shape, and ids read in one place (MEM-11).

Reads whatever shape a caller has into one; what a call id *means* is for `calls`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeGuard

from turnledger.domain.errors import InvalidMessage
from turnledger.domain.values import LEVELS_MAX, Unkeepable, kept, model_dumped, scrubbed

ROLES = ("user", "assistant", "system", "developer", "tool")
SYSTEM_ROLES = ("system", "developer")
PLACEHOLDER_TEXT = "Tool call was interrupted; no result."
ENCODED_BYTES_MAX = 256 * 2**20
UNNAMED = "unknown"

_SHAPE_KEYS = frozenset({"role", "content", "metadata", "toolArtifacts"})
_PAIRING_KEYS = ("tool_calls", "tool_call_id", "healed")
_UNPAIRED_KEYS = frozenset({"role", "content"})
_BLOCKS_TO_IMPORT = ("tool_use", "tool_result")


def call_id(value: Any) -> str | None:
    """The usable id that a value stands for, or None: the one definition for every call and result.

    A non-blank string other than "0" (without the white space around it) or a non-zero integer, as text.
    """
    if isinstance(value, str):
        text = (value if value.isascii() else scrubbed(value)).strip()
        return text if text and text != "0" else None
    if isinstance(value, int) and not isinstance(value, bool) and value:
        try:
            return int.__repr__(value)
        except ValueError:  # more digits than Python will print
            return None
    return None


def id_of_call(call: Mapping[str, Any]) -> str | None:
    """A call's id under either spelling: `tool_call_id` if usable, else `id`."""
    return call_id(call.get("tool_call_id")) or call_id(call.get("id"))


def original_id_of(keys: Mapping[str, Any]) -> str | None:
    """The id that a rewritten call, or its result, came with."""
    return call_id(keys.get("original_id"))


def _function_of(call: Mapping[str, Any]) -> Mapping[str, Any]:
    function, custom = call.get("function"), call.get("custom")
    if function is custom is None:
        return {}
    if isinstance(custom, Mapping) and not isinstance(function, Mapping):
        return {"name": custom.get("name"), "arguments": custom.get("input")}  # OpenAI's other kind of call
    return function if isinstance(function, Mapping) else {}


def name_of_call(call: Mapping[str, Any]) -> str:
    """The function's name in the flat or the OpenAI form, `unknown` where there is none."""
    name = call.get("name")
    if not _is_name(name):
        name = _function_of(call).get("name")
    return scrubbed(name) if _is_name(name) else UNNAMED


def _is_name(value: Any) -> TypeGuard[str]:
    return isinstance(value, str) and bool(value.strip())


def arguments_of_call(call: Mapping[str, Any]) -> Any:
    """The arguments as given, in the flat or the OpenAI form; None where there are none."""
    arguments = call.get("arguments")
    if arguments is None or _is_blank(arguments):
        arguments = _function_of(call).get("arguments")
    return None if _is_blank(arguments) else arguments


def _is_blank(value: Any) -> bool:
    return isinstance(value, str) and value == ""


def as_map(value: Any) -> Mapping[Any, Any] | None:
    """The map that a message is, or that its `model_dump()` gives; None for anything else."""
    if isinstance(value, dict | Mapping):  # dict first: the question is quicker answered
        return value
    dumped = model_dumped(value)
    return dumped if isinstance(dumped, Mapping) else None


class Pairing(NamedTuple):
    """What ties calls to results in a message of any shape: metadata where usable, else the top level."""

    calls: Sequence[Any]
    call_id: str | None
    healed: bool


def metadata_of(message: Mapping[Any, Any]) -> Mapping[Any, Any]:
    metadata = message.get("metadata")
    return metadata if metadata is not None and isinstance(metadata, dict | Mapping) else {}


def pairing_of(message: Mapping[Any, Any], role: str) -> Pairing:
    """A message's pairing: calls on an assistant turn, the call id and healed mark on a tool message."""
    if role == "assistant":
        return Pairing(_calls_of(message), None, False)
    if role != "tool":
        return _UNPAIRED
    metadata = metadata_of(message)
    mark = metadata.get("healed")
    return Pairing(
        (),
        call_id(metadata.get("tool_call_id")) or call_id(message.get("tool_call_id")),
        (message.get("healed") if mark is None else mark) is True,
    )


_UNPAIRED = Pairing((), None, False)


def _calls_of(message: Mapping[Any, Any]) -> Sequence[Any]:
    for found in (metadata_of(message).get("tool_calls"), message.get("tool_calls")):
        if isinstance(found, list | tuple) and found:
            return found
    return ()


def declared_by(role: str, metadata: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """The calls of a message in the stored shape, as it is kept: those of an assistant turn."""
    return metadata.get("tool_calls") or () if role == "assistant" else ()


@dataclass(frozen=True, slots=True)
class Message:
    """A message in the stored shape, as it is kept, with its pairing read."""

    role: str
    content: Any
    metadata: dict[str, Any]

    @property
    def calls(self) -> list[dict[str, Any]]:
        calls: list[dict[str, Any]] = self.metadata.get("tool_calls", []) if self.role == "assistant" else []
        return calls

    @property
    def call_id(self) -> str | None:
        return call_id(self.metadata.get("tool_call_id")) if self.role == "tool" else None

    @property
    def healed(self) -> bool:
        return self.role == "tool" and self.metadata.get("healed") is True


def read_message(value: Any, index: int) -> Message:
    """One incoming message as it will be kept. Raises `InvalidMessage` with the reason (section 2)."""
    try:
        message = as_map(value)
        if message is None:
            raise Unkeepable(f"it is no map but a {type(value).__name__!r}; give a dict with a role")
        role = _role_of(message)
        _refuse_malformed_calls(message)
        content = message.get("content")
        _refuse_tool_blocks(content, role)
        return Message(role, "" if content is None else kept(content), _kept_metadata(message, role))
    except Unkeepable as reason:
        raise InvalidMessage(index, str(reason)) from None


def _role_of(message: Mapping[Any, Any]) -> str:
    role = message.get("role")
    if isinstance(role, str) and role in ROLES:
        return str.__str__(role)
    what = "it has no role" if role is None else f"its role is {str(role)[:100]!r}"
    raise Unkeepable(f"{what}; a role is one of {', '.join(ROLES)}")


def _refuse_malformed_calls(message: Mapping[Any, Any]) -> None:
    metadata = message.get("metadata")
    if metadata is not None and not isinstance(metadata, dict | Mapping):
        raise Unkeepable("its metadata is no map")
    for calls in (metadata.get("tool_calls") if metadata else None, message.get("tool_calls")):
        if calls is not None and not (
            isinstance(calls, list | tuple) and all(as_map(call) is not None for call in calls)
        ):
            raise Unkeepable("its tool_calls is no list of maps")


def _refuse_tool_blocks(content: Any, role: str) -> None:
    if content.__class__ is str:
        return
    blocks = content if isinstance(content, list | tuple) else () if role == "tool" else (content,)
    for block in blocks:
        kind = (as_map(block) or {}).get("type")
        if isinstance(kind, str) and kind in _BLOCKS_TO_IMPORT:
            raise Unkeepable(
                f"its content holds a block of type {str(kind)!r}, which pairs calls and results in another "
                "provider's shape: import such messages, or give tool_calls and tool messages"
            )


def _kept_metadata(message: Mapping[Any, Any], role: str) -> dict[str, Any]:
    if message.keys() <= _UNPAIRED_KEYS:
        return {}
    pairing = pairing_of(message, role)
    metadata = metadata_of(message)
    extras = {k: v for k, v in metadata.items() if not (v is None and k in _PAIRING_KEYS)}
    for key, value in message.items():
        if value is not None and key not in _SHAPE_KEYS and extras.get(key) is None:
            extras[key] = value
    extras.pop("toolArtifacts", None)
    if role == "assistant":
        extras.pop("tool_calls", None)
    if pairing.call_id:
        extras["tool_call_id"] = pairing.call_id
    if pairing.healed:
        extras["healed"] = True
    result: dict[str, Any] = kept(extras, levels_max=LEVELS_MAX + 1) if extras else extras
    if pairing.calls:
        calls = [_call_in_our_spelling(as_map(call) or {}) for call in pairing.calls]
        result["tool_calls"] = kept(calls, levels_max=LEVELS_MAX + 2)
    return result


def _call_in_our_spelling(call: Mapping[Any, Any]) -> dict[Any, Any]:
    """A call as we spell it; what it holds beyond that stays under its own name."""
    usable, name, arguments = id_of_call(call), name_of_call(call), arguments_of_call(call)
    spelled: dict[Any, Any] = {}
    if usable:
        spelled["tool_call_id"] = usable
    if name != UNNAMED:
        spelled["name"] = name
    if arguments is not None:
        spelled["arguments"] = arguments
    for key, value in call.items():
        if value is None or key in spelled or (key == "id" and usable and call_id(value) == usable):
            continue
        if key == "type" and value == "function":
            continue
        beside = _beside_name_and_arguments(value) if key == "function" else value
        if beside is not None:
            spelled[key] = beside
    return spelled


def _beside_name_and_arguments(function: Any) -> Any:
    """What OpenAI's `function` map holds beyond what we spell ourselves, None for nothing."""
    if not isinstance(function, Mapping):
        return function
    return {k: v for k, v in function.items() if k not in ("name", "arguments")} or None


def refuse_oversized(index: int, encoded_bytes: int) -> None:
    """Raises `InvalidMessage` for a message whose encoded form no row should hold."""
    if encoded_bytes > ENCODED_BYTES_MAX:
        raise InvalidMessage(index, f"it takes {encoded_bytes:,} bytes; {ENCODED_BYTES_MAX:,} are the most")


def as_messages(value: Any) -> list[Any]:
    """One message or an iterable of them, as a list. Raises `InvalidMessage` for anything else."""
    if isinstance(value, Mapping) or hasattr(value, "model_dump"):
        return [value]
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise InvalidMessage(0, f"expected a message or an iterable of them, not {type(value).__name__!r}")
    return list(value)
