"""What an event changed, in sentences: the buffer, what is held, what a model is sent.

The numbers are those of `history`; what the event itself says is for `timeline`.
"""

from turnledger.projections.history import BufferChange, HeldChange, HistoryRow, SendableChange
from turnledger.projections.legible import counted
from turnledger.projections.timeline import entries_named


def consequences(row: HistoryRow) -> tuple[str, str, str]:
    """A sentence each about the buffer, the held list and the sendable list; "" where nothing changed.

    That a sendable list stays is worth a sentence too: it is what a prompt cache depends on.
    """
    return _buffer(row.buffer), _held(row.held), _sendable(row.sendable)


def _buffer(change: BufferChange) -> str:
    parts = [
        (change.added, "added" if not change.moved else "inserted"),
        (change.moved, "moved back"),
        (change.replaced, "now holds the real result"),
        (change.evicted, "left"),
        (change.retracted, "left for good"),
    ]
    told = [f"{entries_named(numbers)} {what}" for numbers, what in parts if numbers]
    return f"{_capital('; '.join(told))}." if told else ""


def _held(change: HeldChange) -> str:
    parts = [(change.added, "joined"), (change.removed, "left")]
    told = [f"{counted(len(ids), 'artifact')} {what}" for ids, what in parts if ids]
    return f"{_capital('; '.join(told))} the held list." if told else ""


def _sendable(change: SendableChange) -> str:
    length = counted(change.length, "message")
    if not change:
        return f"The same {length}." if change.length else ""
    if change.appends_only:
        return f"{change.added} more at the end, {length} now: a prompt cache still matches."
    gone = f"{change.removed} gone, " if change.removed else ""
    return (
        f"Changed from position {change.first_changed} on ({gone}{change.added} new), {length} now: a prompt "
        f"cache matches up to there."
    )


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
