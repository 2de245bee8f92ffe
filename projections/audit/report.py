"""The audit: replays a history and checks it against the invariants of section 8, by name.

Shares no code with the projections that it checks.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """One broken invariant, by its name, and the versions of the events that witness it."""

    conversation_id: str
    invariant: str
    message: str
    versions: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class AuditedConversation:
    """One conversation as it was audited, at one version."""

    conversation_id: str
    version: int
    entries: int
    findings: tuple[Finding, ...] = ()


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
