"""Addresses: each view has one, and an id may hold any character, a slash as well.

An id is one segment, percent-encoded. Browsers take a segment of only dots for a way up, however it is
encoded, so such an id goes with a tilde before it, and so does one that begins with a tilde.
"""

from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote, urlencode

from starlette.convertors import Convertor
from starlette.types import ASGIApp, Receive, Scope, Send

TABS = ("buffer", "sendable", "wire", "held", "event")
DIFFS = ("sendable", "buffer", "held")
LIST = "/"


def segment(conversation_id: str) -> str:
    """The segment of an address that stands for an id."""
    marked = conversation_id.startswith("~") or conversation_id in (".", "..")
    return quote(f"~{conversation_id}" if marked else conversation_id, safe="")


def id_of(found: str) -> str:
    """The id that a segment stands for; what is no UTF-8 becomes an id that no conversation has."""
    return unquote(found).removeprefix("~")


@dataclass(frozen=True, slots=True)
class Addresses:
    """The addresses of one conversation's views."""

    conversation_id: str

    @property
    def newest(self) -> str:
        return f"/c/{segment(self.conversation_id)}"

    @property
    def news(self) -> str:
        return f"{self.newest}/news"

    @property
    def diff_form(self) -> str:
        return f"{self.newest}/diff"

    def at(self, version: int, tab: str = TABS[0], **query: Any) -> str:
        """A version, seen through a tab."""
        return f"{self.newest}/{version}/{tab}{f'?{urlencode(query)}' if query else ''}"

    def json(self, version: int, tab: str) -> str:
        """All of what a tab shows, as JSON."""
        return f"{self.newest}/{version}/{tab}.json"

    def diff(self, a: int, b: int, of: str = DIFFS[0], **query: Any) -> str:
        """Two versions compared."""
        return f"{self.newest}/diff/{a}..{b}/{of}{f'?{urlencode(query)}' if query else ''}"


def listed(saying: str = "", after: str | None = None) -> str:
    """The list of conversations, from behind an id on."""
    query = {key: value for key, value in (("q", saying), ("after", after)) if value}
    return f"{LIST}?{urlencode(query)}" if query else LIST


class ConversationSegment(Convertor[str]):
    """Lets a route name a conversation."""

    regex = "[^/]+"

    def convert(self, value: str) -> str:
        return id_of(value)

    def to_string(self, value: str) -> str:
        return segment(value)


class AsWritten:
    """Matches routes against the path as it was sent: decoded, a slash in an id would divide it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            path = scope["raw_path"].decode("ascii", "replace")
            scope = {**scope, "path": path}
        await self._app(scope, receive, send)
