"""What a file of conversations holds, whatever its layout: transcripts, and places where none can be read."""

from collections.abc import Container
from dataclasses import dataclass, replace
from typing import Any

from turnledger.domain.identifiers import checked_id


@dataclass(frozen=True, slots=True)
class Transcript:
    """One conversation of a file: its id, its messages as they stand there, and where it stands.

    `format` is that of the messages where the file's layout alone decides it, `likely` the one that is meant
    where none is given; `notes` say what of the file is no part of it. `places` are those of the messages,
    where each has a line or a row of its own, so that a bad one can be left out alone.
    """

    conversation_id: str
    messages: list[Any]
    place: str
    format: str | None = None
    notes: tuple[str, ...] = ()
    likely: str | None = None
    places: tuple[str, ...] = ()

    def without(self, indexes: Container[int]) -> "Transcript":
        """The same without some of its messages."""
        left = [index for index in range(len(self.messages)) if index not in indexes]
        messages, places = [self.messages[index] for index in left], (self.places[index] for index in left)
        return replace(self, messages=messages, places=tuple(places))


@dataclass(frozen=True, slots=True)
class BadLine:
    """A place in a file where no conversation can be read, and why."""

    place: str
    reason: str

    def __str__(self) -> str:
        return f"{self.place}: {self.reason}"


def transcript(
    given: Any,
    messages: list[Any],
    place: str,
    format: str | None = None,
    notes: tuple[str, ...] = (),
    likely: str | None = None,
    places: tuple[str, ...] = (),
) -> Transcript | BadLine:
    """A conversation under its id, a whole number as its decimal text; a bad line where the id is none."""
    whole = isinstance(given, int) and not isinstance(given, bool)
    try:
        conversation_id = checked_id("the id", str(given) if whole else given)
    except ValueError as error:
        return BadLine(place, str(error))
    return Transcript(conversation_id, messages, place, format, notes, likely, places)
