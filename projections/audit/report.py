"""What an audit says: the names of the invariants, a finding, a conversation, the report."""

from dataclasses import dataclass
from typing import Any

VERSIONS = "versions contiguous"
CHAIN = "chain unbroken"
DECODING = "every event decodes"
TIMES = "times never go back"
BATCHES = "calls recorded whole"
ENTRIES = "entries and positions consistent"
PLACEHOLDERS = "placeholders and replacements in place"
HEALING = "a user turn heals every open call, and nothing else does"
EVICTIONS = "evictions keep calls and results together"
ONCE = "nothing recorded twice"
ARTIFACTS = "each artifact in one place"
HELD_ORDER = "held in the order of first holding"
COMPACTIONS = "a summary stands in the place of what left"
RETRACTIONS = "what is retracted leaves no orphan"
REQUESTS = "requests read as they were sent"
ORIGIN = "a fork begins as its source stood"
ANCHORS = "the log holds every anchor"
SENDABLE = "sendable at every version"
PROJECTIONS = "projections equal to the log"

INVARIANTS = (
    VERSIONS,
    CHAIN,
    DECODING,
    TIMES,
    BATCHES,
    ENTRIES,
    PLACEHOLDERS,
    HEALING,
    EVICTIONS,
    ONCE,
    ARTIFACTS,
    HELD_ORDER,
    COMPACTIONS,
    RETRACTIONS,
    REQUESTS,
    ORIGIN,
    ANCHORS,
    SENDABLE,
    PROJECTIONS,
)


@dataclass(frozen=True, slots=True)
class Finding:
    """One broken invariant, by its name, and the versions of the events that witness it."""

    conversation_id: str
    invariant: str
    message: str
    versions: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class AuditedConversation:
    """One conversation as it was audited, at one version.

    `in_doubt` are the ids of its open takes: no finding, but delivered or not only an operator can say.
    """

    conversation_id: str
    version: int
    entries: int
    findings: tuple[Finding, ...] = ()
    in_doubt: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        return not self.findings


@dataclass(frozen=True, slots=True)
class AuditReport:
    """What an audit looked at and what it found."""

    conversations: tuple[AuditedConversation, ...] = ()

    @property
    def findings(self) -> tuple[Finding, ...]:
        return tuple(finding for audited in self.conversations for finding in audited.findings)

    @property
    def ok(self) -> bool:
        return not self.findings


class Findings:
    """The findings of one conversation, as they are made; the same one again adds nothing."""

    def __init__(self, conversation_id: str) -> None:
        self._conversation_id = conversation_id
        self._found: dict[Finding, None] = {}

    def add(self, invariant: str, message: str, *versions: int) -> None:
        witnesses = tuple(sorted(set(versions)))
        self._found[Finding(self._conversation_id, invariant, message, witnesses)] = None

    def compare(self, what: str, shown: Any, expected: Any, version: int) -> None:
        """What a projection shows at a version, beside what it has to."""
        if shown != expected:
            text = f"the {what} rebuilt at version {version} is not what the events say"
            self.add(PROJECTIONS, text, version)

    def __len__(self) -> int:
        return len(self._found)

    def all(self) -> tuple[Finding, ...]:
        return tuple(self._found)
