"""Full-text search in read models: words, narrowed down by what the rows say."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal
from uuid import uuid4

from turnledger.domain.errors import InvalidArgument
from turnledger.domain.identifiers import checked_optional_id
from turnledger.domain.messages import ROLES
from turnledger.domain.values import scrubbed
from turnledger.infrastructure.read_models.excerpts import LONG_CHARACTERS, Highlights, excerpt
from turnledger.infrastructure.read_models.schema import ENTRY_STATES, SEARCHED
from turnledger.infrastructure.read_models.times import utc
from turnledger.infrastructure.reading import ConversationSummary

if TYPE_CHECKING:
    from sqlite_utils import Database

SNIPPET_WORDS = 24
LIMIT_MAX = 2**62
_BEGINNING = re.compile(r'\*"(?= |$)')
_COLUMNS = {
    "entries": "found.conversation_id, found.version, found.time, found.role, found.entry, found.position,"
    " found.state, found.name",
    "events": "found.conversation_id, found.version, found.time, found.kind, NULL, NULL, NULL, NULL",
}
_KEYS = {"entries": "entry_id", "events": "position"}


@dataclass(frozen=True, slots=True)
class SearchHit:
    """One thing found: an entry, `kind` its role, or an event.

    `text` is an excerpt, and `highlights` the places in it (from, to) of what was searched for. `position` is
    None for an entry that has left the buffer, `name` the tool that a result comes from.
    """

    conversation_id: str
    version: int
    time: datetime | None
    kind: str
    entry: int | None
    position: int | None
    state: str | None
    name: str | None
    text: str
    highlights: Highlights


@dataclass(frozen=True, slots=True)
class Search:
    """What is searched for: all of `words` (`parc*` is a beginning, `"two words"` a phrase), in entries or in
    events. `tool` is the name of a call that an entry declares or answers; times are aware."""

    words: str
    _: KW_ONLY
    of: Literal["entries", "events"] = "entries"
    role: str | None = None
    tool: str | None = None
    conversation_id: str | None = None
    state: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    newest_first: bool = False
    limit: int = 20

    def __post_init__(self) -> None:
        if not isinstance(self.words, str) or not any(character.isalnum() for character in self.words):
            raise InvalidArgument("give words to search for")
        if self.of not in _KEYS:
            raise InvalidArgument(f"of must be one of {', '.join(_KEYS)}, not {self.of!r}")
        if not isinstance(self.limit, int) or isinstance(self.limit, bool) or self.limit < 1:
            raise InvalidArgument(f"limit must be a whole number from 1 up, not {self.limit!r}")
        checked_optional_id("conversation_id", self.conversation_id)
        if self.of == "events" and (self.role or self.tool or self.state):
            raise InvalidArgument("events have no role, tool or state: search entries by these")
        for name, value, known in (("role", self.role, ROLES), ("state", self.state, ENTRY_STATES)):
            if value is not None and value not in known:
                raise InvalidArgument(f"{name} must be one of {', '.join(known)}, not {value!r}")
        for name, time in (("since", self.since), ("until", self.until)):
            if time is not None and time.tzinfo is None:
                raise InvalidArgument(f"{name} must be an aware datetime")

    def hits(self, database: "Database") -> list[SearchHit]:
        """What is found, at most `limit`; excerpts are made of these alone."""
        with database.atomic():  # as of one moment
            found = (self._hit(database, key) for key in self._keys(database))
            return [hit for hit in found if hit is not None]

    def _keys(self, database: "Database") -> list[int]:
        fts, key = f"{self.of}_fts", _KEYS[self.of]
        conditions = dict(self._conditions())
        where = "".join(f" AND {condition}" for condition in conditions)
        join = f" JOIN {self.of} AS found ON found.{key} = {fts}.rowid" if conditions else ""
        order = f"{fts}.rowid DESC" if self.newest_first else f"rank, {fts}.rowid"
        found = database.conn.execute(
            f"SELECT {fts}.rowid FROM {fts}{join} WHERE {fts} MATCH ?{where} ORDER BY {order} LIMIT ?",
            (query_of(database, self.words), *conditions.values(), min(self.limit, LIMIT_MAX)),
        )
        return [row[0] for row in found]

    def _hit(self, database: "Database", key: int) -> SearchHit | None:
        begin, end = uuid4().hex, uuid4().hex  # nothing that a text could hold already
        fts, columns = f"{self.of}_fts", [f"COALESCE(found.{name}, '')" for name in SEARCHED[self.of]]
        size = " + ".join(f"LENGTH({column})" for column in columns)
        row = database.conn.execute(
            f"SELECT {_COLUMNS[self.of]}, CASE WHEN {size} > {LONG_CHARACTERS}"
            f" THEN {' || char(10) || '.join(columns)} END, CASE WHEN {size} <= {LONG_CHARACTERS}"
            f" THEN snippet({fts}, -1, ?, ?, '…', {SNIPPET_WORDS}) END"
            f" FROM {fts} JOIN {self.of} AS found ON found.{_KEYS[self.of]} = {fts}.rowid"
            f" WHERE {fts} MATCH ? AND {fts}.rowid = ?",
            (begin, end, query_of(database, self.words), key),
        ).fetchone()
        if row is None:
            return None
        *told, whole, marked = row
        return _hit_of(
            told, excerpt(whole, self.words) if whole is not None else _unmarked(marked, begin, end)
        )

    def _conditions(self) -> Iterator[tuple[str, Any]]:
        if self.role is not None:
            yield "found.role = ?", self.role
        if self.state is not None:
            yield "found.state = ?", self.state
        if self.conversation_id is not None:
            yield "found.conversation_id = ?", self.conversation_id
        if self.since is not None:
            yield "found.time >= ?", utc(self.since)
        if self.until is not None:
            yield "found.time <= ?", utc(self.until)
        if self.tool is not None:
            declared = "SELECT name FROM calls WHERE calls.entry_id = found.entry_id"
            yield f"? IN (SELECT found.name UNION ALL {declared})", scrubbed(self.tool)


def query_of(database: "Database", words: str, *, beginnings: bool = False) -> str:
    """Words as FTS5 takes them, whatever characters they hold; with `beginnings` each may go on."""
    quoted = _BEGINNING.sub('"*', database.quote_fts(scrubbed(words).replace("\0", " ")))
    return re.sub(r'"(?= |$)', '"*', quoted) if beginnings else quoted


def conversations_saying(
    database: "Database", words: str, after: str | None, limit: int
) -> list[ConversationSummary]:
    """Summaries of conversations whose id holds the words, or whose entries hold words that begin so."""
    if not any(character.isalnum() for character in words):
        return []
    found = database.conn.execute(
        "SELECT conversation_id, version, entries, started_at, updated_at FROM conversations"
        " WHERE conversation_id > ?1 AND (instr(lower(conversation_id), lower(?2)) OR conversation_id IN ("
        "SELECT conversation_id FROM entries WHERE entry_id IN ("
        "SELECT rowid FROM entries_fts WHERE entries_fts MATCH ?3))) ORDER BY conversation_id LIMIT ?4",
        (after or "", scrubbed(words).strip(), query_of(database, words, beginnings=True), limit),
    )
    return [
        ConversationSummary(found_id, version, entries, _moment(first), _moment(last))
        for found_id, version, entries, first, last in found
    ]


def _moment(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


def _unmarked(marked: str, begin: str, end: str) -> tuple[str, Highlights]:
    text, highlights = "", []
    for number, part in enumerate(re.split(f"{begin}|{end}", marked)):
        if number % 2:
            highlights.append((len(text), len(text) + len(part)))
        text += part
    return text, tuple(highlights)


def _hit_of(row: Sequence[Any], said: tuple[str, Highlights]) -> SearchHit:
    conversation_id, version, time, kind, entry, position, state, name = row
    return SearchHit(conversation_id, version, _moment(time), kind, entry, position, state, name, *said)
