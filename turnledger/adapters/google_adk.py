"""Google ADK on the log: its sessions and its artifacts (extra `google-adk`).

`TurnledgerSessionService` keeps each session as one conversation: ADK's events verbatim, as records, and in
the same transaction the messages that they are, so that `sendable` and `verify` know them. Calls that a crash
or a cancel left open are healed when the user goes on (MEM-3), and the session's next reading has the
placeholder where it belongs. Events of several writers stand in the order in which they came: no session is
ever stale. State of an app or a user has a conversation of its own.

Artifacts that an agent saves in a run are held from the event that names them, and delivered on the run's
last answer (RT-TOOL-7): see `wire` and `held`.

    runner = Runner(app_name="shop", agent=agent, session_service=TurnledgerSessionService("chats.db"),
                    artifact_service=TurnledgerArtifactService("chats.db"))
"""

from collections.abc import Iterable, Mapping
from time import time
from typing import Any
from uuid import uuid4

from pydantic_core import to_jsonable_python

from turnledger.adapters.awaiting import Place, awaited
from turnledger.adapters.extras import extra
from turnledger.adapters.google_adk_artifacts import TurnledgerArtifactService
from turnledger.adapters.google_adk_events import (
    artifact_references,
    as_kept,
    messages_of,
    with_healed,
    with_own_ids,
    without_temporary,
)
from turnledger.adapters.google_adk_places import conversation_of, sessions_of
from turnledger.domain.errors import ConversationNotFound
from turnledger.domain.records import Record

with extra("google-adk"):
    from google.adk.errors.already_exists_error import AlreadyExistsError
    from google.adk.errors.session_not_found_error import SessionNotFoundError
    from google.adk.events.event import Event
    from google.adk.sessions.base_session_service import (
        BaseSessionService,
        GetSessionConfig,
        ListSessionsResponse,
    )
    from google.adk.sessions.session import Session
    from google.adk.sessions.state import State

__all__ = ["TurnledgerArtifactService", "TurnledgerSessionService", "conversation_of"]

SESSION, EVENT, STATE = "google-adk.session", "google-adk.event", "google-adk.state"
_SCOPES = (State.APP_PREFIX, State.USER_PREFIX)


