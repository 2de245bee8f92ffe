"""The page as tests have it: a real server on a free port, in a thread, closed properly."""

import http.client
import json
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from turnledger import ConversationStore
from turnledger.web.serving import Server


@dataclass(frozen=True)
class Answer:
    """What a request was answered with."""

    status: int
    headers: dict[str, str]
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)


@dataclass(frozen=True)
class Served:
    """A server that runs, at an address that ends with a slash."""

    address: str

    def get(self, path: str, *, method: str = "GET", **headers: str) -> Answer:
        """Asks for a path exactly as it is given."""
        place = urlsplit(self.address)
        connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=20)
        try:
            connection.putrequest(method, path, skip_host="host" in headers)
            for name, value in headers.items():
                connection.putheader(name.replace("_", "-"), value)
            connection.endheaders()
            response = connection.getresponse()
            found = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, found, response.read().decode())
        finally:
            connection.close()


@contextmanager
def served(path: Path, *, host: str = "127.0.0.1", searches: bool = False) -> Iterator[Served]:
    """The page of a store for the block; afterwards its thread has ended and its socket is closed.

    With `searches` it has read models to search in.
    """
    with ExitStack() as stack:
        store = stack.enter_context(ConversationStore(path, create=False, read_only=True))
        models = stack.enter_context(store.read_models()) if searches else None
        server = Server(store, name=path.name, host=host, port=0, read_models=models)
        running = threading.Event()
        thread = threading.Thread(target=server.run, args=(running.set,), daemon=True)
        thread.start()
        assert running.wait(10)
        try:
            yield Served(server.address)
        finally:
            server.stop()
            thread.join(10)
            assert not thread.is_alive()
