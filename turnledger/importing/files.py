"""Files of conversations, read line by line: JSON or JSON Lines, whatever the messages' format; and SQLite.

Four layouts are told apart: one conversation a line (`{"id", "messages"}` or a bare list of messages), one
message a line, one JSON conversation, one JSON list of conversations. A conversation may be a provider's
request: a system prompt beside its messages is read as their first. What cannot be read is handed on with its
place, and the rest is read.
"""

import json
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO

from turnledger.importing.claude_code import NAME as SESSION
from turnledger.importing.formats import FORMATS, guessed_format, request_format, shown_format
from turnledger.importing.openai_responses import INSTRUCTIONS
from turnledger.importing.sessions import conversations_of
from turnledger.importing.sqlite_files import MAGIC, read_database
from turnledger.importing.transcripts import BadLine, Transcript, transcript

LIST_KEYS = ("messages", "contents", "input")
_PROMPT_KEYS = ("system", INSTRUCTIONS, "system_instruction", "systemInstruction")


@dataclass(frozen=True, slots=True)
class _Value:
    """One JSON value of a file, and where it stands."""

    place: str
    value: Any
    notes: tuple[str, ...] = ()
    places: tuple[str, ...] = ()


def read_transcripts(file: BinaryIO, name: str) -> Iterator[Transcript | BadLine]:
    """The conversations of an open binary file, one at a time; an SQLite file of a client's is one too.

    One without an id of its own is called `name`; a second one `name-2`, and so on.
    """
    first = file.readline()
    if first.startswith(MAGIC):
        with _at_path(file, first) as path:
            yield from read_database(path)
        return
    unnamed = 0
    for item in _conversations(_values(chain([first] if first else [], file))):
        if isinstance(item, BadLine):
            yield item
            continue
        given, messages = _parts(item.value)
        if given is None:
            unnamed += 1
            given = name if unnamed == 1 else f"{name}-{unnamed}"
        likely = _likely(item.value, messages)
        yield transcript(given, messages, item.place, notes=item.notes, likely=likely, places=item.places)


@contextmanager
def _at_path(file: BinaryIO, first: bytes) -> Iterator[Path]:
    """Where an open file stands; a copy where it stands nowhere."""
    name = getattr(file, "name", None)
    if isinstance(name, str) and Path(name).is_file():
        yield Path(name)
        return
    with TemporaryDirectory() as folder:
        path = Path(folder) / "copy.db"
        with path.open("wb") as copy:
            copy.write(first)
            shutil.copyfileobj(file, copy)
        yield path


def _parts(value: Any) -> tuple[Any, list[Any]]:
    """The id, if it has one, and the messages of a conversation."""
    return (None, value) if isinstance(value, list) else (value.get("id"), messages_in(value) or [])


def _likely(value: Any, messages: list[Any]) -> str | None:
    """The format of a request whose messages alone may not show it."""
    told = request_format(value) if isinstance(value, Mapping) else None
    return told and shown_format(messages, value)


def messages_in(conversation: Mapping[str, Any]) -> list[Any] | None:
    """The messages that a map holds, its system prompt first; None where it holds none."""
    found = (conversation.get(key) for key in LIST_KEYS)
    messages = next((value for value in found if isinstance(value, list)), None)
    if messages is None and isinstance(conversation.get("input"), str) and "model" in conversation:
        messages = [{"role": "user", "content": conversation["input"]}]
    return None if messages is None else _prompt(conversation) + messages


def _prompt(conversation: Mapping[str, Any]) -> list[Any]:
    """The system prompt that a request names beside its messages, as one of them."""
    config = conversation.get("config")
    for where in (conversation, config if isinstance(config, Mapping) else {}):
        for key in _PROMPT_KEYS:
            prompt = where.get(key)
            if prompt and isinstance(prompt, dict) and "parts" in prompt:
                return [{**prompt, "role": "system"}]
            if prompt and isinstance(prompt, str | list):
                told = {"role": "system", "content": prompt}
                return [told | ({"type": key} if key == INSTRUCTIONS and "input" in conversation else {})]
    return []


