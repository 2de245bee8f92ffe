"""Sessions of the Claude Agent SDK in a store: its `SessionStore`, over the face.

    options = ClaudeAgentOptions(session_store=TurnledgerSessionStore("chats.db"), resume=session_id)

A transcript and each subagent's are a conversation of their own (`conversation_of`). Every entry is kept
verbatim as a record, with its uuid as the key, and comes back deep-equal; beside it the conversation gets
what the entry says, as messages, so that `sendable(conversation_of(key), provider="anthropic")` is the
healed list. The SDK loads the entries alone: what a crash broke in them is mended by its own runtime when it
resumes, and on the record here. What a deletion hides stays in the log. How entries are read is for
`importing`.
"""

import json
import logging
import os
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from hashlib import sha256
from threading import Lock
from typing import Any
from urllib.parse import quote, unquote

from turnledger.adapters.extras import extra
from turnledger.adapters.newest import newest_record
from turnledger.adapters.threads import in_thread
from turnledger.domain.errors import ConversationNotFound, InvalidMessage, VersionConflict
from turnledger.domain.events import ConversationCleared, RecordKept
from turnledger.domain.identifiers import ID_CHARACTERS_MAX
from turnledger.domain.records import Record
from turnledger.domain.values import Unkeepable, kept
from turnledger.importing.claude_code import LINES_KEY, NAME
from turnledger.importing.formats import FORMATS
from turnledger.importing.sessions import is_side
from turnledger.infrastructure.reading import ConversationSummary
from turnledger.store import ConversationStore

with extra("claude-agent-sdk"):
    from claude_agent_sdk import fold_session_summary

ENTRY = "claude-agent-sdk"
SUMMARY = "claude-agent-sdk.summary"
PREFIX = "claude-agent-sdk"
SESSIONS_MAX = 64
SUMMARY_EVENTS = 50

_PROJECT_CHARACTERS_MAX = 80
_DIGEST_CHARACTERS = 32
_UNTIMED = {"mtime": 0}  # stamped where it is listed

Key = Mapping[str, Any]
Entry = dict[str, Any]

log = logging.getLogger("turnledger")


def conversation_of(key: Key) -> str:
    """The conversation of a `SessionKey`: `claude-agent-sdk/<project>/<session>`, and a subagent's behind it.

    >>> conversation_of({"project_key": "-home-ann", "session_id": "s1", "subpath": "subagents/agent-7"})
    'claude-agent-sdk/-home-ann/s1/subagents/agent-7'
    """
    session = f"{_project(key['project_key'])}{_quoted(key['session_id'])}"
    return f"{session}/{_quoted(key['subpath'], '/')}" if key.get("subpath") else session


def _project(project_key: str) -> str:
    """What the ids of a project's conversations begin with; a long name is cut, and told by a digest."""
    name = _quoted(project_key)
    if len(name) > _PROJECT_CHARACTERS_MAX:
        digest = sha256(name.encode()).hexdigest()[:_DIGEST_CHARACTERS]
        name = f"{name[: _PROJECT_CHARACTERS_MAX - _DIGEST_CHARACTERS - 1]}~{digest}"
    return f"{PREFIX}/{name}/"


def _quoted(text: str, safe: str = "") -> str:
    return quote(text, safe=safe, errors="surrogatepass")


@dataclass(slots=True)
class _Seen:
    """What is known of a conversation's records, up to a version."""

    version: int = 0
    uuids: set[str] = field(default_factory=set)
    summary: dict[str, Any] | None = None
    summarized: int = 0  # the version of that summary

    def note(self, kind: str, key: str | None, value: Any, version: int) -> None:
        if kind == ENTRY and key is not None:
            self.uuids.add(key)
        elif kind == SUMMARY:
            self.summary, self.summarized = value, version

    def forget(self) -> None:
        self.uuids, self.summary = set(), None


