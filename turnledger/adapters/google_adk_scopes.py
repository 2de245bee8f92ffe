"""State of an app and of its users: a conversation each, and in it every change as a record.

A change comes with an event of a session, and is recorded behind it. One that was not, since the process
died in between, is recorded when the session is read again: it yields to what was said later meanwhile.
"""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from turnledger.adapters.extras import extra
from turnledger.adapters.folds import Folds
from turnledger.adapters.google_adk_places import conversation_of
from turnledger.adapters.google_adk_story import Scoped
from turnledger.domain.events import DomainEvent, RecordKept
from turnledger.domain.records import Record

with extra("google-adk"):
    from google.adk.sessions.state import State

STATE = "google-adk.state"


@dataclass(slots=True)
class _Scope:
    """The state of an app or a user as of a version: when each value was said, and which changes are in."""

    version: int = 0
    state: dict[str, Any] = field(default_factory=dict)
    said: dict[str, datetime] = field(default_factory=dict)
    keys: set[str] = field(default_factory=set)

    def told(self, event: DomainEvent) -> "_Scope":
        """The state with one more event; of the late, what nobody said anew since."""
        self.version = event.version
        if isinstance(event, RecordKept) and event.kind == STATE:
            self.keys.add(str(event.key))
            late = event.record.get("late")
            said = datetime.fromisoformat(late) if late else event.time
            for name, value in event.record["delta"].items():
                if late is None or name not in self.said or self.said[name] <= said:
                    self.state[name], self.said[name] = value, said
        return self


class Scopes:
    """The states of apps and users in a store, each read on from where its last reading ended."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self._known = Folds(_Scope)

    async def of(self, app_name: str, user_id: str) -> dict[str, Any]:
        """The state of the app and of the user, with the prefixes that ADK has for them; yours to change."""
        found: dict[str, Any] = {}
        for prefix, conversation in _places(app_name, user_id):
            scope = await self._scope(conversation)
            found |= {prefix + name: value for name, value in scope.state.items()}
        return deepcopy(found)

    async def keep(self, session: Mapping[str, Any], scoped: Scoped, *, is_late: bool) -> None:
        """Records what a session brought, once; `is_late` where it may have been passed over."""
        names = session["app_name"], session["user_id"]
        key = f"{conversation_of(*names, session['id'])}@{scoped.version}"
        late = {"late": scoped.time.isoformat()} if is_late else {}
        for prefix, conversation in _places(*names):
            delta = {
                name.removeprefix(prefix): value
                for name, value in scoped.delta.items()
                if name.startswith(prefix)
            }
            if delta and key not in (await self._scope(conversation)).keys:
                await self._store.append(
                    conversation, [], records=[Record(STATE, key, {"delta": delta, **late})]
                )

    async def _scope(self, conversation: str) -> _Scope:
        return await self._known.now(self._store, conversation)


def _places(app_name: str, user_id: str) -> list[tuple[str, str]]:
    return [
        (State.APP_PREFIX, conversation_of(app_name)),
        (State.USER_PREFIX, conversation_of(app_name, user_id)),
    ]
