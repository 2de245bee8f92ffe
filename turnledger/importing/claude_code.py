"""Sessions of Claude Code: Anthropic messages, one line an event, an answer's blocks over several lines.

What a line knows beyond its message (its uuid, time, folder, the tool's own result, the model and its usage)
is kept in metadata. Which lines are the conversation is for `sessions`.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from turnledger.importing import anthropic
from turnledger.importing.reading import Format, Read
from turnledger.importing.sessions import Tree, answer_of, is_event

NAME = "claude-code"
LINES_KEY = "lines"


def read(messages: Sequence[Any], start: int = 0) -> Iterator[Read]:
    """The turns of the conversation from the event of index `start` on."""
    places = Tree(messages, whole=True).main()
    for turn in _turns(messages, [place for place in places if place >= start]):
        yield from _read(messages, turn)


def _turns(events: Sequence[Any], places: Sequence[int]) -> Iterator[list[int]]:
    """Places by turn: the lines of one answer are one."""
    turn: list[int] = []
    for place in places:
        if turn and answer_of(events[place]) and answer_of(events[place]) == answer_of(events[turn[-1]]):
            turn.append(place)
            continue
        if turn:
            yield turn
        turn = [place]
    if turn:
        yield turn


def _read(events: Sequence[Any], turn: Sequence[int]) -> Iterator[Read]:
    contents = [events[place]["message"]["content"] for place in turn]
    content = contents[0] if len(turn) == 1 else [block for content in contents for block in _blocks(content)]
    lines = [_line(events[place], len(_blocks(events[place]["message"]["content"]))) for place in turn]
    known: dict[str, Any] = {NAME: {LINES_KEY: lines}}
    for one in anthropic.read([{"role": events[turn[0]]["type"], "content": content}]):
        metadata = {**one.message.get("metadata", {}), **known}
        message = {**one.message, "metadata": metadata} if metadata else one.message
        known = {}  # a line of several results is kept with the first
        yield Read(message, turn[0])


def _blocks(content: Any) -> list[Any]:
    return content if isinstance(content, list) else [{"type": "text", "text": content}]


def _line(event: Mapping[str, Any], blocks: int) -> dict[str, Any]:
    """What a line holds beyond its words, and how many blocks of the turn are its own."""
    message = {key: value for key, value in event["message"].items() if key not in ("role", "content")}
    rest = {key: value for key, value in event.items() if key != "message"}
    return {**rest, **({"message": message} if message else {}), "blocks": blocks}


FORMAT = Format(NAME, read, is_event)