class TurnledgerSessionStore:
    """A `SessionStore` over a `ConversationStore`, or over the place of one.

    With `execution_id` it writes on behalf of that run, and what the run holds is delivered on its last word
    (RT-TOOL-7.2). May be shared by tasks, threads and event loops; any number of processes may write one
    store.
    """

    def __init__(
        self, store: ConversationStore | str | os.PathLike[str], *, execution_id: str | None = None
    ) -> None:
        self._is_own = not isinstance(store, ConversationStore)
        self.store = store if isinstance(store, ConversationStore) else ConversationStore(store)
        self.execution_id = execution_id
        self._seen: OrderedDict[str, _Seen] = OrderedDict()
        self._lock = Lock()

    async def close(self) -> None:
        """Closes the store, if it was opened here."""
        if self._is_own:
            await in_thread(self.store.close)

    async def append(self, key: Key, entries: list[Entry]) -> None:
        """Keeps the entries, each uuid once, and appends what they say. Raises what `append` raises."""
        await in_thread(self._append, key, list(entries))

    async def load(self, key: Key) -> list[Entry] | None:
        """The entries, deep-equal to those appended, in the order of their commits; None for none."""
        return await in_thread(self._load, conversation_of(key))

    async def list_sessions(self, project_key: str) -> list[dict[str, Any]]:
        """The project's sessions, with the time of their last change in milliseconds."""
        return await in_thread(lambda: [_listed(one) for one, _ in self._sessions(project_key)])

    async def list_session_summaries(self, project_key: str) -> list[dict[str, Any]]:
        """The same with the summary that the SDK's own fold made at each append."""
        return await in_thread(
            lambda: [{**_listed(one), "data": data} for one, data in self._sessions(project_key)]
        )

    async def delete(self, key: Key) -> None:
        """Clears the conversation, with the subagents' of a session; the log keeps what was said."""
        await in_thread(self._delete, key)

    async def list_subkeys(self, key: Key) -> list[str]:
        """The paths of a session's subagents."""
        return await in_thread(self._subkeys, conversation_of(key))

    def _append(self, key: Key, entries: list[Entry]) -> None:
        conversation = conversation_of(key)
        while True:
            with self._lock:
                seen = self._caught_up(conversation)
                new = _unknown(entries, seen.uuids)
                known = replace(seen)
            if not new:
                return
            records = [Record(ENTRY, _uuid(entry), _verbatim(entry)) for entry in new]
            records += [] if key.get("subpath") else _summary(key, known, new)
            try:
                self._record(conversation, _messages(new, bool(key.get("subpath"))), records, known.version)
                return
            except VersionConflict:  # another process was first: look again
                continue

    def _record(
        self, conversation: str, messages: list[dict[str, Any]], records: list[Record], version: int
    ) -> None:
        """Both in one transaction; what cannot be kept as a message stands in its entry's record alone."""
        write: Callable[..., Any] = partial(self.store.append, conversation, execution_id=self.execution_id)
        if self.execution_id is not None and _ends(messages):
            write = partial(self.store.write_back, conversation, self.execution_id)
        while True:
            try:
                write(messages, records=records, reused_ids="distinct", expected_records=version)
                return
            except InvalidMessage as error:
                log.warning("conversation %r: no message of an entry: %s", conversation, error.reason)
                messages = messages[: error.index] + messages[error.index + 1 :]

    def _caught_up(self, conversation: str) -> _Seen:
        """What is known of the conversation, as the log has it now."""
        seen = self._seen.setdefault(conversation, _Seen())
        self._seen.move_to_end(conversation)
        if len(self._seen) > SESSIONS_MAX:
            self._seen.popitem(last=False)
        try:
            if not seen.version:
                version = self.store.version(conversation)
                for record in self.store.records(conversation, at=version):
                    seen.note(record.kind, record.key, record.value, record.version)
                seen.version = version
            for event in self.store.events(conversation, after=seen.version):
                if isinstance(event, ConversationCleared):
                    seen.forget()
                elif isinstance(event, RecordKept):
                    seen.note(event.kind, event.key, event.record, event.version)
                seen.version = event.version
        except ConversationNotFound:
            return seen
        return seen

    def _load(self, conversation: str) -> list[Entry] | None:
        try:
            found = self.store.records(conversation, ENTRY)
        except ConversationNotFound:
            return None
        return [_entry(record.value) for record in found] or None

    def _delete(self, key: Key) -> None:
        conversation = conversation_of(key)
        subkeys = [] if key.get("subpath") else self._under(f"{conversation}/")
        for one in [*(sub.conversation_id for sub in subkeys), conversation]:
            try:
                self.store.clear(one)
            except ConversationNotFound:
                continue

    def _sessions(self, project_key: str) -> Iterator[tuple[ConversationSummary, dict[str, Any]]]:
        """The project's sessions that were not deleted, each with the data of its summary."""
        prefix = _project(project_key)
        for one in self._under(prefix):
            if "/" not in one.conversation_id[len(prefix) :]:
                data = self._last(one, SUMMARY)
                if data is not None:
                    yield one, data

    def _subkeys(self, conversation: str) -> list[str]:
        prefix = f"{conversation}/"
        found = [one for one in self._under(prefix) if self._last(one, ENTRY) is not None]
        return [unquote(one.conversation_id[len(prefix) :], errors="surrogatepass") for one in found]

    def _under(self, prefix: str) -> Iterator[ConversationSummary]:
        """The conversations whose ids begin so."""
        for one in self.store.conversations(after=prefix):
            if not one.conversation_id.startswith(prefix):
                return
            yield one

    def _last(self, one: ConversationSummary, kind: str) -> Any:
        found = newest_record(self.store, one.conversation_id, one.version, kind)
        return found and found.record


