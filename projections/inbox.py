"""The operator's inbox: what waits in a conversation for somebody or something, each since when.

Calls without an answer, placeholders that no real result has replaced, artifacts held, takes that nothing
settled. What to do about one is for the operator; who asks says what time it is now.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from turnledger.domain.delivering import Take
from turnledger.domain.messages import call_id, declared_by, id_of_call, name_of_call
from turnledger.projections.buffer import Row
from turnledger.projections.held import ArtifactsView

Kind = Literal["call", "placeholder", "held", "take"]


@dataclass(frozen=True, slots=True)
class InboxItem:
    """One thing that waits.

    `kind` says what `id` is: a call ("call", "placeholder"), an artifact ("held") or a take ("take"); `name`
    is the call's name, the artifact's type, or the types in the take. `entry` is the turn that declared the
    call, or the placeholder itself. `since` is the time of the event that made it, `age` how long ago.
    """

    kind: Kind
    conversation_id: str
    id: str
    name: str
    entry: int | None
    execution_id: str | None
    turn_id: str | None
    since: datetime
    age: timedelta


@dataclass(frozen=True, slots=True)
class Inbox:
    """Makes the items of one conversation, at one time."""

    conversation_id: str
    now: datetime

    def calls(self, rows: Sequence[Row]) -> list[InboxItem]:
        """Calls of the buffer that nothing in it answers, and placeholders, in the order of the buffer."""
        answers = {answered: row for row in rows if (answered := _answered(row))}
        found: dict[str, InboxItem] = {}
        for row in rows:
            for call in declared_by(row.role, row.metadata):
                declared = id_of_call(call)
                answer = answers.get(declared) if declared else None
                if declared is None or (answer is not None and not _is_placeholder(answer)):
                    continue
                kind: Kind = "call" if answer is None else "placeholder"
                item = self._item(kind, declared, name_of_call(call), answer or row)
                found.setdefault(declared, item)
        return list(found.values())

    def _item(self, kind: Kind, found: str, name: str, row: Row) -> InboxItem:
        since = datetime.fromisoformat(row.time)
        return self._made(kind, found, name, row.number, row.execution_id, row.turn_id, since)

    def _made(
        self,
        kind: Kind,
        found: str,
        name: str,
        entry: int | None,
        execution_id: str | None,
        turn_id: str | None,
        since: datetime,
    ) -> InboxItem:
        age = max(self.now - since, timedelta(0))  # a clock may have gone back since
        return InboxItem(kind, self.conversation_id, found, name, entry, execution_id, turn_id, since, age)

    def artifacts(self, view: ArtifactsView) -> list[InboxItem]:
        """What is held, and the open takes."""
        held = [
            self._made("held", h.artifact_id, h.type, None, h.execution_id, h.turn_id, since)
            for h, since in view.held_since()
        ]
        return held + [self._take(take) for take in view.open_takes(self.conversation_id)]

    def _take(self, take: Take) -> InboxItem:
        types = ", ".join(dict.fromkeys(artifact["type"] for artifact in take.artifacts))
        return self._made("take", take.take_id or "", types, None, take.execution_id, None, take.taken_at)


def oldest_first(items: Iterable[InboxItem]) -> list[InboxItem]:
    return sorted(items, key=lambda item: item.since)


def _answered(row: Row) -> str | None:
    return call_id(row.metadata.get("tool_call_id")) if row.role == "tool" else None


def _is_placeholder(row: Row) -> bool:
    return row.metadata.get("healed") is True