class TurnledgerSessionService(BaseSessionService):  # type: ignore[misc]
    """ADK's sessions in a store: a path or URL, or a store of either kind."""

    def __init__(self, store: Place) -> None:
        self.store, self._is_own = awaited(store)
        self._scopes: dict[str, tuple[int, dict[str, Any]]] = {}
        self._made: set[str] = set()

    async def create_session(
        self,
        *,
        app_name: str,
        user_id: str,
        state: dict[str, Any] | None = None,
        session_id: str | None = None,
    ) -> Session:
        """Raises ADK's `AlreadyExistsError` for an id that is taken."""
        chosen = (session_id or "").strip() or uuid4().hex
        given = _jsonable(without_temporary(state or {}))
        session = {
            "id": chosen,
            "app_name": app_name,
            "user_id": user_id,
            "state": {key: value for key, value in given.items() if not key.startswith(_SCOPES)},
            "last_update_time": time(),
        }
        conversation = conversation_of(app_name, user_id, chosen)
        done = await self.store.append(conversation, [], records=[Record(SESSION, "session", session)])
        if not done.records:
            raise AlreadyExistsError(f"Session with id {chosen} already exists.")
        await self._keep_scopes(app_name, user_id, given, uuid4().hex)
        return await self._session(session, ())

    async def get_session(
        self,
        *,
        app_name: str,
        user_id: str,
        session_id: str,
        config: GetSessionConfig | None = None,
    ) -> Session | None:
        """The session with its events, placeholders of healed calls among them; None where there is none."""
        conversation = conversation_of(app_name, user_id, session_id.strip())
        kept = await self._kept(conversation)
        if kept is None:
            return None
        events = [
            Event.model_validate(record.value) for record in await self.store.records(conversation, EVENT)
        ]
        session = await self._session(kept, events)
        session.events = _within(with_healed(events, await self.store.entries(conversation)), config)
        return session

    async def list_sessions(self, *, app_name: str, user_id: str | None = None) -> ListSessionsResponse:
        """The sessions of an app or a user without their events, the one that was last at work last."""
        found = []
        async for conversation in sessions_of(self.store, app_name, user_id):
            if (kept := await self._kept(conversation)) is not None:
                records = await self.store.records(conversation, EVENT)
                session = await self._session(kept, [Event.model_validate(r.value) for r in records])
                found.append(session)
        return ListSessionsResponse(sessions=sorted(found, key=lambda session: session.last_update_time))

    async def delete_session(self, *, app_name: str, user_id: str, session_id: str) -> None:
        """Clears the conversation: the session is gone, and its id free; the log still tells what it was."""
        conversation = conversation_of(app_name, user_id, session_id.strip())
        if await self._kept(conversation) is not None:
            await self.store.clear(conversation)
            self._made.discard(conversation)

    async def get_user_state(self, *, app_name: str, user_id: str) -> dict[str, Any]:
        return dict(await self._scope(conversation_of(app_name, user_id)))

    async def append_event(self, session: Session, event: Event) -> Event:
        """Records the event and the messages that it is, in one transaction; the same event again, nothing.

        Raises ADK's `SessionNotFoundError`, never its `StaleSessionError`.
        """
        if event.partial:
            return event
        conversation = conversation_of(session.app_name, session.user_id, session.id)
        if conversation not in self._made and await self._kept(conversation) is None:
            raise SessionNotFoundError(f"Session {session.id} not found.")
        with_own_ids(event, session.events)
        kept = as_kept(event)
        delta = kept.get("actions", {}).get("state_delta", {})
        await self._keep_scopes(session.app_name, session.user_id, delta, event.id)
        healed = await self._record(conversation, event, kept, messages_of(event, session.events))
        if event.actions.rewind_before_invocation_id:
            await self._rewind(conversation, event.actions.rewind_before_invocation_id)
        if any(known.id == event.id for known in session.events):
            return event
        await super().append_event(session=session, event=event)
        session.last_update_time = event.timestamp
        if healed:
            session.events[:] = with_healed(session.events, await self.store.entries(conversation))
        return event

    async def close(self) -> None:
        """Closes the store, if it was opened here."""
        if self._is_own:
            await self.store.close()

    async def _record(
        self, conversation: str, event: Event, kept: dict[str, Any], messages: list[dict[str, Any]]
    ) -> bool:
        """Appends, and holds or delivers what was saved; whether calls were healed by that."""
        run = event.invocation_id or event.id
        origin: Any = {"turn_id": run, "context": {"author": event.author} if event.author else None}
        keyed: Any = {"records": [Record(EVENT, event.id, kept)], "idempotency_key": event.id, **origin}
        artifacts = artifact_references(event)
        if messages and messages[-1]["role"] == "assistant" and event.is_final_response():
            last = await self.store.write_back(conversation, run, messages, artifacts=artifacts, **keyed)
            return bool(last.healed)
        if artifacts:
            await self.store.hold(conversation, run, artifacts, idempotency_key=f"{event.id}/hold", **origin)
        done = await self.store.append(conversation, messages, execution_id=run, **keyed)
        return bool(done.healed)

    async def _rewind(self, conversation: str, invocation_id: str) -> None:
        """What was said from that invocation on leaves the buffer, newest first."""
        entries = await self.store.entries(conversation)
        place = next((entry.position for entry in entries if entry.turn_id == invocation_id), None)
        for entry in reversed([] if place is None else entries[place:]):
            await self.store.retract(conversation, entry.number, turn_id=entry.turn_id)

    async def _kept(self, conversation: str) -> dict[str, Any] | None:
        """The session as it was made, None where it is not, or is deleted."""
        self._made.discard(conversation)
        try:
            found = await self.store.records(conversation, SESSION, key="session")
        except ConversationNotFound:
            return None
        if not found:
            return None
        self._made.add(conversation)
        return dict(found[-1].value)

    async def _session(self, kept: Mapping[str, Any], events: Iterable[Event]) -> Session:
        """The session, its state told by its events; those are not in it."""
        state, moment = dict(kept["state"]), kept["last_update_time"]
        for event in events:
            state |= {k: v for k, v in event.actions.state_delta.items() if not k.startswith(_SCOPES)}
            moment = event.timestamp
        for prefix, conversation in (
            (State.APP_PREFIX, conversation_of(kept["app_name"])),
            (State.USER_PREFIX, conversation_of(kept["app_name"], kept["user_id"])),
        ):
            state |= {prefix + key: value for key, value in (await self._scope(conversation)).items()}
        return Session(**{**kept, "state": state, "last_update_time": moment})

    async def _scope(self, conversation: str) -> dict[str, Any]:
        """The state of an app or a user: every delta in order, read on from where the last reading ended."""
        version, state = self._scopes.get(conversation, (0, {}))
        try:
            found = await self.store.records(conversation, STATE, after=version)
        except ConversationNotFound:
            return {}
        if found:
            state = dict(state)
            for record in found:
                state |= record.value
            self._scopes[conversation] = found[-1].version, state
        return state

    async def _keep_scopes(self, app_name: str, user_id: str, delta: Mapping[str, Any], key: str) -> None:
        """Records what of a delta is the app's or the user's, under a key that makes a retry safe."""
        for prefix, conversation in (
            (State.APP_PREFIX, conversation_of(app_name)),
            (State.USER_PREFIX, conversation_of(app_name, user_id)),
        ):
            scoped = {k.removeprefix(prefix): v for k, v in delta.items() if k.startswith(prefix)}
            if scoped:
                await self.store.append(conversation, [], records=[Record(STATE, key, scoped)])


def _jsonable(state: dict[str, Any]) -> dict[str, Any]:
    """The state as JSON has it; what has no such form, as its text."""
    return dict(to_jsonable_python(state, serialize_unknown=True))


def _within(events: list[Event], config: GetSessionConfig | None) -> list[Event]:
    if config is None:
        return events
    if config.num_recent_events is not None:
        events = events[-config.num_recent_events :] if config.num_recent_events else []
    after = config.after_timestamp
    return events if after is None else [event for event in events if event.timestamp >= after]
