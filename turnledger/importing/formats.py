"""The formats that can be read, by name: each turns one conversation's list into messages to append."""

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from turnledger.domain.errors import InvalidArgument, InvalidMessage
from turnledger.importing import openai_chat
from turnledger.importing.files import BadLine, read_transcripts

FORMATS: Mapping[str, Callable[[Iterable[Any]], list[Any]]] = {
    openai_chat.NAME: openai_chat.read,
}
DEFAULT_FORMAT = openai_chat.NAME


def read_messages(source: Any, format: str | None = None) -> list[Any]:
    """One conversation as messages that `store.append(..., reused_ids="distinct")` takes.

    `source` is a list of messages in the format's own shape, a map that holds them under `messages`, or the
    path of a file with one conversation. Raises `InvalidArgument` for a format that is not known, a file
    that cannot be read or that holds several conversations, and `InvalidMessage` for a line that is no JSON.

    >>> read_messages([{"role": "developer", "content": "in verse"}], format="openai-chat")
    [{'role': 'system', 'content': 'in verse', 'metadata': {'openai_role': 'developer'}}]
    """
    read = FORMATS[checked_format(format)]
    if isinstance(source, str | os.PathLike):
        return read(_only_conversation(Path(source)))
    messages = source.get("messages") if isinstance(source, Mapping) else source
    if isinstance(messages, str | bytes | Mapping) or not isinstance(messages, Iterable):
        raise InvalidArgument("give a list of messages, a map with 'messages', or the path of a file")
    return read(messages)


def checked_format(format: str | None) -> str:
    """The format's name, or the default's. Raises `InvalidArgument` for one that is not known."""
    if format is not None and format not in FORMATS:
        raise InvalidArgument(f"format must be one of {', '.join(FORMATS)}, not {format!r}")
    return format or DEFAULT_FORMAT


def _only_conversation(path: Path) -> list[Any]:
    try:
        with path.open("rb") as file:
            found = list(read_transcripts(file, path.stem))
    except OSError as error:
        raise InvalidArgument(f"{path} cannot be read: {error.strerror or error}") from error
    for index, item in enumerate(found):
        if isinstance(item, BadLine):
            raise InvalidMessage(index, f"{path}, {item}")
    transcripts = [item for item in found if not isinstance(item, BadLine)]
    if len(transcripts) != 1:
        raise InvalidArgument(
            f"{path} holds {len(transcripts)} conversations: read_transcripts reads such a file"
        )
    return transcripts[0].messages
