"""Which call each result answers, and one id for each call: as an import of the whole transcript reads it.

An id that is declared again for another call is a new call's (`reused_ids="distinct"`), so nothing of it is
lost; a call that is only written twice is dropped. What a result answers is decided in the order in which
calls and results stand.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from turnledger.domain.calls import arguments_text
from turnledger.domain.messages import call_id
from turnledger.domain.pairing import Call, Item
from turnledger.importing.doctor import findings as kinds
from turnledger.importing.doctor.anatomy import Piece, Rules
from turnledger.projections.providers.naming import call_ids

Turns = Sequence[tuple[int, Piece]]
"""Pieces in order, each with the number of the turn that it stands in."""


@dataclass(slots=True, eq=False)
class _Declared:
    piece: Piece
    turn: int
    answered: bool = False


class Identities:
    """Gives each call and each result its `now`; holds the calls that are only written twice, and of those
    whose id changes the kind of finding and the reason."""

    def __init__(self, turns: Turns, rules: Rules) -> None:
        self.repeated: set[Piece] = set()
        self.changed: list[tuple[Piece, str, str]] = []
        self._bearing: dict[str, list[_Declared]] = {}
        self._open: dict[Piece, _Declared] = {}
        self._attempts: Counter[str] = Counter()
        self._calls: list[Piece] = []
        self._taken = {used for _, piece in turns if (used := call_id(piece.call_id))}
        self._spare = _declared_more_often_than_answered(turns)
        early = [piece for turn, piece in turns if not self._take(piece, turn)]
        for piece in early:
            self._answer_late(piece)
        self._fit(turns, rules)

    def _take(self, piece: Piece, turn: int) -> bool:
        """One piece; False for a result whose call may yet come."""
        if piece.kind == "call":
            self._declare(piece, turn)
        elif piece.kind == "result":
            return self._answer(piece)
        return True

    def _declare(self, piece: Piece, turn: int) -> None:
        given = call_id(piece.call_id)
        before = self._bearing.get(given, []) if given else []
        if self._spare[given] and any(not one.answered and _equal(one.piece, piece) for one in before):
            self._spare[given] -= 1
            self.repeated.add(piece)
            return
        if given is None:
            piece.now = self._fresh(f"call_{piece.home}_{len(self._calls)}")
            self._changes(piece, _kind_of(piece), "the call has no usable id")
        elif before:
            piece.now = self._fresh(given)
            self._changes(piece, kinds.REUSED_ID, f"an earlier call has the id {kinds.quoted(given)}, too")
        else:
            piece.now = given
            if piece.call_id != given:
                self._changes(
                    piece, kinds.UNUSABLE_ID, f"the id {kinds.quoted(piece.call_id)} is no plain text"
                )
        declared = _Declared(piece, turn)
        self._calls.append(piece)
        self._open[piece] = declared
        if given:
            self._bearing.setdefault(given, []).append(declared)

    def _changes(self, piece: Piece, kind: str, reason: str) -> None:
        if piece.needs_id:
            self.changed.append((piece, kind, reason))

    def _fresh(self, wanted: str) -> str:
        """An id that nothing uses: as wanted, else with `-2`, `-3`, and so on."""
        fresh = wanted
        while fresh in self._taken:
            self._attempts[wanted] += 1
            fresh = f"{wanted}-{self._attempts[wanted] + 1}"
        self._taken.add(fresh)
        return fresh

    def _answer(self, piece: Piece) -> bool:
        """Whether the call that a result answers, if any does, stands before it."""
        given = call_id(piece.call_id)
        if given is None:
            akin = (one for one in reversed(self._open.values()) if _akin(one, piece) and _named(one, piece))
            latest = _latest_turn(akin)
            idless = [one for one in latest if call_id(one.piece.call_id) is None]
            self._pair(piece, next(reversed(idless or latest), None))
            return True
        bearing = self._bearing.get(given)
        if bearing is None:
            return False
        last = next((one for one in reversed(bearing) if _akin(one, piece)), None)
        if last is None:
            piece.now = None  # its call is of another kind
            return True
        unanswered = (one for one in reversed(bearing) if not one.answered and _akin(one, piece))
        self._pair(piece, next(reversed(_latest_turn(unanswered)), last))
        return True

    def _answer_late(self, piece: Piece) -> None:
        """A result that stands before its call."""
        given = call_id(piece.call_id)
        bearing = [one for one in self._bearing.get(str(given), []) if _akin(one, piece)]
        owner = next((one for one in bearing if not one.answered), bearing[0] if bearing else None)
        piece.now = given if owner or given not in self._bearing else None
        self._pair(piece, owner)

    def _pair(self, result: Piece, call: _Declared | None) -> None:
        if call is None:
            return
        result.now = call.piece.now
        if not call.answered:
            call.answered = True
            del self._open[call.piece]

    def _fit(self, turns: Turns, rules: Rules) -> None:
        """Ids in the provider's alphabet and length, as a rendering for it makes them."""
        items = [Item(0, "assistant", "", "", calls=[Call(str(call.now), "", None)]) for call in self._calls]
        sent = call_ids(items, rules.id_pattern, rules.id_shaped)
        told = {id(piece) for piece, _, _ in self.changed}
        for call in self._calls:
            if sent[str(call.now)] != call.now and id(call) not in told:
                reason = f"the id {kinds.quoted(call.now)} has characters or a length that is not taken"
                self._changes(call, kinds.UNUSABLE_ID, reason)
        quiet = sent.keys() - {str(piece.now) for piece, _, _ in self.changed}
        for _, piece in turns:
            if piece.kind == "result" and piece.now != piece.call_id and piece.now in quiet:
                kind = _kind_of(piece)
                named = "no call" if kind == kinds.MISSING_ID else f"its call {kinds.quoted(piece.call_id)}"
                self._changes(piece, kind, f"the result names {named}")
            if piece.now is not None:
                piece.now = sent.get(piece.now, piece.now)


def _kind_of(piece: Piece) -> str:
    """The finding for an id that is none."""
    return kinds.MISSING_ID if piece.call_id in (None, "") else kinds.UNUSABLE_ID


def _declared_more_often_than_answered(turns: Turns) -> Counter[str | None]:
    """By id, how many of its declarations can be mere repetitions: those for which there is no result."""
    ids = Counter(call_id(piece.call_id) for _, piece in turns if piece.kind == "call")
    answers = Counter(call_id(piece.call_id) for _, piece in turns if piece.kind == "result")
    return Counter({given: max(ids[given] - max(answers[given], 1), 0) for given in ids if given})


def _latest_turn(declared: Iterable[_Declared]) -> list[_Declared]:
    """Those of the latest turn; they are given, and stay, from the last one on."""
    found: list[_Declared] = []
    for one in declared:
        if found and one.turn != found[0].turn:
            break
        found.append(one)
    return found


def _akin(declared: _Declared, result: Piece) -> bool:
    return declared.piece.family == result.family


def _named(declared: _Declared, result: Piece) -> bool:
    return result.name in (None, declared.piece.name)


def _equal(one: Piece, other: Piece) -> bool:
    return one.name == other.name and arguments_text(one.arguments) == arguments_text(other.arguments)
