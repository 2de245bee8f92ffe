"""Every entry that a log knows, with its contents, those that left the buffer too: what a fork carries."""

from collections.abc import Collection
from datetime import datetime

from turnledger.domain.events import CarriedEntry, ConversationForked, DomainEvent, EntriesEvicted
from turnledger.projections.buffer import BufferView


class PastView(BufferView):
    """A buffer that nothing leaves."""

    def apply(self, event: DomainEvent) -> None:
        match event:
            case EntriesEvicted():
                self.version = event.version
            case ConversationForked():
                self.version = event.version
                self._carry(event.version, event.entries)
                self._order = [entry.entry for entry in event.entries]
            case _:
                super().apply(event)

    def carried(self, numbers: Collection[int], summaries: Collection[int]) -> list[CarriedEntry]:
        """These entries, by number, as an event of a fork has them."""
        return [
            CarriedEntry(
                entry=row.number,
                time=datetime.fromisoformat(row.time),
                turn_id=row.turn_id,
                execution_id=row.execution_id,
                role=row.role,
                content=row.content,
                metadata=row.metadata,
                summary=row.number in summaries,
            )
            for row in sorted(self.rows(), key=lambda row: row.number)
            if row.number in numbers
        ]
