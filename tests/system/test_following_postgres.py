"""A PostgreSQL log followed: pushed by its subscription, and through the loss of the server."""

import threading
import time
from pathlib import Path

import pytest

from tests.postgres import Server, need_server, new_url
from tests.system.histories import forking, healing, pausing
from tests.tables import all_conversations, assert_tables_show
from turnledger import ConversationStore, InvalidArgument, ReadModels
from turnledger.infrastructure.following import RecorderFollowed

WAIT_S = 60


def user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


class Follower:
    """Follows in a thread; waited for by what it has reached."""

    def __init__(self, models: ReadModels) -> None:
        self._models = models
        self._stop = threading.Event()
        self._thread = threading.Thread(target=models.follow, args=(self._stop, self._reached))
        self.position = 0

    def _reached(self, standing: object) -> None:
        self.position = standing.position  # type: ignore[attr-defined]

    def __enter__(self) -> "Follower":
        self._thread.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._stop.set()
        self._thread.join(WAIT_S)
        assert not self._thread.is_alive()

    def reaches(self, position: int) -> bool:
        end = time.monotonic() + WAIT_S
        while self.position < position and time.monotonic() < end:
            time.sleep(0.01)
        return self.position >= position


def test_the_tables_show_what_the_log_holds(tmp_path: Path) -> None:
    need_server()
    with ConversationStore(new_url()) as store, store.read_models(tmp_path / "reads.db") as models:
        forking(store)
        healing(store)
        pausing(store)
        assert isinstance(models._followed, RecorderFollowed)
        assert models.catch_up().lag == 0
        for found in all_conversations(store):
            assert_tables_show(models, store, found, store.version(found))
        assert models.verify().ok


def test_new_events_are_pushed(tmp_path: Path) -> None:
    need_server()
    with ConversationStore(new_url()) as store, store.read_models(tmp_path / "reads.db") as models:
        store.append("c", user("before"))
        followed = models._followed
        assert isinstance(followed, RecorderFollowed)
        with Follower(models) as follower:
            assert follower.reaches(followed.last())
            end = time.monotonic() + WAIT_S
            while followed._pushed is None and time.monotonic() < end:
                time.sleep(0.01)
            store.append("c", user("while it waits"))
            assert follower.reaches(followed.last())
        assert models.verify().ok


def test_a_follower_outlives_the_loss_of_the_server(tmp_path: Path) -> None:
    need_server()
    server = Server()
    try:
        with (
            ConversationStore(server.url(), timeout_s=20) as store,
            ConversationStore(server.url(), timeout_s=1) as same,
            same.read_models(tmp_path / "reads.db") as models,
        ):
            store.append("c", user("before"))
            with Follower(models) as follower:
                assert follower.reaches(models._followed.last())
                server.stop("immediate")
                time.sleep(0.3)
                server.start()
                store.append("c", user("after"))
                assert follower.reaches(3)
            assert models.verify().ok
            assert models.standing().lag == 0
    finally:
        server.remove()


def test_a_store_on_a_server_has_no_place_beside_it() -> None:
    need_server()
    with ConversationStore(new_url()) as store, pytest.raises(InvalidArgument, match="name one"):
        store.read_models()
