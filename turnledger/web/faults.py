"""What goes wrong, as a page: what it was, what to do about it, the status that says so to a program."""

import logging
from collections.abc import Callable
from functools import wraps

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from turnledger.domain.errors import (
    ConversationNotFound,
    CorruptEvent,
    InvalidArgument,
    InvalidId,
    NewerLog,
    StoreBusy,
    StoreDamaged,
    TurnledgerError,
    VersionNotFound,
)
from turnledger.projections.legible import one_line
from turnledger.web.addresses import Addresses
from turnledger.web.rendering import rendered

log = logging.getLogger("turnledger")

_STATUS: dict[type[TurnledgerError], tuple[int, str]] = {
    ConversationNotFound: (404, "No such conversation"),
    InvalidId: (404, "No such conversation"),
    VersionNotFound: (404, "No such version"),
    InvalidArgument: (400, "That cannot be shown"),
    StoreBusy: (503, "The store is busy"),
    CorruptEvent: (500, "Damaged"),
    NewerLog: (500, "Written by a newer turnledger"),
    StoreDamaged: (500, "Damaged"),
}
_ADVICE: dict[type[TurnledgerError], str] = {
    CorruptEvent: "turnledger verify finds all damage, turnledger export --salvage saves what is sound.",
    StoreDamaged: "turnledger verify finds all damage, turnledger export --salvage saves what is sound.",
    StoreBusy: "Try again in a moment.",
}


def status_of(error: TurnledgerError) -> tuple[int, str]:
    """The status of an error, and a title for it."""
    return next((found for cls, found in _STATUS.items() if isinstance(error, cls)), (500, "Out of reach"))


def advice_on(error: TurnledgerError) -> str:
    return next((text for cls, text in _ADVICE.items() if isinstance(error, cls)), "")


def fault_page(request: Request, error: Exception) -> Response:
    """An error as a page, or as the part of one that was asked for."""
    if isinstance(error, HTTPException):
        status, title, reason, advice = error.status_code, "Nothing is here", error.detail, ""
    elif isinstance(error, TurnledgerError):
        (status, title), reason, advice = status_of(error), str(error), advice_on(error)
    else:
        log.error("a fault in turnledger itself, please report it: %r", error)
        status, title, reason = 500, "A fault in turnledger itself", f"Please report it: {error!r}"
        advice = ""
    reason = one_line(reason)
    known = isinstance(error, VersionNotFound | InvalidArgument) and not isinstance(error, InvalidId)
    here = Addresses(request.path_params["conversation"]) if known else None
    template = "fault_part.html" if "part" in request.query_params else "fault.html"
    told = f"{reason[:1].upper()}{reason[1:]}{'' if reason.endswith('.') else '.'}"
    page = rendered(template, title=title, reason=told, advice=advice, here=here)
    return HTMLResponse(page, status)


def answering(view: Callable[[Request], Response]) -> Callable[[Request], Response]:
    """A view that answers whatever goes wrong in it with a page."""

    @wraps(view)
    def answer(request: Request) -> Response:
        try:
            return view(request)
        except Exception as error:
            return fault_page(request, error)

    return answer
