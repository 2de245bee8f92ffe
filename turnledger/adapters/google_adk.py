"""Google ADK on the log: its sessions and its artifacts (extra `google-adk`).

`TurnledgerSessionService` keeps each session as one conversation: ADK's events verbatim, as records, and in
the same transaction the messages that they are, so that `sendable` and `verify` know them. Calls that a crash
or a cancel left open are healed when the user goes on (MEM-3): the session's next reading has the placeholder
where it belongs, and in its place the real result, also one that the core is given. Events of several writers
stand in the order in which they came: no session is ever stale. State of an app or a user has a conversation
of its own. What was read of a session is kept, so that a step costs what is new.

Artifacts that an agent saves in a run are held from the event that names them, and delivered on the run's
last answer (RT-TOOL-7): see `wire` and `held`.

    runner = Runner(app_name="shop", agent=agent, session_service=TurnledgerSessionService("chats.db"),
                    artifact_service=TurnledgerArtifactService("chats.db"))
"""

from collections.abc import Mapping
from contextlib import suppress
from copy import deepcopy
from time import time
from typing import Any
from uuid import uuid4

from pydantic_core import to_jsonable_python

from turnledger.adapters.awaiting import Place, awaited, ended
from turnledger.adapters.extras import extra
from turnledger.adapters.folds import Folds
from turnledger.adapters.google_adk_artifacts import TurnledgerArtifactService
from turnledger.adapters.google_adk_events import (
    OWN_FUNCTIONS,
    answer_of,
    artifact_references,
    as_kept,
    messages_of,
    with_answers,
    with_own_ids,
    without_temporary,
)
from turnledger.adapters.google_adk_places import artifacts_of, conversation_of, sessions_of
from turnledger.adapters.google_adk_scopes import Scopes
from turnledger.adapters.google_adk_story import EVENT, SESSION, Story, run_of
from turnledger.adapters.naming import as_id
from turnledger.domain.errors import (
    ConversationNotFound,
    EntryNotFound,
    StoreUnwritable,
    VersionConflict,
)
from turnledger.domain.events import RecordKept
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


