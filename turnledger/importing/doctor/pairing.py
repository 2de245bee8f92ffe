"""Calls and results of a conversation in any format, decided by the procedure of normalization (MEM-5)."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from turnledger.domain.messages import PLACEHOLDER_TEXT
from turnledger.domain.pairing import DOUBLED_RESULT, Call, Drop, Item, adjacent, repaired
from turnledger.importing.doctor import findings as kinds
from turnledger.importing.doctor.anatomy import Anatomy, Piece, Rules, Side
from turnledger.importing.doctor.findings import quoted
from turnledger.importing.doctor.patching import Origins

Find = Callable[[str, Piece, str, str], None]


@dataclass(slots=True, eq=False)
class Body:
    """A message, by its index, with the pieces that are left of it; `given` are those that it held, raw."""

    index: int
    side: Side
    message: dict[str, Any]
    pieces: list[Piece]
    given: list[Any] = field(init=False)

    def __post_init__(self) -> None:
        self.given = [piece.raw for piece in self.pieces]


def turns_of(bodies: Iterable[Body], rules: Rules) -> list[tuple[int, Piece]]:
    """The pieces in order, with the number of their turn: the assistant's messages in a row may be one."""
    found: list[tuple[int, Piece]] = []
    number, before = 0, ""
    for body in bodies:
        number += not (rules.merges and body.side == before == "assistant")
        before = body.side
        found += [(number, piece) for piece in body.pieces]
    return found


class _Items:
    """The pieces as items of the repair, each item with its pieces."""

    def __init__(self, bodies: Sequence[Body], rules: Rules) -> None:
        self.items: list[Item] = []
        self.pieces: list[list[Piece]] = []
        self.misplaced: set[int] = set()
        self._merges = rules.merges
        for body in bodies:
            self._take(body)

    def _take(self, body: Body) -> None:
        for piece in body.pieces:
            if piece.kind == "result" and body.side != "assistant":
                self._add("tool", piece)
            elif piece.kind != "result":
                if body.side == "tool" and self.pieces:
                    self.pieces[-1].append(piece)  # what stands beside results goes with them
                else:
                    self._say(body, piece)
        for piece in body.pieces:  # a result inside the assistant's own message stands in a wrong one
            if piece.kind == "result" and body.side == "assistant":
                self.misplaced.add(self._add("tool", piece).index)

    def _say(self, body: Body, piece: Piece) -> None:
        last = self.items[-1] if self.items else None
        goes_on = (
            last is not None
            and last.role == body.side
            and (self._merges or self.pieces[-1][-1].home == body.index)
        )
        if not goes_on or last is None:
            last = self._add("user" if body.side == "tool" else body.side, None)
        self.pieces[-1].append(piece)
        if piece.kind == "call":
            last.calls.append(Call(str(piece.now), "", None))

    def _add(self, role: str, piece: Piece | None) -> Item:
        item = Item(len(self.items), role, "", "-")
        if piece:
            item.call_id = piece.now
            item.healed = piece.text == PLACEHOLDER_TEXT
        self.items.append(item)
        self.pieces.append([piece] if piece else [])
        return item


def paired(bodies: Sequence[Body], anatomy: Anatomy, find: Find, origins: Origins) -> list[Piece]:
    """The pieces in the order in which the provider takes them; what moved, or is new, has no home."""
    table = _Items(bodies, anatomy.rules)
    calls = {call.now: call for body in bodies for call in body.pieces if call.kind == "call"}
    drops: list[Drop] = []
    items = repaired(table.items, drops)
    for drop in drops:
        _tell_drop(drop, table.pieces[drop.index][0], find)
    known = {id(item) for item in table.items}
    for moved in _displaced(items, table.misplaced):
        piece = table.pieces[moved.index][0]
        reason = f"the result of {quoted(piece.now)} does not stand right behind the turn that made the call"
        find(kinds.DISPLACED, piece, reason, "moved behind that turn")
        piece.home, piece.was = None, piece.home
    placed: list[Piece] = []
    for item in adjacent(items):
        if id(item) in known:
            placed += table.pieces[item.index]
        else:
            placed.append(_stand_in(calls[item.call_id], anatomy, find))
    if anatomy.rules.in_order:
        placed = _in_order_of_calls(placed, find)
    for piece in placed:
        change = anatomy.matched(piece, calls[piece.now]) if piece.kind == "result" else None
        if change:
            find(change.kind, piece, change.reason, change.remedy)
            piece.raw = origins.note(change.raw, piece.raw)
    return placed


def _in_order_of_calls(placed: Sequence[Piece], find: Find) -> list[Piece]:
    """The results of a turn in the order of its calls."""
    order: dict[str | None, int] = {}
    found: list[Piece] = []
    for is_result, run in groupby(placed, key=lambda piece: piece.kind == "result"):
        pieces = list(run)
        if is_result:
            there = [piece for piece in pieces if piece.home is not None]
            pieces.sort(key=lambda piece: order[piece.now])
            for piece, other in zip([one for one in pieces if one.home is not None], there, strict=True):
                if piece is not other:
                    reason = f"the result of {quoted(piece.now)} does not stand in the order of the calls"
                    find(kinds.DISPLACED, piece, reason, "moved into that order")
                    piece.home, piece.was = None, piece.home
        order |= {piece.now: place for place, piece in enumerate(pieces) if piece.kind == "call"}
        found += pieces
    return found


def _tell_drop(drop: Drop, piece: Piece, find: Find) -> None:
    if drop.reason == DOUBLED_RESULT:
        find(kinds.DOUBLED, piece, f"the call {quoted(drop.call_id)} has another result", "left out")
    elif drop.call_id is None:
        find(kinds.ORPHAN, piece, "the result names no call, and none waits for one", "left out")
    else:
        find(kinds.ORPHAN, piece, f"no turn makes the call {quoted(drop.call_id)}", "left out")


def _displaced(items: Sequence[Item], misplaced: set[int]) -> list[Item]:
    """The results that do not stand in the run right behind their turn."""
    owner = {call.call_id: place for place, item in enumerate(items) for call in item.calls}
    moved, last_other = [], -1
    for place, item in enumerate(items):
        if item.role != "tool":
            last_other = place
        elif owner[str(item.call_id)] != last_other or item.index in misplaced:
            moved.append(item)
    return moved


def _stand_in(call: Piece, anatomy: Anatomy, find: Find) -> Piece:
    named = [quoted(call.now)] if call.needs_id else []
    named += [f"of {call.name}"] if isinstance(call.name, str) else []
    reason = f"the call {' '.join(named)} has no result"
    find(kinds.UNANSWERED, call, reason, "a result says that it was interrupted")
    return Piece("result", anatomy.placeholder(call, str(call.now)), (), call.now, now=call.now)
