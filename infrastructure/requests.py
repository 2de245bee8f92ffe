"""What was sent to models: recorded as a digest of the very list, rebuilt and checked when it is asked for.

The log keeps no list: one that kept each would grow with the square of its length. A list is rebuilt from the
events up to the version that it was made of. Where a later release renders it in another way its rendering
has another number: then it may read differently, and that is no damage.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any

from turnledger.domain.changes import Changes
from turnledger.domain.errors import ConversationNotFound, CorruptEvent, InvalidArgument, RequestNotFound
from turnledger.domain.events import RequestRecorded
from turnledger.domain.values import scrubbed
from turnledger.infrastructure.application import ConversationApplication
from turnledger.infrastructure.commands import Command
from turnledger.infrastructure.log import Deadline
from turnledger.projections.media import in_json
from turnledger.projections.providers import RENDERINGS
from turnledger.projections.sendable import Sendable

MODEL_CHARACTERS_MAX = 1_024


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """One recorded request: its `number` in the conversation, from 1, and what its event says.

    `version` is that of its event, `of_version` the version whose list was sent, `messages` the length of
    that list, `digest` its SHA-256, `rendering` the number of the rendering that made it.
    """

    number: int
    version: int
    of_version: int
    time: datetime
    provider: str | None
    model: str | None
    execution_id: str | None
    turn_id: str | None
    messages: int
    rendering: int
    digest: str


@dataclass(frozen=True, slots=True)
class RebuiltRequest:
    """What a model saw, rebuilt from the log: `messages`, and with a provider the whole `request`.

    `rendered_differently` says that this release renders the same events in another way than the one that
    recorded the request: the list is not to the letter what was sent. Otherwise it is.
    """

    recorded: RecordedRequest
    messages: list[dict[str, Any]]
    request: dict[str, Any] | None
    rendered_differently: bool = False


class _StaleError(Exception):
    """The buffer has changed since the list was made."""


def digest_of_sent(sent: Any) -> str:
    """The SHA-256 of a list or request as JSON, keys in order, bytes as base64 text."""
    text = json.dumps(sent, ensure_ascii=False, sort_keys=True, separators=(",", ":"), default=in_json)
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _sent(sendable: Sendable) -> Any:
    return sendable.messages if sendable.request is None else sendable.request


def checked_model(value: Any) -> str | None:
    """A model's name. Raises `InvalidArgument` for what is no text, is blank or too long."""
    if value is None:
        return None
    if not isinstance(value, str) or not value.strip() or len(value) > MODEL_CHARACTERS_MAX:
        raise InvalidArgument(f"model must be a name of 1 to {MODEL_CHARACTERS_MAX:,} characters")
    return scrubbed(value)


def record(
    application: ConversationApplication,
    command: Command,
    render: Callable[[], Sendable],
    provider: str | None,
    model: str | None,
    expected_version: int | None,
) -> RecordedRequest:
    """Records the list as `render` makes it, and makes it anew where another writer came in between."""
    deadline = Deadline(application.location.timeout_s)
    number: list[int] = []
    while True:
        sendable = render()
        digest = digest_of_sent(_sent(sendable))

        def decide(changes: Changes, sendable: Sendable = sendable, digest: str = digest) -> None:
            if changes.now.buffer_version > sendable.version:
                raise _StaleError
            number[:] = [changes.now.requests + 1]
            changes.record(
                RequestRecorded,
                of_version=changes.version,
                provider=provider,
                model=model,
                rendering=RENDERINGS[provider],
                digest=digest,
                messages=len(sendable.messages),
            )

        try:
            changes = command.run(decide, expected_version=expected_version, must_exist=True)
        except _StaleError:
            deadline.pause(application.location.place)
            continue
        event = next(event for event in changes.events if isinstance(event, RequestRecorded))
        return _as_recorded(number[0], event)


def recorded_requests(application: ConversationApplication, conversation_id: str) -> list[RecordedRequest]:
    """All requests of a conversation. Raises `ConversationNotFound`, and `CorruptEvent` for a damaged one."""
    with application.read_log() as log:
        rows = log.rows_of(conversation_id, RequestRecorded.TOPIC)
        if not rows and not log.version(conversation_id):
            raise ConversationNotFound(f"there is no conversation {conversation_id!r}")
    events = (application.mapper.decoded(row) for row in rows)
    found = (event for event in events if isinstance(event, RequestRecorded))
    return [_as_recorded(number, event) for number, event in enumerate(found, start=1)]


def _as_recorded(number: int, event: RequestRecorded) -> RecordedRequest:
    return RecordedRequest(
        number,
        event.version,
        event.of_version,
        event.time,
        event.provider,
        event.model,
        event.execution_id,
        event.turn_id,
        event.messages,
        event.rendering,
        event.digest,
    )


def numbered(requests: list[RecordedRequest], conversation_id: str, number: Any) -> RecordedRequest:
    """The request of that number. Raises `RequestNotFound`."""
    if not isinstance(number, int) or isinstance(number, bool) or not 1 <= number <= len(requests):
        known = f"give a number of 1 to {len(requests)}" if requests else "none was recorded"
        raise RequestNotFound(f"conversation {conversation_id!r} has no request {number!r}: {known}")
    return requests[number - 1]


def rebuilt(conversation_id: str, recorded: RecordedRequest, sendable: Sendable) -> RebuiltRequest:
    """The request as it was sent. Raises `CorruptEvent` where the log no longer gives the list that was."""
    differs = digest_of_sent(_sent(sendable)) != recorded.digest
    if differs and recorded.rendering == RENDERINGS.get(recorded.provider):
        raise CorruptEvent(
            conversation_id,
            recorded.version,
            f"the list rebuilt for request {recorded.number}, of version {recorded.of_version}, is not the "
            "one that was sent",
        )
    return RebuiltRequest(recorded, sendable.messages, sendable.request, differs)
