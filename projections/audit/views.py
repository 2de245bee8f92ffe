"""What the audit asks of the projections and decisions that it checks: it knows them by this alone."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from turnledger.domain.events import DomainEvent
from turnledger.projections.audit.sendable import Stretches


class Views(Protocol):
    """The projections and decisions under check, folded to the version that the audit has reached."""

    def take(self, event: DomainEvent) -> None: ...
    def buffer(self) -> Sequence[tuple[int, Mapping[str, Any]]]: ...
    def held(self) -> Mapping[str, Sequence[str]]: ...
    def open_takes(self) -> Sequence[str]: ...
    def wire(self) -> Sequence[Mapping[str, Any]]: ...

    def sendable(self) -> Sequence[Mapping[str, Any]]:
        """The list that is sent, made of the whole buffer from nothing."""

    def growing(self) -> Stretches:
        """The same list as it grows with the log, and is served."""

    def unsettled(self) -> int:
        """How many entries `growing` has to look at."""

    def normalized(self, messages: Iterable[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]: ...

    def sent_digest(self, provider: str | None, rendering: int) -> str | None:
        """The digest of the list as it would be sent; None where this release renders it in another way."""

    def recorded_again(self, number: int, message: Mapping[str, Any]) -> str | None:
        """The event that appending this message, of entry `number`, again would record, or None."""
