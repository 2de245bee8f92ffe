"""OpenAI Responses items: what the model did between two inputs is one turn, each result one message.

A turn is a message with the calls and the reasoning around it. Reasoning and what the service's own tools did
are no part of what was said: the items are kept for the provider of the same name, which gives them back one
by one. A call's arguments and a result's text are not kept twice.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from turnledger.importing.pairing import Unanswered, given_id
from turnledger.importing.reading import Format, Read, as_item, equal, own_ids, said
from turnledger.projections.parts import parts_of
from turnledger.projections.providers.keeping import BLOCKS_KEY
from turnledger.projections.providers.openai_chat import ROLE_KEY
from turnledger.projections.providers.openai_items import (
    CALLS,
    CUSTOM,
    FUNCTION,
    REASONING,
    RESULTS,
    type_of,
)
from turnledger.projections.providers.openai_messages import said_text
from turnledger.projections.providers.openai_responses import NAME, items_of

INSTRUCTIONS = "instructions"
_ASKED = ("user", "system", "developer")
_OTHERS = (
    "additional_tools",
    "compaction",
    "compaction_trigger",
    "configuration_update",
    "item_reference",
    "mcp_approval_request",
    "mcp_approval_response",
    "mcp_list_tools",
    "program",
    REASONING,
)
_PARTS = ("input_text", "output_text", "input_image", "input_file")

Content = Mapping[str, Any]


def read(messages: Sequence[Any], start: int = 0) -> Iterator[Read]:
    """The items from `start` on, as messages; what is no item goes on as it is."""
    calls = _Calls()
    run: list[_Done] = []
    for index, item in enumerate(messages):
        if _is_done(item):
            call_id = calls.declare(index, item) if type_of(item) in CALLS else None
            run += [_Done(index, item, call_id)] if index >= start else []
            continue
        message = _result(item, calls.answer(item)) if type_of(item) in RESULTS else _asked(item)
        if index >= start:
            yield from _turns(run)
            run = []
            yield Read(message, index)
    yield from _turns(run)


class _Calls:
    """The calls of a transcript: their ids, under whatever key an item or its result names them."""

    def __init__(self) -> None:
        self._unanswered = Unanswered()
        self._ids: dict[str, str] = {}

    def declare(self, index: int, item: Content) -> str:
        item_id = given_id(item.get("id"))
        given = given_id(item.get("call_id")) or item_id
        call_id = self._unanswered.declare(index, 0, _tool(item), given)
        self._ids[call_id] = call_id
        if item_id:
            self._ids.setdefault(item_id, call_id)
        return call_id

    def answer(self, item: Content) -> str | None:
        """The id of the call that a result answers; some name it by the id of the call's item."""
        given = given_id(item.get("call_id"))
        if type_of(item) == "local_shell_call_output":
            given = given or given_id(item.get("id"))
        return self._unanswered.answer(item.get("name"), self._ids.get(str(given), given))


class _Done:
    """An item of the model's, its place, and the id of the call that it is."""

    def __init__(self, index: int, item: Content, call_id: str | None) -> None:
        self.index, self.item, self.call_id = index, item, call_id
        self.kind = type_of(item)


def _is_done(item: Any) -> bool:
    """Whether an item is part of the assistant's turn; a message of chat with its calls is none."""
    kind = type_of(item)
    if kind == "message":
        return item.get("role") == "assistant" and not item.get("tool_calls") and "metadata" not in item
    return kind not in RESULTS and _is_work(kind)


def _is_work(kind: str) -> bool:
    return kind in _OTHERS or kind.endswith(("_call", "_output"))


def _turns(run: Sequence[_Done]) -> Iterator[Read]:
    """The turns of items in a row: a message begins another one where one stands before it, but no call."""
    turn: list[_Done] = []
    spoken = 0  # how many of the turn's items stand no later than its message
    for one in run:
        if one.kind == "message":
            if spoken and not any(done.kind in CALLS for done in turn):
                yield _turn(turn[:spoken])
                turn = turn[spoken:]
            spoken = len(turn) + 1
        turn.append(one)
    if turn:
        yield _turn(turn)


