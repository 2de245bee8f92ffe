"""Which database keeps a store: read from its URL, or from the name of a persistence module."""

import os
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from turnledger.domain.errors import InvalidArgument, PackageMissing
from turnledger.infrastructure.location import SYNCHRONOUS, Location
from turnledger.infrastructure.storage import ConversationFactory

POSTGRES_SCHEMES = ("postgresql", "postgres")


class Place(Protocol):
    """Where a store is, and what every call on it must know."""

    @property
    def place(self) -> str:
        """How errors name it, without a password."""

    @property
    def read_only(self) -> bool: ...

    @property
    def timeout_s(self) -> float: ...


class Opening(NamedTuple):
    """The options that a store is opened with, as far as its database is concerned."""

    create: bool
    read_only: bool
    durability: str
    timeout_s: float


class Found(NamedTuple):
    """A place, and how eventsourcing's factory for its database is made."""

    place: Place
    factory: Callable[[], Any]


def place_of(
    url: Any, opening: Opening, module: str | None = None, settings: Mapping[str, str] | None = None
) -> Found:
    """The place that a path, a URL or a persistence module names. Raises `InvalidArgument`."""
    if module is not None:
        return _of_module(url, opening, module, settings)
    if settings is not None:
        raise InvalidArgument("persistence_settings belong to a persistence_module: name that too")
    text = _text_of(url)
    if text.partition(":")[0] in POSTGRES_SCHEMES:
        return _of_postgres(text, opening)
    if "password=" in text:  # no file's name: it would be repeated in errors
        raise InvalidArgument("name a PostgreSQL store by a URL: postgresql://user@host/database")
    return _of_sqlite(text, opening)


def _of_sqlite(text: str, opening: Opening) -> Found:
    location = Location(
        path_of(text), opening.create, opening.read_only, SYNCHRONOUS[opening.durability], opening.timeout_s
    )
    return Found(location, lambda: ConversationFactory(None, location))


def _of_postgres(text: str, opening: Opening) -> Found:
    if find_spec("psycopg") is None or find_spec("psycopg_pool") is None:
        raise PackageMissing("PostgreSQL needs more packages: pip install 'turnledger[postgres]'")
    from turnledger.infrastructure.postgres import PostgresConversationFactory  # noqa: PLC0415
    from turnledger.infrastructure.postgres_location import PostgresLocation  # noqa: PLC0415

    location = PostgresLocation.of(text, opening)
    return Found(location, lambda: PostgresConversationFactory(location))


def _of_module(url: Any, opening: Opening, module: str, settings: Mapping[str, str] | None) -> Found:
    from turnledger.infrastructure.modules import ModuleFactory, ModuleLocation  # noqa: PLC0415

    if url is not None:
        raise InvalidArgument("give a URL or a persistence_module, not both: the module has its own settings")
    location = ModuleLocation.of(module, settings or {}, opening)
    return Found(location, lambda: ModuleFactory(location))


def _text_of(url: Any) -> str:
    try:
        text = os.fspath(url)
    except TypeError:
        raise InvalidArgument(f"name the store by a path, ':memory:' or a URL, not {url!r}") from None
    return os.fsdecode(text) if isinstance(text, bytes) else text


def path_of(url: Any) -> Path | None:
    """The file that a path or an SQLite URL names; None for one in memory."""
    text = _text_of(url)
    scheme, separator, rest = text.partition("://")
    if separator and scheme != "sqlite":
        raise InvalidArgument(
            f"this release opens sqlite:///path and postgresql://user@host/database, not {scheme}://…"
        )
    if separator:
        text = rest.removeprefix("/") or ":memory:"
    if text == ":memory:":
        return None
    if not text.strip() or "\0" in text:
        raise InvalidArgument("name the store by a path, ':memory:' or a sqlite:///path URL")
    return Path(text).absolute()
