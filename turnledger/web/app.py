"""The page as an ASGI application: which address is answered by which view, behind the guard."""

from starlette.applications import Starlette
from starlette.convertors import register_url_convertor
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from turnledger.infrastructure.read_models import ReadModels
from turnledger.store import ConversationStore
from turnledger.web.addresses import AsWritten, ConversationSegment
from turnledger.web.faults import answering, fault_page
from turnledger.web.security import Guard
from turnledger.web.views import Views

register_url_convertor("conversation", ConversationSegment())


def application(
    store: ConversationStore, *, name: str, host: str = "127.0.0.1", read_models: ReadModels | None = None
) -> ASGIApp:
    """The page of a store that is called `name` there, for a server that listens on `host`.

    With `read_models` it searches in them.
    """
    views = Views(store, name, read_models)
    of = "/c/{conversation:conversation}"
    routes = [
        Route("/", answering(views.index)),
        Route(of, answering(views.newest)),
        Route(of + "/news", answering(views.news)),
        Route(of + "/diff", answering(views.compare)),
        Route(of + "/diff/{a}..{b}/{of}", answering(views.diff)),
        Route(of + "/{version}/{tab}", answering(views.at)),
        Route("/static/{name}", answering(views.asset)),
    ]
    return Guard(AsWritten(Starlette(routes=routes, exception_handlers={HTTPException: _lost})), host)


def _lost(request: Request, error: Exception) -> Response:
    return fault_page(request, HTTPException(404, "There is no page under that address."))