def _summary(key: Key, seen: _Seen, new: list[Entry]) -> list[Record]:
    """The session's summary with new entries, where it says something else or is far from the end."""
    before = None if seen.summary is None else {**_UNTIMED, **key, "data": seen.summary}
    data = fold_session_summary(before, key, new)["data"]
    is_near = seen.version - seen.summarized < SUMMARY_EVENTS
    return [] if data == seen.summary and is_near else [Record(SUMMARY, None, data)]


def _uuid(entry: Entry) -> str | None:
    """The entry's uuid, where it can be a key."""
    found = entry.get("uuid")
    if not isinstance(found, str) or len(found) > ID_CHARACTERS_MAX or not found.isprintable():
        return None
    return found if found.strip() else None


def _unknown(entries: Sequence[Entry], uuids: set[str]) -> list[Entry]:
    """The entries whose uuid is not known, each once; those without one all."""
    new: dict[Any, Entry] = {}
    for place, entry in enumerate(entries):
        uuid = _uuid(entry)
        if uuid is None or uuid not in uuids:
            new.setdefault(place if uuid is None else uuid, entry)
    return list(new.values())


def _verbatim(entry: Entry) -> Any:
    """The entry; as a text of JSON where a record would not hold it as it is (half a surrogate pair, NaN)."""
    try:
        return entry if kept(entry) == entry else json.dumps(entry)
    except Unkeepable:
        return json.dumps(entry)


def _entry(value: Any) -> Entry:
    entry: Entry = json.loads(value) if isinstance(value, str) else value
    return entry


def _messages(entries: Sequence[Entry], is_subagent: bool) -> list[dict[str, Any]]:
    """What entries say, in messages of the store; of their lines metadata keeps the uuids."""
    turns = [entry for entry in entries if is_subagent or not is_side(entry)]
    messages = [read.message for read in FORMATS[NAME].read(turns, 0)]
    for message in messages:
        known = message.get("metadata", {}).get(NAME)
        if known:
            known[LINES_KEY] = [
                {"uuid": line.get("uuid"), "blocks": line["blocks"]} for line in known[LINES_KEY]
            ]
    return messages


def _ends(messages: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the assistant had its last word: nothing is called in it."""
    said = [message for message in messages if message["role"] == "assistant"]
    return bool(said) and not said[-1].get("tool_calls")


def _listed(one: ConversationSummary) -> dict[str, Any]:
    return {
        "session_id": unquote(one.conversation_id.rsplit("/", 1)[-1], errors="surrogatepass"),
        "mtime": _milliseconds(one.updated_at),
    }


def _milliseconds(time: datetime | None) -> int:
    return int(time.timestamp() * 1_000) if time else 0