def is_message(value: Any) -> bool:
    """A map that holds no list of messages and that some format knows."""
    if not isinstance(value, dict) or messages_in(value) is not None:
        return False
    return "role" in value or any(format.marks(value) for format in FORMATS.values())


def is_conversation(value: Any) -> bool:
    """A map with its messages, or a bare list of them."""
    messages = messages_in(value) if isinstance(value, dict) else value
    return isinstance(messages, list) and not any(is_conversation(item) for item in messages)


def _conversations(values: Iterator[_Value | BadLine]) -> Iterator[_Value | BadLine]:
    """The conversations among a file's values; the first that is none decides whether a line is a message."""
    bad: list[BadLine] = []
    for first in values:
        if not isinstance(first, BadLine):
            rest = chain([first], values)
            yield from bad
            yield from (_joined(rest) if is_message(first.value) else _each(rest))
            return
        bad.append(first)
    yield from bad


def _joined(values: Iterable[_Value | BadLine]) -> Iterator[_Value | BadLine]:
    """One message a line: one conversation."""
    found: list[_Value] = []
    for item in values:
        if isinstance(item, BadLine):
            yield item
        elif is_message(item.value):
            found.append(item)
        else:
            yield BadLine(item.place, "this is no message, though the lines before it are")
    messages = [one.value for one in found]
    if guessed_format(messages) == SESSION:
        yield from _sessions(messages, {id(one.value): one.place for one in found})
    else:
        yield _Value("the file", messages, places=tuple(one.place for one in found))


def _sessions(events: list[Any], places: Mapping[int, str]) -> Iterator[_Value]:
    """A session of Claude Code: its conversation, and those of its sidechains."""
    for found in conversations_of(events):
        place = "the file" if found.main else f"the file, {found.name}"
        value = {"id": found.conversation_id, "messages": found.events}
        yield _Value(place, value, found.notes, tuple(places[id(event)] for event in found.events))


def _each(values: Iterable[_Value | BadLine]) -> Iterator[_Value | BadLine]:
    for item in values:
        if isinstance(item, BadLine) or is_conversation(item.value):
            yield item
        elif isinstance(item.value, list):
            yield from _listed(item)
        else:
            reason = 'expected {"id", "messages"}, a list of messages, or one message a line'
            yield BadLine(item.place, reason)


def _listed(item: _Value) -> Iterator[_Value | BadLine]:
    """A list of conversations."""
    for number, value in enumerate(item.value, 1):
        place = f"{item.place}, conversation {number}"
        if is_conversation(value):
            yield _Value(place, value)
        else:
            yield BadLine(place, 'expected {"id", "messages"} or a list of messages')


def _values(file: Iterable[bytes]) -> Iterator[_Value | BadLine]:
    """The values of JSON Lines; or the one value of a JSON document over several lines."""
    lines = _lines(file)
    first = next(lines, None)
    if first is None:
        yield BadLine("the file", "it is empty")
        return
    value = _parsed(*first)
    if isinstance(value, BadLine):
        held = [first, *lines]
        document = _parsed(0, b"".join(line for _, line in held))
        if not isinstance(document, BadLine):
            yield _Value("the file", document.value)
            return
        if all(isinstance(_parsed(*line), BadLine) for line in held):
            yield BadLine("the file", document.reason)
            return
        lines = iter(held[1:])
    yield value
    for line in lines:
        yield _parsed(*line)


def _lines(file: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    """The lines that hold something, with their numbers."""
    for number, line in enumerate(file, 1):
        text = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
        if text.strip():
            yield number, text


def _parsed(number: int, line: bytes) -> _Value | BadLine:
    place = f"line {number}"
    try:
        return _Value(place, json.loads(line.decode()))
    except UnicodeDecodeError as error:
        return BadLine(place, f"it is no UTF-8 text ({error.reason} at byte {error.start + 1})")
    except json.JSONDecodeError as error:
        return BadLine(place, f"it is no JSON: {error.msg.removesuffix(' at')} at {_position(error, number)}")
    except (ValueError, RecursionError) as error:
        return BadLine(place, f"it cannot be read: {error}")


def _position(error: json.JSONDecodeError, number: int) -> str:
    return f"column {error.colno}" if number else f"line {error.lineno}, column {error.colno}"
