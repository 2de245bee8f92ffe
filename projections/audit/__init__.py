"""The audit: replays a history and checks it against the invariants of section 8, by name.

Keeps a model of its own, made from the events alone, and shares no code with the projections and decisions
that it checks: those it asks, as `Views`, and compares what they say.
"""

from turnledger.projections.audit.history import HistoryAudit
from turnledger.projections.audit.origin import OriginAudit
from turnledger.projections.audit.report import (
    INVARIANTS,
    AuditedConversation,
    AuditReport,
    Finding,
)
from turnledger.projections.audit.rows import Row
from turnledger.projections.audit.views import Views

__all__ = [
    "INVARIANTS",
    "AuditReport",
    "AuditedConversation",
    "Finding",
    "HistoryAudit",
    "OriginAudit",
    "Row",
    "Views",
]
