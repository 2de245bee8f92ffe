"""Files of Google ADK's agents: what they cost, how they may be called, what goes with a session."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.judges.official import library
from tests.system.adapters.staging import run
from turnledger import ConversationStore

pytestmark = pytest.mark.filterwarnings("ignore")  # of ADK's own

library("google.adk")

from google.adk.errors.input_validation_error import InputValidationError  # noqa: E402
from google.genai import types  # noqa: E402

from turnledger.adapters.google_adk import (  # noqa: E402
    TurnledgerArtifactService,
    TurnledgerSessionService,
)

USER = {"app_name": "shop", "user_id": "u"}
NAMED = {**USER, "session_id": "s"}


class Counting(ConversationStore):
    """A store that counts what is read of it."""

    read = 0

    def events(self, *args: Any, **options: Any) -> Any:
        for event in super().events(*args, **options):
            self.read += 1
            yield event


@pytest.fixture
def store() -> Iterator[Counting]:
    with Counting(":memory:") as opened:
        yield opened


def part(number: int) -> types.Part:
    return types.Part.from_bytes(data=bytes([number]), mime_type="a/b")


def test_a_file_is_saved_and_read_without_reading_the_others(store: Counting) -> None:
    async def main() -> None:
        files: Any = TurnledgerArtifactService(store)
        for number in range(30):
            await files.save_artifact(**NAMED, filename=f"f{number % 3}", artifact=part(number))
        store.read = 0
        assert await files.save_artifact(**NAMED, filename="f0", artifact=part(30)) == 10
        assert (await files.load_artifact(**NAMED, filename="f1", version=0)).inline_data.data == b"\x01"
        assert await files.list_artifact_keys(**NAMED) == ["f0", "f1", "f2"]
        assert store.read < 6

    run(main())


def test_contents_are_not_read_with_the_session_nor_for_names(store: Counting) -> None:
    async def main() -> None:
        files: Any = TurnledgerArtifactService(store)
        sessions: Any = TurnledgerSessionService(store)
        await sessions.create_session(**NAMED)
        for number in range(30):
            await files.save_artifact(**NAMED, filename="f", artifact=part(number))
        store.read = 0
        await TurnledgerSessionService(store).get_session(**NAMED)
        assert store.read == 2
        assert await TurnledgerArtifactService(store).list_versions(**NAMED, filename="f") == list(range(30))
        assert store.read == 33

    run(main())


@pytest.mark.parametrize(
    "name", ["", " ", "..", "../x", "/abs", "a\nb\x00", "n" * 2_000, "né 😀", "user:", "user:../" + "x" * 300]
)
def test_a_file_may_have_any_name(store: Counting, name: str) -> None:
    async def main() -> None:
        files: Any = TurnledgerArtifactService(store)
        for number in range(2):
            assert await files.save_artifact(**NAMED, filename=name, artifact=part(number)) == number
        assert (await files.load_artifact(**NAMED, filename=name)).inline_data.data == b"\x01"
        assert await files.load_artifact(**NAMED, filename=name + "!") is None
        assert await files.list_artifact_keys(**NAMED) == [name]
        await files.delete_artifact(**NAMED, filename=name)
        assert await files.list_artifact_keys(**NAMED) == []
        assert await files.save_artifact(**NAMED, filename=name, artifact=part(9)) == 0

    run(main())


def test_a_file_that_is_nobodys_is_refused_and_a_users_needs_no_session(store: Counting) -> None:
    async def main() -> None:
        files: Any = TurnledgerArtifactService(store)
        for session in {}, {"session_id": ""}:
            with pytest.raises(InputValidationError):
                await files.save_artifact(**USER, **session, filename="f", artifact=part(0))
        assert await files.save_artifact(**USER, filename="user:f", artifact=part(1)) == 0
        assert await files.list_artifact_keys(**USER, session_id="") == ["user:f"]

    run(main())


def test_files_of_a_session_go_with_it_and_those_of_the_user_stay(store: Counting) -> None:
    async def main() -> None:
        files: Any = TurnledgerArtifactService(store)
        sessions: Any = TurnledgerSessionService(store)
        await sessions.create_session(**NAMED)
        for name in "f", "user:f":
            await files.save_artifact(**NAMED, filename=name, artifact=part(1))
        await sessions.delete_session(**NAMED)
        anew: Any = TurnledgerArtifactService(store)
        for one in files, anew:
            assert await one.list_artifact_keys(**NAMED) == ["user:f"]
            assert await one.load_artifact(**NAMED, filename="f") is None
        assert await files.save_artifact(**NAMED, filename="f", artifact=part(2)) == 0
        assert (await files.load_artifact(**NAMED, filename="f")).inline_data.data == b"\x02"
        assert store.verify().ok

    run(main())
