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
from turnledger.importing.doctor.patching import Origins
from turnledger.importing.doctor.treatment import Place, Treated, Treatment
from turnledger.importing.doctor.weaving import Weaving
from turnledger.importing.sessions import Tree
from turnledger.projections.providers.turns import OPENING_TEXT

_ENVELOPE = ("isSidechain", "userType", "cwd", "sessionId", "version", "gitBranch", "agentId", "slug")


class ClaudeCodeAnatomy(AnthropicAnatomy):
    rules = replace(RULES, own_lines=True, beside=())

    def side(self, message: Mapping[str, Any]) -> Side | None:
        return super().side({"role": message.get("type")})

    def pieces(self, message: Mapping[str, Any]) -> list[Piece]:
        found = super().pieces(message["message"])
        return [replace(piece, path=("message", *piece.path)) for piece in found]

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
    """The treatment of a session's events, of which the conversation is a part."""

    def __init__(self, origins: Origins, place: Place) -> None:
        self._origins = origins
        self._place = place

    def of(self, events: Sequence[Any]) -> Treated:
        tree = Tree(events, whole=False)
        places = tree.main()
        anatomy = ClaudeCodeAnatomy()
        treatment = Treatment(anatomy, self._origins, lambda index, path: self._place(places[index], path))
        treated = treatment.of([events[place] for place in places])
        weaving = Weaving(events, tree, places, self._origins)
        broken = [self._broken(place, before) for place, before in weaving.broken]
        moved = {places[index] for index in treated.moved if len(anatomy.pieces(events[places[index]])) == 1}
        return Treated(weaving.of(treated.messages, moved), None, [*broken, *treated.findings])

    def _broken(self, place: int, before: int) -> kinds.Finding:
        reason = "the line that it follows is not in the file, so nothing before it is loaded"
        remedy = f"it follows {self._place(before, ())}"
        return kinds.Finding(kinds.BROKEN_CHAIN, self._place(place, ("parentUuid",)), reason, remedy)
