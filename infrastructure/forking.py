"""One fork: the source read up to a version, and its state recorded as the beginning of another."""

from turnledger.domain.changes import Changes
from turnledger.domain.conversation import Conversation
from turnledger.domain.errors import InvalidArgument
from turnledger.domain.forking import ForkResult, carried_numbers, fork
from turnledger.infrastructure.application import ConversationApplication
from turnledger.infrastructure.commands import Command
from turnledger.infrastructure.comparing import Station
from turnledger.infrastructure.heads import head_at
from turnledger.infrastructure.reading import EventReading
from turnledger.projections.held import ArtifactsView
from turnledger.projections.past import PastView


def forked(application: ConversationApplication, command: Command, source: Station) -> ForkResult:
    """Forks a state into the conversation of the command.

    A log only grows, so that what is read here of the source stays true while the fork is recorded.
    """
    if not source.version:
        raise InvalidArgument(
            "at must be a version from 1 up, or a time from the first event on: before it "
            f"conversation {source.conversation_id!r} has nothing to fork"
        )
    state, past, artifacts = Conversation(), PastView(), ArtifactsView()
    for event in EventReading(application, source.conversation_id, to=source.version):
        state.evolve(event)
        past.apply(event)
        artifacts.apply(event)
    numbers = carried_numbers(state)
    summaries = {number for number in numbers if state.entries[number].summary}
    digest = head_at(application, source).digest

    def decide(changes: Changes) -> None:
        fork(
            changes,
            state,
            source_id=source.conversation_id,
            source_digest=digest,
            entries=past.carried(numbers, summaries),
            delivered=artifacts.deliveries(source.conversation_id),
        )

    changes = command.run(decide)
    return ForkResult(
        conversation_id=command.conversation_id,
        version=changes.version,
        count=changes.count,
        source_id=source.conversation_id,
        source_version=source.version,
        source_digest=digest,
    )
