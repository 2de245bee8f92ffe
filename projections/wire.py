"""What a client of the runtime sees: entries with the artifacts delivered on them, never what is held."""

from typing import Any

from turnledger.domain.values import copied
from turnledger.projections.buffer import BufferView
from turnledger.projections.held import ArtifactsView


def wire(buffer: BufferView, artifacts: ArtifactsView) -> list[dict[str, Any]]:
    """Each entry with its number, time (ISO 8601) and turn, and `toolArtifacts` where there are some."""
    messages = []
    for entry in buffer.rows():
        message = {
            **copied(entry.stored),
            "entry": entry.number,
            "timestamp": entry.time,
            "turn_id": entry.turn_id,
        }
        if delivered := artifacts.on_entry(entry.number):
            message["toolArtifacts"] = delivered
        messages.append(message)
    return messages
