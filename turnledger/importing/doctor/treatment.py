"""One conversation examined and treated: what its provider would refuse, and the least that mends it.

The steps are those of normalization (MEM-5), and its own procedure decides about results: what is orphan,
doubled, unanswered or displaced there is so here. Beyond it, ids that are reused or unusable are given anew,
and nothing is made text.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from turnledger.importing.doctor import findings as kinds
from turnledger.importing.doctor.anatomy import Anatomy, Change, Piece
from turnledger.importing.doctor.assembly import assembled, rebuilt
from turnledger.importing.doctor.findings import Finding, Path, quoted
from turnledger.importing.doctor.identities import Identities
from turnledger.importing.doctor.pairing import Body, paired, turns_of
from turnledger.importing.doctor.patching import Origins
from turnledger.importing.doctor.sequence import Sequel
from turnledger.projections.providers.naming import fitting_name

Place = Callable[[int, Path], str]
"""Where a piece of the message of an index stands, in words."""


@dataclass(slots=True)
class Treated:
    """The messages that the provider takes, and what was found.

    `beside` is a system prompt to stand beside the messages, with its key. `moved` are the indexes of the
    messages of which something stands elsewhere now.
    """

    messages: list[Any]
    beside: tuple[str, Any] | None = None
    findings: list[Finding] = field(default_factory=list)
    moved: set[int] = field(default_factory=set)


class Treatment:
    """The treatment of one list of messages; `holder` is the map that it stands in, if it stands in one."""

    def __init__(
        self, anatomy: Anatomy, origins: Origins, place: Place, holder: Mapping[str, Any] | None = None
    ) -> None:
        self._anatomy = anatomy
        self._rules = anatomy.rules
        self._origins = origins
        self._place = place
        self._holder = holder if anatomy.rules.beside else None
        self._found: list[tuple[int, Finding]] = []

    def of(self, messages: Sequence[Any]) -> Treated:
        gone = self._anatomy.gone(messages)
        for index, reason in gone.items():
            self._find(kinds.NO_MESSAGE, (index, ()), reason, "left out")
        left = [(index, message) for index, message in enumerate(messages) if index not in gone]
        bodies = [body for index, message in left for body in self._body(index, message)]
        bodies = [body for body in bodies if self._says_something(body)]
        spoken = [body for body in bodies if self._rules.system_anywhere or body.side != "system"]
        identities = Identities(turns_of(spoken, self._rules), self._rules)
        self._tell_ids(identities)
        spoken = self._without_repeated(spoken, identities)
        for body in bodies:
            self._mend(body)
        placed = paired(spoken, self._anatomy, self._find, self._origins)
        systems = [] if self._rules.system_anywhere else [one for one in bodies if one.side == "system"]
        beside, leading = self._systems(systems, first=spoken[0].index if spoken else len(messages))
        sequel = Sequel(self._anatomy, self._origins, messages, self._find)
        said = sequel.of(assembled(placed, spoken, self._anatomy, self._origins))
        found = [finding for _, finding in sorted(self._found, key=lambda one: one[0])]
        moved = {piece.was for piece in placed if piece.was is not None}
        return Treated([*leading, *said], beside, found, moved)

    def _find(self, kind: str, where: Piece | tuple[int, Path], reason: str, remedy: str) -> None:
        """Adds a finding, with the words of the one who refuses it where they are known."""
        index, path = where if isinstance(where, tuple) else (where.home or 0, where.path)
        words = self._rules.words.get(kind)
        said = f"{reason} ({words})" if words else reason
        call_id = where.call_id if isinstance(where, Piece) and isinstance(where.call_id, str) else None
        self._found.append((index, Finding(kind, self._place(index, path), said, remedy, call_id)))

    def _changed(self, where: Piece | tuple[int, Path], change: Change, old: Any) -> Any:
        """What a change makes of something, told."""
        self._find(change.kind, where, change.reason, change.remedy)
        return None if change.raw is None else self._origins.note(change.raw, old)

    def _body(self, index: int, message: Any) -> list[Body]:
        """The message with its pieces; none for what is no message."""
        side = self._anatomy.side(message) if isinstance(message, dict) else None
        if side is None:
            change = self._no_message(message)
            message = self._changed((index, ()), change, message)
        change_of_frame = self._anatomy.framed(message) if message is not None else None
        if change_of_frame:
            message = self._changed((index, ()), change_of_frame, message)
        if message is None:
            return []
        pieces = self._anatomy.pieces(message)
        for piece in pieces:
            piece.home = index
        return [Body(index, self._anatomy.side(message) or "user", message, pieces)]

    def _no_message(self, message: Any) -> Change:
        role = message.get("role") if isinstance(message, dict) else None
        if not isinstance(message, dict):
            return Change(kinds.NO_MESSAGE, "it is no map, so no message", "left out", None)
        if not isinstance(role, str) or not role.strip():
            return Change(kinds.NO_MESSAGE, "it has no role, so nobody says it", "left out", None)
        mended = self._anatomy.with_role(message)
        if self._anatomy.side(mended) is None:
            return Change(kinds.NO_MESSAGE, "it is no message of this format", "left out", None)
        return Change(kinds.NO_MESSAGE, f"nobody has the role {quoted(role)}", "the user says it", mended)

    def _says_something(self, body: Body) -> bool:
        """Drops texts that say nothing, and calls that are not the assistant's; False for a message that says
        nothing else."""
        stray = [one for one in body.pieces if one.kind == "call" and body.side != "assistant"]
        for piece in stray:
            self._find(kinds.STRAY_CALL, piece, "a call that is not the assistant's", "left out")
        left = [one for one in body.pieces if one not in stray and not one.blank]
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
        for body in bodies:
            body.pieces = [piece for piece in body.pieces if piece not in identities.repeated]
        return [body for body in bodies if body.pieces]

    def _mend(self, body: Body) -> None:
        """Pieces that are refused for what they hold, and those that get another id."""
        for piece in body.pieces:
            before = piece.raw
            if piece.kind == "call":
                self._mend_name(piece)
            change = self._anatomy.mended(piece)
            if change:
                piece.raw = self._changed(piece, change, piece.raw)
            if piece.needs_id and piece.now is not None and piece.now != piece.call_id:
                piece.raw = self._anatomy.with_id(piece, piece.now)
            self._origins.note(piece.raw, before)

    def _mend_name(self, piece: Piece) -> None:
        name = piece.name if isinstance(piece.name, str) and piece.name.strip() else "unknown"
        fitting = self._anatomy.named(fitting_name(name, self._rules.name_others, self._rules.name_longest))
        if fitting != piece.name:
            has_none = piece.name in (None, "")
            reason = (
                "the call names no function"
                if has_none
                else f"the name {quoted(piece.name)} has characters or a length that is not taken"
            )
            self._find(kinds.UNUSABLE_NAME, piece, reason, f"the name is {quoted(fitting)}")
            piece.raw, piece.name = self._anatomy.with_name(piece, fitting), fitting

    def _systems(
        self, bodies: Sequence[Body], first: int
    ) -> tuple[tuple[str, Any] | None, list[dict[str, Any]]]:
        """The system prompt beside the messages, or the system messages in front of them."""
        messages = [rebuilt(body, body.pieces, self._anatomy, self._origins) for body in bodies]
        if self._holder is not None and messages:
            key = next((one for one in self._rules.beside if one in self._holder), self._rules.beside[0])
            for body in bodies:
                reason, remedy = "the system prompt is no message", f"moved to {key!r}, beside the messages"
                self._find(kinds.SYSTEM, (body.index, ()), reason, remedy)
            return (key, self._anatomy.prompted(self._holder.get(key), messages)), []
        for body in bodies:
            if body.index > first:
                self._tell_late_system(body)
        return None, messages

    def _tell_late_system(self, body: Body) -> None:
        """A system message behind others, in a list that has no place for a system prompt beside it."""
        if not self._rules.beside:
            reason = "a system message stands behind messages of others"
            self._find(kinds.SYSTEM, (body.index, ()), reason, "moved to the front")
            return
        reason = (
            "a system message stands behind messages of others; a bare list has no place for a system "
            f"prompt, which is the request's {self._rules.beside[0]!r}: one in front is read as that"
        )
        finding = Finding(kinds.SYSTEM, self._place(body.index, ()), reason, "moved to the front")
        self._found.append((body.index, finding))
