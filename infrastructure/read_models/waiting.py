"""In which conversations something waits, as the tables know it: each kind found by an index.

A conversation that is damaged may hide something, and is named with the others.
"""

import sqlite3
from collections.abc import Collection, Mapping
from typing import Literal

from turnledger.domain.errors import InvalidArgument

Waiting = Literal["call", "placeholder", "held", "take"]

_WAITING: Mapping[Waiting, str] = {
    "call": "SELECT conversation_id FROM calls WHERE state = 'open'",
    "placeholder": "SELECT conversation_id FROM entries WHERE state = 'placeholder'",
    "held": "SELECT conversation_id FROM artifacts WHERE place = 'held'",
    "take": "SELECT conversation_id FROM takes WHERE state = 'open'",
}
_DAMAGED = "SELECT conversation_id FROM conversations WHERE damaged IS NOT NULL"


def waiting(connection: sqlite3.Connection, kinds: Collection[Waiting]) -> list[str]:
    """The ids of conversations in which something of these kinds may wait, of any where none is given."""
    if unknown := set(kinds) - set(_WAITING):
        raise InvalidArgument(f"what waits is one of {', '.join(_WAITING)}, not {unknown.pop()!r}")
    statements = [_WAITING[kind] for kind in kinds or _WAITING]
    found = connection.execute(" UNION ".join([*statements, _DAMAGED]) + " ORDER BY conversation_id")
    return [row[0] for row in found]
