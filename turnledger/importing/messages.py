"""One conversation for a program: read from a list, a map or a file, in a format given or guessed."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from turnledger.domain.errors import InvalidArgument, InvalidMessage
from turnledger.importing.files import messages_in, read_transcripts
from turnledger.importing.formats import FORMATS, guessed_format, known_format
from turnledger.importing.transcripts import BadLine, Transcript


def read_messages(source: Any, format: str | None = None) -> list[Any]:
    """One conversation as messages that `store.append(..., reused_ids="distinct")` takes.

    `source` is a list of messages in the format's own shape, the request or other map that holds them, or the
    path of a file with one conversation (a session's sidechains are left out). Raises `InvalidArgument` for a
    format that is not known, a file that cannot be read or that holds several conversations, and
    `InvalidMessage` for a line that is no JSON.

    >>> read_messages([{"role": "developer", "content": "in verse"}], format="openai-chat")
    [{'role': 'system', 'content': 'in verse', 'metadata': {'openai_role': 'developer'}}]
    """
    known_format(format)
    if isinstance(source, str | os.PathLike):
        only = _only_conversation(Path(source))
        messages, format = only.messages, only.format or format or only.likely
    else:
        found = messages_in(source) if isinstance(source, Mapping) else source
        if isinstance(found, str | bytes | Mapping) or not isinstance(found, Iterable):
            raise InvalidArgument("give a list of messages, a map with 'messages', or the path of a file")
        messages = list(found)
    about = source if isinstance(source, Mapping) else None
    name = known_format(format) or guessed_format(messages, about)
    return [read.message for read in FORMATS[name].read(messages, 0)]


def _only_conversation(path: Path) -> Transcript:
    try:
        with path.open("rb") as file:
            found = list(read_transcripts(file, path.stem))
    except OSError as error:
        raise InvalidArgument(f"{path} cannot be read: {error.strerror or error}") from error
    for index, item in enumerate(found):
        if isinstance(item, BadLine):
            raise InvalidMessage(index, f"{path}, {item}")
    transcripts = [item for item in found if not isinstance(item, BadLine)]
    first = transcripts[0].conversation_id if transcripts else ""
    transcripts = [one for one in transcripts if not one.conversation_id.startswith(f"{first}/")]
    if len(transcripts) != 1:
        raise InvalidArgument(
            f"{path} holds {len(transcripts)} conversations: read_transcripts reads such a file"
        )
    return transcripts[0]
