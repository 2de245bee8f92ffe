"""A transcript into the store: once, and later only what it has beyond that.

How far an import came stands in the context of its events: how many of the messages it took in, and a digest
of them. Two importers at once cannot double anything: each append names the version that it decided on.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Literal, NamedTuple

from turnledger.domain.appending import AppendResult
from turnledger.domain.errors import ConversationNotFound, ImportConflict, InvalidMessage, VersionConflict
from turnledger.domain.events import ConversationCleared, MessageAppended
from turnledger.domain.messages import read_message
from turnledger.domain.values import Unkeepable, canonical, kept
from turnledger.importing.formats import FORMATS, guessed_format, known_format
from turnledger.importing.transcripts import BadLine, Transcript
from turnledger.store import ConversationStore

FORMAT_KEY, MESSAGES_KEY, DIGEST_KEY = "import.format", "import.messages", "import.digest"
_ANOTHER_ID = "import it under another id (--id, where its file holds no other conversation)"
_NOTHING = sha256().hexdigest()
Outcome = Literal["new", "grown", "unchanged"]


@dataclass(frozen=True, slots=True)
class Imported:
    """What became of one transcript: `messages` of it were read now, behind those imported before."""

    conversation_id: str
    outcome: Outcome
    messages: int
    format: str
    report: AppendResult | None = None


class _Progress(NamedTuple):
    """How far earlier imports came, and the version of the conversation then seen."""

    version: int = 0
    messages: int = 0
    digest: str = ""


def import_transcript(
    store: ConversationStore, conversation_id: str, messages: Sequence[Any], format: str | None = None
) -> Imported:
    """Records a whole transcript, or what it has beyond what was imported of it before, in one append.

    Raises `ImportConflict` where the transcript does not begin with what was imported before, or where the
    conversation was not begun by an import; `InvalidMessage`, with the place in `messages`, and what else
    `ConversationStore.append` raises. Nothing of it is recorded then.
    """
    name = known_format(format) or guessed_format(messages)
    digests = _digests(messages)
    while True:
        before = _progress(store, conversation_id)
        if before.messages > len(messages) or digests[before.messages] != before.digest:
            raise ImportConflict(
                f"conversation {conversation_id!r} has {before.messages} messages imported before, and this "
                f"transcript does not begin with them: {_ANOTHER_ID}"
            )
        rest = len(messages) - before.messages
        if not rest:
            return Imported(conversation_id, "unchanged", 0, name)
        reads = list(FORMATS[name].read(messages, before.messages))
        try:
            report = store.append(
                conversation_id,
                [read.message for read in reads],
                context={FORMAT_KEY: name, MESSAGES_KEY: str(len(messages)), DIGEST_KEY: digests[-1]},
                reused_ids="distinct",
                expected_version=before.version,
            )
        except VersionConflict:
            continue
        except InvalidMessage as error:
            index = reads[error.index].index if reads else before.messages
            raise InvalidMessage(index, error.reason) from error
        return Imported(conversation_id, "grown" if before.messages else "new", rest, name, report)


def import_sound(
    store: ConversationStore, item: Transcript, format: str | None = None
) -> tuple[Imported, list[BadLine]]:
    """`import_transcript` of a file's conversation, without the messages that cannot be kept.

    Only where each message has a line or a row of its own, and so a place to be named by. Else, and where
    none would be left, it raises `InvalidMessage`.
    """
    bad: list[BadLine] = []
    while True:
        meant = item.format or format or item.likely
        try:
            return import_transcript(store, item.conversation_id, item.messages, meant), bad
        except (InvalidMessage, ImportConflict) as error:  # an earlier import left the bad ones out
            faults = _faults(item.messages, meant) if item.places else {}
            if isinstance(error, InvalidMessage):
                faults.setdefault(error.index, error.reason)
            if not item.places or not 0 < len(faults) < len(item.messages):
                raise
            bad += [BadLine(item.places[index], faults[index]) for index in sorted(faults)]
            item = item.without(faults)


def _faults(messages: Sequence[Any], format: str | None) -> dict[int, str]:
    """The messages that cannot be kept, by their indexes, each with the reason."""
    name = known_format(format) or guessed_format(messages)
    faults: dict[int, str] = {}
    for read in FORMATS[name].read(messages, 0):
        try:
            _likeness(read.index, messages[read.index])
            read_message(read.message, read.index)
        except InvalidMessage as error:
            faults.setdefault(error.index, error.reason)
    return faults


def _progress(store: ConversationStore, conversation_id: str) -> _Progress:
    """Read from the log, where it stands in the newest event that an import recorded.

    A cleared conversation begins anew: of what was imported before nothing is known. What was retracted was
    imported all the same, and does not come back.
    """
    try:
        events = store.events(conversation_id)
    except ConversationNotFound:
        return _Progress(digest=_NOTHING)
    found = _Progress()
    for event in events:
        context = event.envelope.context or {}
        if isinstance(event, ConversationCleared):
            found = _Progress(digest=_NOTHING)
        elif DIGEST_KEY in context and context.get(MESSAGES_KEY, "").isdecimal():
            found = _Progress(0, int(context[MESSAGES_KEY]), context[DIGEST_KEY])
        elif not found.messages and isinstance(event, MessageAppended):
            found = _Progress()  # somebody else began it
        found = found._replace(version=event.version)
    if not found.digest:
        raise ImportConflict(f"conversation {conversation_id!r} exists and no import began it: {_ANOTHER_ID}")
    return found


def _digests(messages: Sequence[Any]) -> list[str]:
    """For each number of messages from the beginning, from none to all, a digest of them as given."""
    digest = sha256()
    digests = [digest.hexdigest()]
    for index, message in enumerate(messages):
        digest.update(_likeness(index, message).encode())
        digests.append(digest.hexdigest())
    return digests


def _likeness(index: int, message: Any) -> str:
    """What two equal messages share: keys in any order, a key of nothing the same as none."""
    try:
        value = kept(message)
    except Unkeepable as reason:
        raise InvalidMessage(index, str(reason)) from None
    if isinstance(value, dict):
        value = {key: item for key, item in value.items() if item not in (None, "", [])}
    return f"{canonical(value)}\n"
