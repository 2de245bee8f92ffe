"""What a format's messages are made of, so that the diagnosis needs to know no format.

One file a format fills this in: which pieces a raw message holds, how a message is put together from the
pieces that are left, and what its provider refuses, in the provider's own words where they are known.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from turnledger.importing.doctor.findings import Path
from turnledger.projections.providers.turns import OPENING_TEXT

Side = Literal["system", "user", "assistant", "tool"]
Kind = Literal["call", "result", "text", "other"]


class Change(NamedTuple):
    """The kind of finding, why something is refused as it stands, what the fixed file holds instead, and that
    itself: None where it is left out."""

    kind: str
    reason: str
    remedy: str
    raw: Any


@dataclass(slots=True, eq=False)
class Piece:
    """One piece of a message: `raw` as it stands at `path` in the message of index `home`.

    A call and a result have the id that they were given, and `now` the one by which they are paired; unless
    they need none, the fixed file gives them that. Those of different families are never a pair. A piece
    without a home is new, or moved from that of the index `was`.
    """

    kind: Kind
    raw: Any
    path: Path = ()
    call_id: Any = None
    name: Any = None
    arguments: Any = None
    text: str | None = None
    needs_id: bool = True
    family: str = ""
    home: int | None = None
    was: int | None = None
    now: str | None = None

    @property
    def blank(self) -> bool:
        """Whether it is a text that says nothing."""
        return self.kind == "text" and self.text is not None and not self.text.strip()


@dataclass(frozen=True, slots=True)
class Rules:
    """What the provider of a format insists on.

    `own_messages`: a result is a message, else a piece of the user's next one, or, with `own_lines`, of one
    of its own; `in_order`: results stand in the order of their calls. `merges`: messages of the assistant in
    a row are one turn. `beside` are the keys of a request under which the system prompt may stand, where it
    is none of the messages; `system_anywhere`: it is one, wherever it stands. `words` say by kind of finding
    who refuses it, and how.
    """

    own_messages: bool
    id_pattern: str = ".+"
    id_shaped: Callable[[str], str] = field(default=lambda digits: f"call_{digits[:24]}")
    name_others: str = "[^a-zA-Z0-9_-]"
    name_longest: int = 64
    own_lines: bool = False
    in_order: bool = False
    merges: bool = False
    user_first: bool = False
    beside: tuple[str, ...] = ()
    system_anywhere: bool = False
    words: Mapping[str, str] = field(default_factory=dict)


class Anatomy:
    """A format's anatomy. What is given as `message` is a map with a side; new values are returned, never
    changed in place."""

    rules: Rules

    def gone(self, messages: Sequence[Any]) -> Mapping[int, str]:
        """The messages that are no part of the conversation, by their indexes, and why."""
        return {}

    def side(self, message: Mapping[str, Any]) -> Side | None:
        """Who speaks; None where the role is none that the format knows."""
        raise NotImplementedError

    def pieces(self, message: Mapping[str, Any]) -> list[Piece]:
        """What it holds, in order; at least one piece where it says anything."""
        raise NotImplementedError

    def rebuilt(self, message: dict[str, Any], pieces: Sequence[Piece]) -> dict[str, Any]:
        """The message with these pieces alone, at least one."""
        raise NotImplementedError

    def with_id(self, piece: Piece, call_id: str) -> Any:
        """A raw call or result under another id."""
        raise NotImplementedError

    def with_name(self, piece: Piece, name: str) -> Any:
        """A raw call under another name."""
        raise NotImplementedError

    def named(self, name: str) -> str:
        """A name in the provider's alphabet as it takes it."""
        return name

    def placeholder(self, call: Piece, call_id: str) -> Any:
        """A raw result that stands in for the one that a call never got."""
        raise NotImplementedError

    def opening(self, first: Mapping[str, Any]) -> dict[str, Any]:
        """A user's message for a conversation that begins with the assistant."""
        return {"role": "user", "content": OPENING_TEXT}

    def carrier(self, results: Sequence[Piece], after: Mapping[str, Any]) -> dict[str, Any]:
        """A new message that holds results, behind the turn `after`."""
        raise NotImplementedError

    def with_role(self, message: dict[str, Any]) -> dict[str, Any]:
        """A message of a role that the format does not know, as one of the user's."""
        return {**message, "role": "user"}

    def prompted(self, prompt: Any, systems: Sequence[dict[str, Any]]) -> Any:
        """The system prompt beside the messages, with these messages as parts of it."""
        raise NotImplementedError

    def framed(self, message: dict[str, Any]) -> Change | None:
        """What is refused of a message beside its pieces."""
        return None

    def mended(self, piece: Piece) -> Change | None:
        """A piece that is refused for what it holds: its arguments, its content."""
        return None

    def matched(self, result: Piece, call: Piece) -> Change | None:
        """A result that does not speak of its call as the call does of itself."""
        return None

    def settled(
        self, message: dict[str, Any], before: dict[str, Any] | None, after: dict[str, Any] | None
    ) -> Change | None:
        """A message that is refused between these two; None is the beginning, or the end."""
        return None

    def joined(self, before: dict[str, Any], message: dict[str, Any]) -> Change | None:
        """Two messages that are refused one after the other: the one that they are together."""
        return None

    def bridge(self, before: dict[str, Any], message: dict[str, Any]) -> Change | None:
        """Two messages that are refused one after the other: one that is to stand between them."""
        return None

    def once(self, message: dict[str, Any], seen: set[str]) -> Change | None:
        """A message with a name that may stand but once in a request, where that is `seen` before; what the
        message names is added."""
        return None
