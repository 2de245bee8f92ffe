"""The views: what each address shows, whole or, with `?part=`, the part that changes.

They run in threads, so that reading the store holds up no other request.
"""

from collections.abc import Callable, Mapping
from typing import Any

from pydantic_core import to_json, to_jsonable_python
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from turnledger.domain.errors import CorruptEvent, InvalidArgument, NewerLog
from turnledger.domain.events import DomainEvent
from turnledger.infrastructure.read_models import ReadModels
from turnledger.projections.consequences import consequences
from turnledger.projections.legible import legible
from turnledger.projections.moment import Moment
from turnledger.projections.wire import wire
from turnledger.store import ConversationStore
from turnledger.web import timelines
from turnledger.web.addresses import DIFFS, TABS, Addresses
from turnledger.web.assets import ASSETS
from turnledger.web.diffs import comparison
from turnledger.web.faults import advice_on, status_of
from turnledger.web.listing import Listing
from turnledger.web.rendering import rendered
from turnledger.web.states import Panel, buffer_panel, held_panel, sendable_panel, wire_panel
from turnledger.web.tracks import Track, Tracks
from turnledger.web.trees import tree

DIGITS_MAX = 18
PANELS: Mapping[str, Callable[[Moment, int | None], Panel]] = {
    "buffer": buffer_panel,
    "sendable": sendable_panel,
    "wire": wire_panel,
    "held": held_panel,
}


class Views:
    """The views of one store."""

    def __init__(self, store: ConversationStore, name: str, read_models: ReadModels | None = None) -> None:
        self._store = store
        self._name = name
        self._tracks = Tracks(store)
        self._listing = Listing(store, read_models)

    def index(self, request: Request) -> Response:
        """The list of conversations."""
        return self._page(request, "index.html", "", list=self._list(request), title=self._name)

    def newest(self, request: Request) -> Response:
        """A conversation at its newest version, which it follows."""
        conversation_id = request.path_params["conversation"]
        with self._tracks.on(conversation_id) as track:
            return self._state(request, track, track.last, TABS[0], follows=True)

    def at(self, request: Request) -> Response:
        """A version, seen through a tab."""
        tab = request.path_params["tab"]
        version = _number(request.path_params["version"])
        with self._tracks.on(request.path_params["conversation"]) as track:
            if tab in TABS:
                return self._state(request, track, version, tab)
            name, _, ending = tab.rpartition(".")
            if name in TABS and ending == "json":
                return _json(track, version, name)
        raise HTTPException(404, f"There is no tab {tab!r}: choose {', '.join(TABS)}.")

    def _state(
        self, request: Request, track: Track, version: int, tab: str, *, follows: bool = False
    ) -> Response:
        part = request.query_params.get("part")
        here = Addresses(track.conversation_id)
        shown: dict[str, Any] = {"here": here, "version": version, "last": track.last, "tab": tab}
        if part == "events":
            number = max(min(version, track.last) - 1, 0) // timelines.BLOCK
            block = timelines.block(track.lines, number)
            return HTMLResponse(rendered("block.html", block=block, **shown))
        if part == "rail":
            return HTMLResponse(rendered("rail.html", cells=timelines.rail(track.lines), **shown))
        status, state = _state_of(track, version, tab, _asked(request))
        name = legible(track.conversation_id)
        values = {**shown, **state, "name": name, "title": f"{name}, version {version}", "follows": follows}
        if part == "state":
            return HTMLResponse(rendered("state.html", **values), status)
        return self._conversation(request, track, status, "state.html", values)

    def _conversation(
        self, request: Request, track: Track, status: int, right: str, values: dict[str, Any]
    ) -> Response:
        """The whole page around a state or a comparison."""
        return self._page(
            request,
            "conversation.html",
            track.conversation_id,
            status,
            list=self._list(request),
            blocks=timelines.blocks(track.lines, values["version"]),
            cells=timelines.rail(track.lines),
            right=right,
            **values,
        )

    def compare(self, request: Request) -> Response:
        """From the form with two versions to the address of their comparison."""
        here = Addresses(request.path_params["conversation"])
        a, b = (_number(request.query_params.get(key, "").strip()) for key in ("a", "b"))
        return RedirectResponse(here.diff(a, b, request.query_params.get("of", DIFFS[0])), 303)

    def diff(self, request: Request) -> Response:
        """Two versions compared."""
        params = request.path_params
        a, b, of = _number(params["a"]), _number(params["b"]), params["of"]
        if of not in DIFFS:
            raise HTTPException(404, f"There is no comparison of {of!r}: choose {', '.join(DIFFS)}.")
        with self._tracks.on(params["conversation"]) as track:
            found = comparison(self._store.diff(track.conversation_id, a, b, of=of), _asked(request))
            cause = found.cause
            name = legible(track.conversation_id)
            values = {
                "here": Addresses(track.conversation_id),
                "version": b,
                "last": track.last,
                "tab": TABS[0],
                "compared": (a, b),
                "of": of,
                "found": found,
                "cause": track.lines[cause.version - 1] if cause and cause.version <= track.last else None,
                "name": name,
                "title": f"{name}, versions {a} and {b}",
                "follows": False,
            }
            if request.query_params.get("part") == "state":
                return HTMLResponse(rendered("diff.html", **values))
            return self._conversation(request, track, 200, "diff.html", values)

    def news(self, request: Request) -> Response:
        """How far a conversation goes now: what an open page asks from time to time."""
        return JSONResponse({"version": self._store.version(request.path_params["conversation"])})

    def asset(self, request: Request) -> Response:
        """One of the page's own files."""
        asset = ASSETS.get(request.path_params["name"])
        if asset is None:
            raise HTTPException(404, "There is no such file.")
        headers = {"etag": asset.etag, "cache-control": "no-cache"}
        if request.headers.get("if-none-match") == asset.etag:
            return Response(status_code=304, headers=headers)
        return Response(asset.content, media_type=asset.media_type, headers=headers)

    def _list(self, request: Request) -> Any:
        query = request.query_params
        return self._listing.page(query.get("q", ""), query.get("after"))

    def _page(
        self, request: Request, template: str, conversation_id: str, status: int = 200, **values: Any
    ) -> Response:
        if request.query_params.get("part") == "list":
            template = "list.html"
        values = {"store": self._name, "current": conversation_id, **values}
        return HTMLResponse(rendered(template, **values), status)


