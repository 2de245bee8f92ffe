"""What answers each call of a conversation now, for ecosystems that send what they kept themselves.

A result may come past them: healed by the store (MEM-3), or given by the core, as by a webhook, before the
user goes on or after. A fold of the log keeps where the answer stands, and not what it says.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from turnledger.domain.events import (
    CallHealed,
    DomainEvent,
    EntryRetracted,
    MessageAppended,
    PlaceholderReplaced,
    RecordKept,
)
from turnledger.projections.sendable import normalized_items

Answer = CallHealed | MessageAppended | PlaceholderReplaced


@dataclass(slots=True)
class Answers:
    """Of each call the version of the event that answers it now: of a record, where the ecosystem's own does.

    `healed` has the versions of the placeholders that the store made, `given` the calls that the core
    answered.
    """

    versions: dict[str, int] = field(default_factory=dict)
    healed: dict[str, int] = field(default_factory=dict)
    given: set[str] = field(default_factory=set)
    _calls: dict[int, str] = field(default_factory=dict)
    """Of each entry that is a result its call."""

    def told(self, event: DomainEvent) -> None:
        """Goes on by one event of the log."""
        if isinstance(event, EntryRetracted):
            self._retracted(event.entry)
        elif isinstance(event, Answer) and (call_id := answered_by(event)):
            self.versions[call_id] = event.version
            self._calls[event.entry] = call_id
            if isinstance(event, CallHealed):
                self.healed[call_id] = event.version
            else:
                self.given.add(call_id)

    def said(self, call_ids: Iterable[str], event: RecordKept) -> None:
        """Results of these calls are in a record: what was recorded in one call with it came by it."""
        for call_id in call_ids:
            if self.versions.get(call_id, 0) >= event.batch:
                self.versions[call_id] = event.version
                self.given.discard(call_id)

    def came_past(self, call_id: str) -> bool:
        """Whether the store or the core has answered the call, if only for a time."""
        return call_id in self.given or call_id in self.healed

    def _retracted(self, entry: int) -> None:
        call_id = self._calls.pop(entry, "")
        self.given.discard(call_id)
        self.versions.pop(call_id, None)
        if call_id in self.healed:  # it is open again, and what follows it stands
            self.versions[call_id] = self.healed[call_id]


def answered_by(event: Answer) -> str | None:
    """The call that an event answers."""
    if not isinstance(event, MessageAppended):
        return event.call_id
    return event.metadata.get("tool_call_id") if event.role == "tool" else None


def answer_in(provider: Any, event: Answer) -> Any:
    """What an event answers as a provider has it: the only block of a message."""
    call_id = answered_by(event)
    metadata = {} if isinstance(event, CallHealed) else event.metadata
    turn = {"role": "assistant", "content": "", "tool_calls": [{"tool_call_id": call_id, "name": "x"}]}
    result = {
        "role": "tool",
        "content": event.content,
        "metadata": {**metadata, "tool_call_id": call_id},
    }
    items, _ = normalized_items([turn, result])
    message: Mapping[str, Any] = provider.rendered(items)[0][-1]
    [block] = message.get("parts") or message["content"]
    return block
