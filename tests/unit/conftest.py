"""The decisions are tested on a store in memory and on PostgreSQL: the same rules on each."""

from collections.abc import Iterator

import pytest

from tests import spec
from tests.postgres import need_server, new_url

ON_BOTH = ("appending", "compacting", "delivering", "inbox", "requests", "retracting", "records")
"""What is done to a store; what follows from its events alone is the same on each."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if hasattr(metafunc.module, "Given"):
        on_both = metafunc.module.__name__.rpartition("test_")[2] in ON_BOTH
        long = metafunc.definition.get_closest_marker("memory_only")
        metafunc.fixturenames.append("given_on")
        metafunc.parametrize(
            "given_on", ["memory", "postgres"] if on_both and not long else ["memory"], indirect=True
        )


@pytest.fixture
def given_on(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Where each `Given` has its store."""
    if request.param == "postgres":
        need_server()
        monkeypatch.setattr(spec, "new_place", new_url)
    yield
    while spec.OPEN:
        spec.OPEN.pop().close()