class TurnledgerSessionService(BaseSessionService):  # type: ignore[misc]
    """ADK's sessions in a store: a path or URL, or a store of either kind."""

    def __init__(self, store: Place) -> None:
        self.store, self._is_own = awaited(store)
        self._scopes = Scopes(self.store)
        self._stories = Folds(Story)

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
        session = {
            "id": chosen,
            "app_name": app_name,
            "user_id": user_id,
            "state": _jsonable(without_temporary(state or {})),
            "last_update_time": time(),
        }
        conversation = conversation_of(app_name, user_id, chosen)
        return await ended(self._created(conversation, Record(SESSION, "session", session)))

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
        story = await self._story(conversation)
        if story.session is None:
            return None
        session = await self._session(story.session, story)
        session.events = await self._events(conversation, story, config or GetSessionConfig())
        return session

    async def list_sessions(self, *, app_name: str, user_id: str | None = None) -> ListSessionsResponse:
        """The sessions of an app or a user without their events, the one that was last at work last."""
        found = []
        async for summary in sessions_of(self.store, app_name, user_id):
            story = await self._story(summary.conversation_id, summary.version)
            if story.session is not None:
                found.append(await self._session(story.session, story))
        return ListSessionsResponse(sessions=sorted(found, key=lambda session: session.last_update_time))

    async def delete_session(self, *, app_name: str, user_id: str, session_id: str) -> None:
        """Clears the conversation: the session and its files are gone, and its id free; the log still tells
        what they were."""
        name = session_id.strip()
        conversation = conversation_of(app_name, user_id, name)
        if (await self._story(conversation)).session is not None:
            await ended(self._cleared(artifacts_of(app_name, user_id, name), conversation))

    async def get_user_state(self, *, app_name: str, user_id: str) -> dict[str, Any]:
        state = await self._scopes.of(app_name, user_id)
        prefix = State.USER_PREFIX
        return {key.removeprefix(prefix): value for key, value in state.items() if key.startswith(prefix)}

    async def append_event(self, session: Session, event: Event) -> Event:
        """Records the event and the messages that it is, in one transaction; the same event again, nothing.

        State of the app or the user is recorded behind it; if the process dies in between, when the session
        is read again. Raises ADK's `SessionNotFoundError`, never its `StaleSessionError`.
        """
        return event if event.partial else await ended(self._appended(session, event))

    async def close(self) -> None:
        """Closes the store, if it was opened here."""
        if self._is_own:
            await self.store.close()

    async def _created(self, conversation: str, made: Record) -> Session:
        done = await self.store.append(conversation, [], records=[made])
        if not done.records:
            raise AlreadyExistsError(f"Session with id {made.value['id']} already exists.")
        return await self._session(made.value, await self._story(conversation, now=done.version))

    async def _cleared(self, *conversations: str) -> None:
        for conversation in conversations:
            with suppress(ConversationNotFound):
                await self.store.clear(conversation)

    async def _appended(self, session: Session, event: Event) -> Event:
        conversation = conversation_of(session.app_name, session.user_id, session.id)
        while True:
            story = await self._story(conversation)
            if story.session is None:
                raise SessionNotFoundError(f"Session {session.id} not found.")
            is_known = event.id in story.places
            if is_known and (story.answers.given or story.answers.healed):
                version, healed = story.version, False  # as it is read, it may have less than it was given
                break
            with_own_ids(event, story.declared)
            try:
                version, healed = await self._record(conversation, event, story)
                break
            except VersionConflict:
                continue  # decided on less than is there now
        story = await self._story(conversation, now=version)
        if is_known and any(known.id == event.id for known in session.events):
            return event
        await super().append_event(session=session, event=event)
        session.last_update_time = event.timestamp
        if healed or any(story.answers.came_past(one.id) for one in event.get_function_responses()):
            session.events[:] = await self._answered(conversation, story, session.events)
        return event

    async def _record(self, conversation: str, event: Event, story: Story) -> tuple[int, bool]:
        """Appends, and holds or delivers what was saved; the version, and whether that healed calls."""
        key, run = as_id(event.id), run_of(event.invocation_id, event.id)
        messages = messages_of(event, story.long_running)
        origin: Any = {"turn_id": run, "context": {"author": event.author} if event.author else None}
        keyed: Any = {
            "records": [Record(EVENT, key, as_kept(event))],
            "idempotency_key": key,
            "expected_records": story.version,
            **origin,
        }
        artifacts = artifact_references(event)
        if messages and messages[-1]["role"] == "assistant" and event.is_final_response():
            last = await self.store.write_back(conversation, run, messages, artifacts=artifacts, **keyed)
            return last.version, bool(last.healed)
        if artifacts:
            held = as_id(f"{event.id}/hold")
            await self.store.hold(conversation, run, artifacts, idempotency_key=held, **origin)
        done = await self.store.append(conversation, messages, execution_id=run, **keyed)
        return done.version, bool(done.healed)

    async def _story(self, conversation: str, version: int | None = None, *, now: int | None = None) -> Story:
        """The session as the log has it, with all done that was to follow its events.

        `version` is that of the log, where it is known; `now` that of what was recorded here just now.
        """
        story = self._stories.of(conversation)
        if version is None or story.version != version:
            try:
                found = [e async for e in self.store.events(conversation, after=story.version)]
            except ConversationNotFound:
                return story
            story = self._stories.read_on(conversation, story, found)
        with suppress(StoreUnwritable):
            await self._complete(conversation, story, now)
        return story

    async def _complete(self, conversation: str, story: Story, now: int | None) -> None:
        """Does what follows an event in another transaction: shared state, and what a rewind takes back."""
        while story.scoped and story.session is not None:
            scoped = story.scoped[0]
            await self._scopes.keep(story.session, scoped, is_late=scoped.version != now)
            story.scoped[:] = [one for one in story.scoped if one is not scoped]
        while story.rewinds:
            rewind = story.rewinds[0]
            for number in story.rewound(rewind, await self.store.entries(conversation)):
                with suppress(EntryNotFound):
                    await self.store.retract(conversation, number)
            story.rewinds[:] = [one for one in story.rewinds if one is not rewind]

    async def _events(self, conversation: str, story: Story, config: GetSessionConfig) -> list[Event]:
        newest, since = config.num_recent_events, config.after_timestamp
        after = story.behind(newest, since)
        events = [Event.model_validate(value) for value in await self._kept(conversation, after, story)]
        events = await self._answered(conversation, story, events)
        if newest is not None:
            events = events[-newest:] if newest else []
        return events if since is None else [event for event in events if event.timestamp >= since]

    async def _answered(self, conversation: str, story: Story, events: list[Event]) -> list[Event]:
        """The events, with what the log has of turns that were answered past ADK, if only in part."""
        turns = [
            [call for call in event.get_function_calls() if call.name not in OWN_FUNCTIONS]
            for event in events
        ]
        past = [turn for turn in turns if any(story.answers.came_past(call.id) for call in turn)]
        versions = story.answers.versions
        asked = {
            call.id: (versions[call.id], call.name) for turn in past for call in turn if call.id in versions
        }
        if not asked:
            return events
        places = {version for version, _ in asked.values()}
        read = self.store.events(conversation, after=min(places) - 1, to=max(places))
        found = {event.version: event async for event in read if event.version in places}
        answers = {
            call_id: answer_of(found[version], call_id, name) for call_id, (version, name) in asked.items()
        }
        return with_answers(events, answers)

    async def _kept(self, conversation: str, after: int, story: Story) -> list[Any]:
        """The events behind a version as they were kept: all by what they are, some by where they are."""
        if not after:
            return [one.value for one in await self.store.records(conversation, EVENT, at=story.version)]
        found = self.store.events(conversation, after=after, to=story.version)
        return [e.record async for e in found if isinstance(e, RecordKept) and e.kind == EVENT]

    async def _session(self, made: Mapping[str, Any], story: Story) -> Session:
        """The session without its events, and with a state that is the caller's own."""
        scopes = await self._scopes.of(made["app_name"], made["user_id"])
        state = deepcopy(story.state) | scopes
        return Session(**{**made, "state": state, "last_update_time": story.moment})


def _jsonable(state: dict[str, Any]) -> dict[str, Any]:
    """The state as JSON has it; what has no such form, as its text."""
    return dict(to_jsonable_python(state, serialize_unknown=True))
