"""The anatomy of Claude Code's sessions: Anthropic messages inside of events that name the one before them.

The conversation that is loaded is the chain of the newest event (`importing.sessions`). A result that never
came is a line of its own behind its call, and the chain runs through it; a line that goes leaves no gap.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from turnledger.importing.doctor import findings as kinds
from turnledger.importing.doctor.anatomy import Change, Piece, Side
from turnledger.importing.doctor.anthropic import RULES, AnthropicAnatomy
from turnledger.importing.doctor.findings import Path
from turnledger.importing.doctor.patching import Origins
from turnledger.importing.doctor.treatment import Place, Treated, Treatment
from turnledger.importing.doctor.weaving import Weaving
from turnledger.importing.sessions import Tree
from turnledger.projections.providers.turns import OPENING_TEXT

ROUNDS_MAX = 100  # two or three do; this many, should there be a session that never comes to rest
_ENVELOPE = ("isSidechain", "userType", "cwd", "sessionId", "version", "gitBranch", "agentId", "slug")


class ClaudeCodeAnatomy(AnthropicAnatomy):
    rules = replace(RULES, own_lines=True, beside=())

    def side(self, message: Mapping[str, Any]) -> Side | None:
        return super().side({"role": message.get("type")})

    def pieces(self, message: Mapping[str, Any]) -> list[Piece]:
        found = super().pieces(message["message"])
        for piece in found:
            piece.path = ("message", *piece.path)
        return found

    def rebuilt(self, message: dict[str, Any], pieces: Sequence[Piece]) -> dict[str, Any]:
        return {**message, "message": super().rebuilt(message["message"], pieces)}

    def carrier(self, results: Sequence[Piece], after: Mapping[str, Any]) -> dict[str, Any]:
        content = [piece.raw for piece in results]
        return _line(after, after.get("uuid"), content, str(results[0].now))

    def opening(self, first: Mapping[str, Any]) -> dict[str, Any]:
        return _line(first, None, OPENING_TEXT, "opening")

    def settled(
        self, message: dict[str, Any], before: dict[str, Any] | None, after: dict[str, Any] | None
    ) -> Change | None:
        return None  # a session that ends with the assistant goes on with the user


def _line(near: Mapping[str, Any], before: Any, content: Any, name: str) -> dict[str, Any]:
    """A user's line beside another one; its uuid is always the same."""
    return {
        "parentUuid": before,
        **{key: near[key] for key in _ENVELOPE if key in near},
        "type": "user",
        "message": {"role": "user", "content": content},
        "uuid": str(uuid5(NAMESPACE_URL, f"{near.get('uuid')}/{name}")),
        **({"timestamp": near["timestamp"]} if "timestamp" in near else {}),
    }


class SessionTreatment:
    """The treatment of a session's events: of its conversation, then of each sidechain's.

    Where the newest line goes, another one is the newest, and what is loaded is its chain: so the events are
    treated until what is loaded of them is what was treated.
    """

    def __init__(self, origins: Origins, place: Place) -> None:
        self._origins = origins
        self._place_in_file = place
        self._places: Sequence[int] = ()
        self._index: dict[int, int] = {}

    def of(self, events: Sequence[Any]) -> Treated:
        self._index = {name: place for place, name in enumerate(self._names(events))}
        found: list[kinds.Finding] = []
        session = _Session(events)
        for name in session.names():
            session, findings = self._treated(session, name)
            found += findings
        return Treated(list(session.events), None, found)

    def _treated(self, session: "_Session", name: str) -> tuple["_Session", list[kinds.Finding]]:
        """The session with the conversation of a name as it is to be."""
        found: list[kinds.Finding] = []
        for _ in range(ROUNDS_MAX):
            loaded, treated = self._once(session, name)
            if not treated.findings:
                return session, found
            found += treated.findings
            session = _Session(treated.messages)
            self._places = [self._index.get(event, 0) for event in self._names(session.events)]
            if self._names(loaded) == self._names(session.loaded(name)):
                break
        return session, found

    def _place(self, place: int, path: Path) -> str:
        return self._place_in_file(self._places[place] if self._places else place, path)

    def _names(self, events: Sequence[Any]) -> list[int]:
        """Which events these are, whatever has become of them."""
        return [id(self._origins.of(event)) for event in events]

    def _once(self, session: "_Session", name: str) -> tuple[list[Any], Treated]:
        """What is loaded as it is to be, and all events with it."""
        events, places = session.events, session.chain(name)
        anatomy = ClaudeCodeAnatomy()
        treatment = Treatment(anatomy, self._origins, lambda index, path: self._place(places[index], path))
        treated = treatment.of([events[place] for place in places])
        weaving = Weaving(events, session.tree, places, self._origins)
        if not treated.findings and not weaving.broken:
            return treated.messages, Treated(list(events))
        broken = [self._broken(place, before) for place, before in weaving.broken]
        moved = {places[index] for index in treated.moved if len(anatomy.pieces(events[places[index]])) == 1}
        woven = Treated(weaving.of(treated.messages, moved), None, [*broken, *treated.findings])
        return treated.messages, woven

    def _broken(self, place: int, before: int) -> kinds.Finding:
        reason = "the line that it follows is not in the file, so nothing before it is loaded"
        remedy = f"it follows {self._place(before, ())}"
        return kinds.Finding(kinds.BROKEN_CHAIN, self._place(place, ("parentUuid",)), reason, remedy)


_MAIN = ""


class _Session:
    """Events as they are at one time, and the conversations in them."""

    def __init__(self, events: Sequence[Any]) -> None:
        self.events = events
        self.tree = Tree(events, whole=False)
        self._sides = dict(self.tree.sidechains())

    def names(self) -> list[str]:
        """Those of the conversations: none for the session's own, where it has more than sidechains."""
        in_sides = {place for places in self._sides.values() for place in places}
        only_sides = self._sides and in_sides.issuperset(self.tree.main())
        return [*([] if only_sides else [_MAIN]), *self._sides]

    def chain(self, name: str) -> list[int]:
        """The places of a conversation's turns."""
        return self.tree.main() if name == _MAIN else self._sides.get(name, [])

    def loaded(self, name: str) -> list[Any]:
        return [self.events[place] for place in self.chain(name)]
