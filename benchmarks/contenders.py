"""What is compared: bare sqlite3, the store, and (in `peers`) what other projects ship.

Each contender keeps messages of a conversation in one file, and reads them all back as dicts that the caller
may change, unless its name says otherwise.
"""

import json
import sqlite3
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

from benchmarks.messages import Message
from turnledger import ConversationStore

Durability = Literal["full", "normal"]
CREATE = """CREATE TABLE messages (
    conversation TEXT NOT NULL, n INTEGER NOT NULL, body TEXT NOT NULL, PRIMARY KEY (conversation, n)
)"""


class Contender:
    """One way to keep conversations. `append` is durable when it returns, as far as `durability` says."""

    name: ClassVar[str]

    def __init__(self, path: Path, durability: Durability = "full") -> None:
        raise NotImplementedError

    @classmethod
    def ready(cls) -> None:
        """What a process does once, before anything is measured."""

    def append(self, conversation: str, messages: Sequence[Message]) -> None:
        raise NotImplementedError

    def read(self, conversation: str) -> list[Any]:
        raise NotImplementedError

    def fill(self, conversation: str, messages: Sequence[Message], batch: int = 1) -> None:
        """Puts a history in, as quickly as the contender can."""
        self.append(conversation, messages)

    def steps(self, conversation: str, messages: Sequence[Message]) -> float:
        """Seconds for one step a message: append it, read all."""
        begun = time.perf_counter()
        for message in messages:
            self.append(conversation, (message,))
            self.read(conversation)
        return time.perf_counter() - begun

    def close(self) -> None:
        raise NotImplementedError


class Raw(Contender):
    """sqlite3 alone: one table, WAL, one row a message, prepared statements (sqlite3 keeps them).

    A table with rowids: without, rows of this size would spill into overflow pages.
    """

    name = "raw"

    def __init__(self, path: Path, durability: Durability = "full") -> None:
        new = not path.exists()
        self.connection = sqlite3.connect(path, isolation_level=None)
        self.connection.execute(f"PRAGMA synchronous={durability.upper()}")
        if new:
            self.connection.execute("PRAGMA journal_mode=WAL")
            self.connection.execute(CREATE)
        self._next: dict[str, int] = {}

    def append(self, conversation: str, messages: Sequence[Message]) -> None:
        first = self._next.get(conversation)
        if first is None:
            first = self._length(conversation)
        rows = [(conversation, first + n, json.dumps(message)) for n, message in enumerate(messages)]
        self.connection.execute("BEGIN")
        if len(rows) == 1:
            self.connection.execute("INSERT INTO messages VALUES (?, ?, ?)", rows[0])
        else:
            self.connection.executemany("INSERT INTO messages VALUES (?, ?, ?)", rows)
        self.connection.execute("COMMIT")
        self._next[conversation] = first + len(rows)

    def _length(self, conversation: str) -> int:
        found = self.connection.execute(
            "SELECT MAX(n) FROM messages WHERE conversation = ?", (conversation,)
        ).fetchone()[0]
        return 0 if found is None else int(found) + 1

    def read(self, conversation: str) -> list[Any]:
        rows = self.connection.execute(
            "SELECT body FROM messages WHERE conversation = ? ORDER BY n", (conversation,)
        ).fetchall()
        return [json.loads(body) for (body,) in rows]

    def read_first(self, conversation: str, number: int) -> list[Any]:
        rows = self.connection.execute(
            "SELECT body FROM messages WHERE conversation = ? AND n < ? ORDER BY n", (conversation, number)
        ).fetchall()
        return [json.loads(body) for (body,) in rows]

    def close(self) -> None:
        self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self.connection.close()


class RawInsert(Raw):
    """The same, without reading: a bare INSERT and COMMIT."""

    name = "raw insert"

    def read(self, conversation: str) -> list[Any]:
        return []


class Turnledger(Contender):
    """The store, read with `sendable`: normalized, fresh dicts."""

    name = "turnledger"
    shared: ClassVar[bool] = False

    def __init__(self, path: Path, durability: Durability = "full") -> None:
        self.store = ConversationStore(path, durability=durability)

    def append(self, conversation: str, messages: Sequence[Message]) -> None:
        self.store.append(conversation, messages)

    def read(self, conversation: str) -> list[Any]:
        return self.store.sendable(conversation, shared=self.shared).messages

    def fill(self, conversation: str, messages: Sequence[Message], batch: int = 1) -> None:
        """A few messages a call, as a runtime would: what is kept beside the log may depend on it."""
        for first in range(0, len(messages), batch):
            self.store.append(conversation, messages[first : first + batch])

    def close(self) -> None:
        self.store.close()


class TurnledgerShared(Turnledger):
    """The store, read with `sendable(shared=True)`: messages that the caller treats as read-only."""

    name = "turnledger shared"
    shared = True
