"""Where Google ADK's things stand in a store: a conversation each session, and each user's and app's state.

`google-adk/APP/USER/SESSION`, names as in `naming`. Files are listed in `google-adk-files/APP/USER/SESSION`,
those of a user where the session has no name, as none of ADK's is. Contents stand in `google-adk-file/…`.
"""

from collections.abc import AsyncIterator
from typing import Any

from turnledger.adapters.naming import path_of
from turnledger.infrastructure.reading import ConversationSummary

PREFIX, FILES, FILE = "google-adk", "google-adk-files", "google-adk-file"


def conversation_of(app_name: str, user_id: str | None = None, session_id: str | None = None) -> str:
    """The id of the conversation of a session, of a user's state, or of an app's."""
    return path_of(PREFIX, *(name for name in (app_name, user_id, session_id) if name is not None))


def artifacts_of(app_name: str, user_id: str, session_id: str | None = None) -> str:
    """The id of the conversation of a session's files, or of a user's: which there are."""
    return path_of(FILES, app_name, user_id, session_id or "")


def content_at(name: str) -> str:
    """The id of the conversation of a file's contents."""
    return path_of(FILE, name)


async def sessions_of(store: Any, app_name: str, user_id: str | None) -> AsyncIterator[ConversationSummary]:
    """The conversations that are sessions of an app or of one of its users, in the order of their ids."""
    start = conversation_of(app_name, user_id) + "/"
    async for summary in store.conversations(after=start):
        if not summary.conversation_id.startswith(start):
            return
        if summary.conversation_id.count("/") == 3:
            yield summary
