"""Holding, taking, delivering and settling artifacts (RT-TOOL-7, 4, 6; section 4)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pydantic_core import to_json

from turnledger.domain.appending import Appending, AppendResult
from turnledger.domain.artifacts import Artifact, HeldLimits, RefusedArtifact, Settlement, TakeFacts
from turnledger.domain.changes import Changes
from turnledger.domain.errors import InvalidArgument, TakeNotFound, TakeSettled
from turnledger.domain.events import (
    ArtifactsDelivered,
    ArtifactsDiscarded,
    ArtifactsHeld,
    ArtifactsPutBack,
    ArtifactsTaken,
)
from turnledger.domain.messages import Message

Incoming = dict[str, Any] | RefusedArtifact


class AttributeDict(dict[str, Any]):
    """A plain dict whose keys can also be read as attributes."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


class HeldArtifact(AttributeDict):
    """A held artifact: `type`, `payload`, `tool_call_id`, and `artifact_id`, `execution_id`, `turn_id`."""


class Refused(AttributeDict):
    """A dropped artifact: `type`, `tool_call_id`, `size_bytes`, `reason`, and `artifact_id` if it had one."""


def refusals(refused: Sequence[RefusedArtifact]) -> tuple[Refused, ...]:
    return tuple(Refused(item.model_dump()) for item in refused)


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldResult:
    """What a hold did: the artifacts that it held and those that it refused, each with its reason."""

    conversation_id: str
    version: int
    held: tuple[dict[str, Any], ...] = ()
    refused: tuple[Refused, ...] = ()
    repeated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteBackResult(AppendResult):
    """An append's result, with what was delivered on its last assistant message, or held instead."""

    delivered: tuple[dict[str, Any], ...] = ()
    held: tuple[dict[str, Any], ...] = ()
    refused: tuple[Refused, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PutBackResult:
    """What a put-back did: the artifacts that are held again, and those held since that no longer fit."""

    conversation_id: str
    version: int
    held: tuple[dict[str, Any], ...] = ()
    refused: tuple[Refused, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Take:
    """What one run holds in its hands until it settles: confirm, put back or discard.

    `take_id` is None for a take of nothing, which settles to nothing.
    """

    take_id: str | None
    conversation_id: str
    execution_id: str
    taken_at: datetime
    version: int
    artifacts: tuple[dict[str, Any], ...] = ()
    context: dict[str, str] | None = None


def hold(
    changes: Changes, artifacts: Sequence[Incoming], limits: HeldLimits, new_id: Callable[[], str]
) -> None:
    """RT-TOOL-7.1 and .5: what fits joins the held list; what is held already is never touched."""
    _hold(changes, artifacts, limits, new_id, repeated=())


def _hold(
    changes: Changes,
    artifacts: Sequence[Incoming],
    limits: HeldLimits,
    new_id: Callable[[], str],
    repeated: Sequence[int],
) -> None:
    shelf, execution_id = changes.state.shelf, changes.origin.execution_id or ""
    load = shelf.load(shelf.held.get(execution_id, ()))
    held: list[Artifact] = []
    refused: list[RefusedArtifact] = []
    for incoming in artifacts:
        if isinstance(incoming, RefusedArtifact):
            refused.append(incoming)
            continue
        size_bytes = len(to_json(incoming))
        if reason := load.refuses(size_bytes, limits):
            named = {"type": incoming["type"], "tool_call_id": incoming["tool_call_id"]}
            refused.append(RefusedArtifact(**named, size_bytes=size_bytes, reason=reason))
        else:
            load.add(size_bytes)
            held.append(Artifact(artifact_id=new_id(), **incoming))
    if held or refused:
        changes.record(ArtifactsHeld, held=held, refused=refused, repeated=list(repeated))


def write_back(
    changes: Changes,
    appending: Appending,
    messages: Sequence[Message],
    artifacts: Sequence[Incoming],
    limits: HeldLimits,
    new_id: Callable[[], str],
) -> None:
    """RT-TOOL-7.2: after the messages, what is held and `artifacts` are delivered on the last assistant one.

    If that is a repeat, or none is given, the artifacts that no earlier try brought are held instead.
    """
    last = next((i for i in reversed(range(len(messages))) if messages[i].role == "assistant"), None)
    entry = None if last is None else appending.entries[last]
    if entry is None:
        repeated = [] if last is None else appending.repeats[last]
        _hold(changes, _not_offered(changes, artifacts, repeated), limits, new_id, repeated)
        return
    take_id, taken = take(changes, new_id)
    new = [Artifact(artifact_id=new_id(), **a) for a in artifacts if not isinstance(a, RefusedArtifact)]
    refused = [a for a in artifacts if isinstance(a, RefusedArtifact)]
    if taken or new or refused:
        changes.record(
            ArtifactsDelivered,
            entry=entry,
            take_id=take_id,
            delivered=[*taken, *(artifact.artifact_id for artifact in new)],
            new=new,
            refused=refused,
        )


def _not_offered(changes: Changes, artifacts: Sequence[Incoming], repeated: Sequence[int]) -> list[Incoming]:
    """Those that an earlier write-back of the same entries did not bring already, equals counted."""
    offered = changes.state.shelf.offered(repeated)
    left: list[Incoming] = []
    for incoming in artifacts:
        if not isinstance(incoming, RefusedArtifact):
            likeness = Artifact(artifact_id="", **incoming).likeness
            if offered[likeness] > 0:
                offered[likeness] -= 1
                continue
        left.append(incoming)
    return left


def take(changes: Changes, new_id: Callable[[], str]) -> tuple[str | None, tuple[str, ...]]:
    """Takes all that the execution holds; (None, ()) and no event where it holds nothing."""
    held = changes.state.shelf.held.get(changes.origin.execution_id or "", ())
    if not held:
        return None, ()
    take_id = new_id()
    changes.record(ArtifactsTaken, take_id=take_id, taken=list(held))
    return take_id, held


def confirm(changes: Changes, take_id: str) -> None:
    facts = _unsettled(changes, take_id, "delivered")
    if facts:
        changes.record(
            ArtifactsDelivered,
            execution_id=facts.execution_id,
            entry=None,
            take_id=take_id,
            delivered=list(facts.artifact_ids),
            new=[],
            refused=[],
        )


def discard(changes: Changes, take_id: str, reason: str) -> None:
    facts = _unsettled(changes, take_id, "discarded")
    if facts:
        changes.record(
            ArtifactsDiscarded,
            execution_id=facts.execution_id,
            take_id=take_id,
            discarded=list(facts.artifact_ids),
            reason=reason,
        )


def put_back(changes: Changes, take_id: str, limits: HeldLimits) -> None:
    """RT-TOOL-7.4: each artifact returns to its place in the order of first holding, none is dropped.

    Where the bound is then exceeded, of what was held since the take each that does not fit is dropped.
    """
    facts = _unsettled(changes, take_id, "put back")
    if not facts:
        return
    shelf = changes.state.shelf
    held = shelf.held.get(facts.execution_id, ())
    since = [i for i in held if shelf.artifacts[i].held_at > facts.version]
    kept = [*facts.artifact_ids, *(i for i in held if i not in since)]
    load = shelf.load(kept)
    refused: list[RefusedArtifact] = []
    for artifact_id in since:
        holding = shelf.artifacts[artifact_id]
        if reason := load.refuses(holding.size_bytes, limits):
            refused.append(holding.refused(artifact_id, reason))
        else:
            load.add(holding.size_bytes)
            kept.append(artifact_id)
    changes.record(
        ArtifactsPutBack,
        execution_id=facts.execution_id,
        take_id=take_id,
        put_back=list(facts.artifact_ids),
        held=sorted(kept, key=lambda artifact_id: shelf.artifacts[artifact_id].order),
        refused=refused,
    )


def _unsettled(changes: Changes, take_id: str, wanted: Settlement) -> TakeFacts | None:
    """The take if it is open, None if it was settled as wanted before."""
    facts = changes.state.shelf.takes.get(take_id)
    if facts is None:
        raise TakeNotFound(f"conversation {changes.origin.conversation_id!r} has no take {take_id!r}")
    if facts.settled not in (None, wanted):
        raise TakeSettled(f"take {take_id!r} was {facts.settled} before; it cannot be {wanted} now")
    return facts if facts.settled is None else None


def reason_text(reason: object) -> str:
    """A reason that an operator can read later. Raises `InvalidArgument` for a blank one."""
    if not isinstance(reason, str) or not reason.strip():
        raise InvalidArgument("give a reason for discarding, as text")
    return reason
