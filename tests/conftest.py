"""What all tests share: the signals of a person at a terminal, and the databases that keep a store."""

import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.postgres import need_server, new_url


def pytest_configure() -> None:
    """Started in the background, a shell has them ignore SIGINT, and every process that they start too."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(name="new_place", params=["file", "postgres"])
def new_places(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Path | str]:
    """Names places of stores that are not there yet, on each database that several stores can share."""
    made: list[Path] = []

    def in_file() -> Path:
        made.append(tmp_path / f"store{len(made) or ''}.db")
        return made[-1]

    if request.param == "file":
        return in_file
    need_server()
    return new_url


@pytest.fixture(name="place")
def one_place(new_place: Callable[[], Path | str]) -> Path | str:
    """The place of one store that is not there yet."""
    return new_place()
