"""What there is in a store, counted from its read models."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sqlite_utils import Database


TOOLS_MAX = 20


@dataclass(frozen=True, slots=True)
class Statistics:
    """Counts over all conversations: entries and calls by their state, entries by role, artifacts by place,
    takes by state, records by kind (those that no clearing hides); `tools` are the slowest, as the view
    `slowest_tools` has them."""

    conversations: int
    forks: int
    damaged: int
    events: int
    bytes: int
    first_at: datetime | None
    last_at: datetime | None
    entries: Mapping[str, int]
    roles: Mapping[str, int]
    calls: Mapping[str, int]
    healed_conversations: int
    heals: int
    artifacts: Mapping[str, int]
    takes: Mapping[str, int]
    executions: int
    requests: int
    records: Mapping[str, int]
    tools: tuple[Mapping[str, Any], ...]


def statistics(database: "Database") -> Statistics:
    """Counts everything, as of one moment."""
    with database.atomic():
        return _statistics(database)


def _statistics(database: "Database") -> Statistics:
    one = database.conn.execute(
        "SELECT COUNT(*), COUNT(forked_from), COUNT(damaged), MIN(started_at), MAX(updated_at),"
        " COALESCE(SUM(heals > 0), 0), COALESCE(SUM(heals), 0) FROM conversations"
    ).fetchone()
    conversations, forks, damaged, first_at, last_at, healed, heals = one
    events, size = database.conn.execute("SELECT COUNT(*), COALESCE(SUM(bytes), 0) FROM events").fetchone()
    return Statistics(
        conversations=conversations,
        forks=forks,
        damaged=damaged,
        events=events,
        bytes=size,
        first_at=datetime.fromisoformat(first_at) if first_at else None,
        last_at=datetime.fromisoformat(last_at) if last_at else None,
        entries=_by(database, "entries", "state"),
        roles=_by(database, "entries", "role"),
        calls=_by(database, "calls", "state"),
        healed_conversations=healed,
        heals=heals,
        artifacts=_by(database, "artifacts", "place"),
        takes=_by(database, "takes", "state"),
        executions=database.table("executions").count,
        requests=database.table("requests").count,
        records=_by(database, "records WHERE cleared_version IS NULL", "kind"),
        tools=tuple(database.query(f"SELECT * FROM slowest_tools LIMIT {TOOLS_MAX}")),
    )


def _by(database: "Database", table: str, column: str) -> dict[str, int]:
    found = database.conn.execute(f"SELECT {column}, COUNT(*) FROM {table} GROUP BY 1 ORDER BY 2 DESC, 1")
    return dict(found.fetchall())
