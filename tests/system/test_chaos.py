"""A short run of `python -m tests.system.chaos --rounds 20`: one round of each kind of harm."""

from collections.abc import Iterator

import pytest

from tests.postgres import SETTINGS, need_server
from tests.system.chaos import Chaos, is_fine


@pytest.fixture(name="chaos", scope="module")
def made() -> Iterator[Chaos]:
    need_server()
    chaos = Chaos(7, *SETTINGS)
    yield chaos
    chaos.close()


@pytest.mark.parametrize("number", range(3), ids=["server stopped", "backends terminated", "answers cut off"])
def test_what_writers_are_told_is_true_whatever_is_done_to_the_server(chaos: Chaos, number: int) -> None:
    found = chaos.round(number)
    assert is_fine(found), found
