"""What a program may give to be examined: messages, the map that holds them, or the path of a file."""

import io
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from turnledger.domain.errors import InvalidArgument
from turnledger.importing.doctor.databases import examine_database
from turnledger.importing.doctor.examining import Examined, examine_messages, examine_request, examine_text
from turnledger.importing.files import LIST_KEYS
from turnledger.importing.sqlite_files import MAGIC

_WANTED = "give a list of messages, a map with 'messages', or the path of a file; examine_text takes its text"


def examine(source: Any, format: str | None = None) -> Examined:
    """Examines what `read_messages` takes: a list of messages in their provider's own shape, the request or
    other map that holds them, or the path of a file. Nothing that is given is changed.

    `fixed` is of the kind that was given: a list, a map, the text of the file. Raises `InvalidArgument` for
    anything else, for a file that cannot be read, and for a format that the doctor does not know.

    >>> call = {"id": "c1", "type": "function", "function": {"name": "track", "arguments": "{}"}}
    >>> done = examine([{"role": "assistant", "content": None, "tool_calls": [call]}])
    >>> done.findings[0].place, done.findings[0].kind, done.fixed[1]["role"]
    ('[0].tool_calls[0]', 'unanswered call', 'tool')
    """
    if isinstance(source, str | os.PathLike):
        return _examined_file(Path(source), format)
    if isinstance(source, Mapping):
        key = next((key for key in LIST_KEYS if isinstance(source.get(key), list)), None)
        if key is None:
            raise InvalidArgument(_WANTED)
        return examine_request(source, key, format)
    if isinstance(source, bytes | bytearray | io.IOBase) or not isinstance(source, Iterable):
        raise InvalidArgument(_WANTED)
    return examine_messages(list(source), format)


def _examined_file(path: Path, format: str | None) -> Examined:
    try:
        data = path.read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InvalidArgument(f"{str(path)[:200]!r} cannot be read: {reason}; {_WANTED}") from error
    if data.startswith(MAGIC):
        return examine_database(path, format)
    return examine_text(data.decode("utf-8", "surrogateescape"), format)
