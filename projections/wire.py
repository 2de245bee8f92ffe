"""What a client of the runtime sees: entries with the artifacts delivered on them, never what is held."""

from typing import Any

from turnledger.domain.values import copied_json
from turnledger.projections.buffer import BufferView, Row
from turnledger.projections.held import ArtifactsView


def wire(buffer: BufferView, artifacts: ArtifactsView) -> list[dict[str, Any]]:
    """Each entry with its number, time (ISO 8601) and turn, and `toolArtifacts` where there are some."""
    return [wire_message(row, artifacts) for row in buffer.rows()]


def wire_message(row: Row, artifacts: ArtifactsView) -> dict[str, Any]:
    """One entry as a client sees it."""
    message = {
        **copied_json(row.stored),
        "entry": row.number,
        "timestamp": row.time,
        "turn_id": row.turn_id,
    }
    if delivered := artifacts.on_entry(row.number):
        message["toolArtifacts"] = delivered
    return message
