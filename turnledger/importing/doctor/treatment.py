"""One conversation examined and treated: what its provider would refuse, and the least that mends it.

The steps are those of normalization (MEM-5), and its own procedure decides about results: what is orphan,
doubled, unanswered or displaced there is so here. Beyond it, ids that are reused or unusable are given anew,
and nothing is made text.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from turnledger.importing.doctor import findings as kinds
from turnledger.importing.doctor.anatomy import Anatomy, Piece
from turnledger.importing.doctor.assembly import assembled, rebuilt
from turnledger.importing.doctor.findings import Finding, Path, quoted
from turnledger.importing.doctor.identities import Identities
from turnledger.importing.doctor.pairing import Body, paired, turns_of
from turnledger.importing.doctor.patching import Origins
from turnledger.projections.providers.naming import fitting_name

Place = Callable[[int, Path], str]
"""Where a piece of the message of an index stands, in words."""


@dataclass(slots=True)
class Treated:
    """The messages that the provider takes, the system prompt to stand beside them, and what was found.

    `moved` are the indexes of the messages of which something stands elsewhere now.
    """

    messages: list[Any]
    beside: list[Any] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    moved: set[int] = field(default_factory=set)


class Treatment:
    """The treatment of one list of messages; `apart` says that the file has a place for a system prompt."""

    def __init__(self, anatomy: Anatomy, origins: Origins, place: Place, *, apart: bool) -> None:
        self._anatomy = anatomy
        self._rules = anatomy.rules
        self._origins = origins
        self._place = place
        self._apart = apart and anatomy.rules.beside is not None
        self._found: list[tuple[int, Finding]] = []

    def of(self, messages: Sequence[Any]) -> Treated:
        bodies = [body for index, message in enumerate(messages) for body in self._body(index, message)]
        self._index = {id(message): index for index, message in enumerate(messages)}
        bodies = [body for body in bodies if self._says_something(body)]
        spoken = [body for body in bodies if body.side != "system"]
        identities = Identities(turns_of(spoken, self._rules), self._rules)
        self._tell_ids(identities)
        spoken = self._without_repeated(spoken, identities)
        for body in bodies:
            self._mend(body)
        placed = paired(spoken, self._anatomy, self._find)
        said = assembled(placed, spoken, self._anatomy, self._origins)
        systems, beside = self._systems(bodies, first=spoken[0].index if spoken else len(messages))
        said = self._ended(self._opened(said))
        found = [finding for _, finding in sorted(self._found, key=lambda one: one[0])]
        moved = {piece.was for piece in placed if piece.was is not None}
        return Treated([*systems, *said], beside, found, moved)

    def _find(self, kind: str, where: Piece | tuple[int, Path], reason: str, remedy: str) -> None:
        """Adds a finding, with the words of the one who refuses it where they are known."""
        index, path = where if isinstance(where, tuple) else (where.home or 0, where.path)
        words = self._rules.words.get(kind)
        said = f"{reason} ({words})" if words else reason
        call_id = where.call_id if isinstance(where, Piece) and isinstance(where.call_id, str) else None
        self._found.append((index, Finding(kind, self._place(index, path), said, remedy, call_id)))

    def _body(self, index: int, message: Any) -> list[Body]:
        """The message with its pieces; none for what is no message."""
        if not isinstance(message, dict):
            self._find(kinds.NO_MESSAGE, (index, ()), "it is no map, so no message", "left out")
            return []
        role = message.get("role")
        side = self._anatomy.side(message)
        if side is None and not (isinstance(role, str) and role.strip()):
            self._find(kinds.NO_MESSAGE, (index, ()), "it has no role, so nobody says it", "left out")
            return []
        if side is None:
            self._find(
                kinds.NO_MESSAGE,
                (index, ("role",)),
                f"nobody has the role {quoted(role)}",
                "the role is user",
            )
            message = self._origins.note(self._anatomy.with_role(message), message)
        change = self._anatomy.framed(message)
        if change:
            self._find(kinds.EMPTY, (index, ()), change[0], change[1])
            message = self._origins.note(change[2], message)
        pieces = self._anatomy.pieces(message)
        for piece in pieces:
            piece.home = index
        return [Body(index, self._anatomy.side(message) or "user", message, pieces)]

    def _says_something(self, body: Body) -> bool:
        """Drops texts that say nothing, and calls that are not the assistant's; False for a message that
        says nothing else."""
        for piece in body.pieces:
            if piece.kind == "call" and body.side != "assistant":
                self._find(
                    kinds.STRAY_CALL,
                    piece,
                    "a call stands in a message that is not the assistant's",
                    "left out",
                )
        body.pieces = [one for one in body.pieces if one.kind != "call" or body.side == "assistant"]
        left = [piece for piece in body.pieces if not piece.blank]
        if not left:
            self._find(kinds.EMPTY, (body.index, ()), "the message says nothing", "left out")
            return False
        for piece in body.pieces:
            if piece.blank:
                self._find(kinds.EMPTY, piece, "the text is blank", "left out")
        body.pieces = left
        return True

    def _tell_ids(self, identities: Identities) -> None:
        for piece, kind, reason in identities.changed:
            who = "the call and its result have" if piece.kind == "call" else "it has"
            self._find(kind, piece, reason, f"{who} the id {quoted(piece.now)}")
        for piece in identities.repeated:
            reason = f"the same call with the id {quoted(piece.call_id)} stands there before"
            self._find(kinds.REPEATED_CALL, piece, reason, "left out")

    def _without_repeated(self, bodies: list[Body], identities: Identities) -> list[Body]:
        repeated = {id(piece) for piece in identities.repeated}
        for body in bodies:
            body.pieces = [piece for piece in body.pieces if id(piece) not in repeated]
        return [body for body in bodies if body.pieces]

    def _mend(self, body: Body) -> None:
        """Pieces that are refused for what they hold, and those that get another id."""
        for piece in body.pieces:
            before = piece.raw
            if piece.kind == "call":
                self._mend_name(piece)
            change = self._anatomy.mended(piece)
            if change:
                kind = kinds.UNUSABLE_ARGUMENTS if piece.kind == "call" else kinds.EMPTY
                self._find(kind, piece, change[0], change[1])
                piece.raw = change[2]
            if piece.needs_id and piece.now is not None and piece.now != piece.call_id:
                piece.raw = self._anatomy.with_id(piece, piece.now)
            self._origins.note(piece.raw, before)

    def _mend_name(self, piece: Piece) -> None:
        name = piece.name if isinstance(piece.name, str) and piece.name.strip() else "unknown"
        fitting = fitting_name(name, self._rules.name_others, self._rules.name_longest)
        if fitting != piece.name:
            reason = f"the name {quoted(piece.name)} has characters or a length that is not taken"
            self._find(kinds.UNUSABLE_NAME, piece, reason, f"the name is {quoted(fitting)}")
            piece.raw = self._anatomy.with_name(piece, fitting)

    def _systems(self, bodies: Sequence[Body], first: int) -> tuple[list[Any], list[Any]]:
        """System messages: in front of the list, and what of them goes beside it."""
        in_front, beside = [], []
        for body in bodies:
            if body.side != "system":
                continue
            message = rebuilt(body, body.pieces, self._anatomy, self._origins)
            if self._apart:
                reason = "the system prompt is no message"
                self._find(
                    kinds.SYSTEM,
                    (body.index, ()),
                    reason,
                    f"moved to {self._rules.beside!r}, beside the messages",
                )
                beside.append(message)
                continue
            if body.index > first:
                reason = "a system message stands behind another one"
                self._find(kinds.SYSTEM, (body.index, ()), reason, "moved to the front")
            in_front.append(message)
        return in_front, beside

    def _opened(self, messages: list[Any]) -> list[Any]:
        """A user's message before an assistant that speaks first, where that is refused."""
        if not messages or not self._rules.user_first or self._anatomy.side(messages[0]) != "assistant":
            return messages
        self._find(kinds.LEADING, (0, ()), "the assistant speaks first", "a user's message stands before it")
        return [self._anatomy.opening(messages[0]), *messages]

    def _ended(self, messages: list[Any]) -> list[Any]:
        last: Mapping[str, Any] | None = messages[-1] if messages else None
        change = (
            self._anatomy.ended(messages[-1]) if last and self._anatomy.side(last) == "assistant" else None
        )
        if not change:
            return messages
        index = self._index.get(id(self._origins.of(messages[-1])), 0)
        self._find(kinds.ENDING, (index, ()), change[0], change[1])
        rest = messages[:-1]
        return self._ended([*rest, self._origins.note(change[2], messages[-1])] if change[2] else rest)