def _turn(turn: Sequence[_Done]) -> Read:
    contents = [_said(done.item.get("content")) for done in turn if done.kind == "message"]
    message = {"role": "assistant", "content": _joined(contents)}
    calls = [_call(done) for done in turn if done.kind in CALLS]
    read = message | ({"tool_calls": calls} if calls else {})
    return Read(_with_items(read, [done.item for done in turn]), turn[0].index)


def _said(content: Any) -> Any:
    """What an assistant's message says, refusals too, as one text where it is text."""
    if not isinstance(content, list):
        return "" if content is None else content
    parts = parts_of(content) if content else []
    is_text = parts is not None and all(part.kind in ("text", "refusal") for part in parts)
    return said_text(content) if is_text else content


def _joined(contents: Sequence[Any]) -> Any:
    if all(isinstance(content, str) for content in contents):
        return "\n".join(content for content in contents if content)
    if len(contents) == 1:
        return contents[0]
    blocks: list[Any] = []
    for content in contents:
        text = [{"type": "output_text", "text": content}] if isinstance(content, str) else [content]
        blocks += content if isinstance(content, list) else text
    return blocks


def _tool(item: Content) -> Any:
    return CALLS[type_of(item)].tool or item.get("name")


def _call(done: _Done) -> dict[str, Any]:
    given = (done.item.get(key) for key in CALLS[done.kind].arguments)
    arguments = next((value for value in given if value is not None), None)
    call = {"tool_call_id": done.call_id, "name": _tool(done.item), "arguments": arguments}
    return call | ({"type": "custom"} if done.kind == CUSTOM else {})


def _result(item: Content, call_id: str | None) -> dict[str, Any]:
    message = {"role": "tool", "content": _output(item), "tool_call_id": call_id}
    return _with_items(message, [item])


def _output(item: Content) -> Any:
    output = item.get("output")
    if isinstance(output, list) and type_of(item) == "shell_call_output":
        runs = [run for run in output if isinstance(run, Mapping)]
        return "\n".join(str(run[key]) for run in runs for key in ("stdout", "stderr") if run.get(key))
    if isinstance(output, Mapping) and parts_of([output]):
        output = [output]
    return said(output, "tool") if isinstance(output, list) else output


def _asked(item: Any) -> Any:
    """A message of the user's or the system's; what is none as it is."""
    if not isinstance(item, Mapping) or "metadata" in item or "tool_calls" in item:
        return item
    role, content = item.get("role"), item.get("content")
    if role not in _ASKED or type_of(item) not in ("message", INSTRUCTIONS):
        return item
    message: dict[str, Any] = {
        "role": "system" if role == "developer" else role,
        "content": said(content, str(role)) if isinstance(content, list) else content,
    }
    if type_of(item) == INSTRUCTIONS:
        return message
    if role == "developer":
        message["metadata"] = {ROLE_KEY: "developer"}
    return _with_items(message, [item])


def _with_items(message: dict[str, Any], items: Sequence[Content]) -> dict[str, Any]:
    """The message; with its items, where the provider would not make the same of it again."""
    item = as_item(message)
    made = list(items_of([item], own_ids(item)))
    metadata = message.get("metadata", {})
    would_instruct = message["role"] == "system" and ROLE_KEY not in metadata
    if equal(made, items) and not would_instruct:
        return message
    kept = [_once(one, message) for one in items]
    return {**message, "metadata": {**metadata, NAME: {BLOCKS_KEY: kept}}}


def _once(item: Content, message: Content) -> dict[str, Any]:
    """An item without what the message says of it anyway."""
    said_anyway: tuple[str, ...] = ()
    if type_of(item) in (FUNCTION, CUSTOM):
        said_anyway = ("call_id", "name", *CALLS[type_of(item)].arguments)
    elif type_of(item) in RESULTS and item.get("output") and equal(item["output"], message["content"]):
        said_anyway = ("output",)
    return {key: value for key, value in item.items() if key not in said_anyway}


def marks(message: Mapping[str, Any]) -> bool:
    kind = type_of(message)
    if kind != "message":
        return kind in (INSTRUCTIONS, REASONING) or ("content" not in message and _is_work(kind))
    content = message.get("content")
    blocks = content if isinstance(content, list) else []
    return any(isinstance(block, Mapping) and block.get("type") in _PARTS for block in blocks)


FORMAT = Format(NAME, read, marks)