def _number(text: str) -> int:
    """A version as it stands in an address."""
    if not (text.isascii() and text.isdecimal() and len(text) <= DIGITS_MAX):
        raise InvalidArgument(f"{text!r} is no version: give a number, such as 41")
    return int(text)


def _asked(request: Request) -> int | None:
    """Where the window on a long list is to begin."""
    text = request.query_params.get("from", "")
    return _number(text) if text else None


def _state_of(track: Track, version: int, tab: str, asked: int | None) -> tuple[int, dict[str, Any]]:
    """What a tab shows at a version, with the status of that; damage on the way is shown, not raised."""
    state: dict[str, Any] = {"line": None, "told": ("", "", ""), "damage": "", "advice": "", "panel": None}
    state |= {"event": None, "damaged_at": None}
    if 0 < version <= track.last:
        state["line"] = track.lines[version - 1]
        if (event := track.events[version - 1]) is not None and tab == "event":
            state["event"] = tree(event_as_map(event))
    status = 200
    try:
        moment = track.moment(version)
        state["told"] = consequences(moment.row) if moment.row else ("", "", "")
        state["panel"] = PANELS[tab](moment, asked) if tab in PANELS else None
    except (CorruptEvent, NewerLog) as error:
        status, _ = status_of(error)
        state |= {"damage": str(error), "advice": advice_on(error)}
        state["damaged_at"] = error.version if isinstance(error, CorruptEvent) else None
        if state["event"] is not None:
            status = 200  # what was asked for is shown
    return status, state


def event_as_map(event: DomainEvent) -> dict[str, Any]:
    """An event as it was recorded, under its topic."""
    plain: dict[str, Any] = to_jsonable_python(event)
    return {"topic": event.TOPIC, "envelope": plain.pop("envelope"), **plain}


def _json(track: Track, version: int, tab: str) -> Response:
    """All of what a tab shows."""
    if tab == "event":
        if not 0 < version <= track.last:
            track.moment(version)
            raise InvalidArgument("version 0 is the state before the first event: it has none")
        value: Any = event_as_map(track.event(version))
    else:
        moment = track.moment(version)
        value = {
            "buffer": lambda: [row.stored for row in moment.buffer.rows()],
            "sendable": lambda: moment.sendable()[0],
            "wire": lambda: wire(moment.buffer, moment.artifacts),
            "held": lambda: [dict(artifact) for artifact in moment.artifacts.held()],
        }[tab]()
    return Response(to_json(value, indent=2), media_type="application/json")
