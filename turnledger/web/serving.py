"""Serving the page: a socket, a server on it, and its end. Which store and where is for who starts it."""

import socket
from collections.abc import Callable
from contextlib import closing

import uvicorn

from turnledger.infrastructure.read_models import ReadModels
from turnledger.store import ConversationStore
from turnledger.web.app import application

PATIENCE_S = 2


class Server:
    """The page of a store, on a socket that listens; `run` serves until it is interrupted or `stop`ped."""

    def __init__(
        self,
        store: ConversationStore,
        *,
        name: str,
        host: str,
        port: int,
        read_models: ReadModels | None = None,
    ) -> None:
        self._socket = _listening(host, port)
        config = uvicorn.Config(
            application(store, name=name, host=host, read_models=read_models),
            log_level="warning",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            lifespan="off",
            ws="none",
            timeout_graceful_shutdown=PATIENCE_S,
        )
        self._server = uvicorn.Server(config)
        shown = f"[{host}]" if ":" in host else host
        self.address = f"http://{shown}:{self._socket.getsockname()[1]}/"

    def run(self, ready: Callable[[], object] = lambda: None) -> None:
        """Serves; `ready` is called first, when the socket already takes connections."""
        with closing(self._socket):
            ready()
            self._server.run(sockets=[self._socket])

    def stop(self) -> None:
        """Lets what is being answered be answered, then ends `run`."""
        self._server.should_exit = True


def _listening(host: str, port: int) -> socket.socket:
    """A socket that listens there. Raises `OSError` where that cannot be."""
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    listening = socket.socket(family, kind, protocol)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen()
    except OSError:
        listening.close()
        raise
    return listening
