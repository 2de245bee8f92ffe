"""Where Google ADK's things stand in a store: a conversation each session, and each user's and app's state.

`google-adk/APP/USER/SESSION`; a `/` or `%` in a name is written as `%2F` or `%25`.
"""

from collections.abc import AsyncIterator
from typing import Any

PREFIX = "google-adk"


def conversation_of(app_name: str, user_id: str | None = None, session_id: str | None = None) -> str:
    """The id of the conversation of a session, of a user's state, or of an app's."""
    names = [name for name in (app_name, user_id, session_id) if name is not None]
    return "/".join([PREFIX, *(name.replace("%", "%25").replace("/", "%2F") for name in names)])


async def sessions_of(store: Any, app_name: str, user_id: str | None) -> AsyncIterator[str]:
    """The conversations that are sessions of an app or of one of its users, in the order of their ids."""
    start = conversation_of(app_name, user_id) + "/"
    async for summary in store.conversations(after=start):
        if not summary.conversation_id.startswith(start):
            return
        if summary.conversation_id.count("/") == 3:
            yield summary.conversation_id
