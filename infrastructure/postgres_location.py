"""Where a store on PostgreSQL is, read from its URL; the password goes to the server and nowhere else."""

import re
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

import psycopg
from psycopg.conninfo import conninfo_to_dict

from turnledger.domain.errors import InvalidArgument
from turnledger.infrastructure.places import Opening

SCHEMA = "turnledger"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_$]{0,62}")
_UNREADABLE = (
    "the PostgreSQL URL cannot be read: write postgresql://user@host:5432/database, with what is special in "
    "a user or password as %40 and the like, and behind a ? only what libpq knows, and schema="
)


@dataclass(frozen=True, slots=True)
class PostgresLocation:
    """A schema of a database; `parameters` are what libpq connects with."""

    parameters: dict[str, Any] = field(repr=False)
    schema: str = SCHEMA
    create: bool = True
    read_only: bool = False
    durability: str = "full"
    timeout_s: float = 5.0

    @classmethod
    def of(cls, url: str, opening: Opening) -> "PostgresLocation":
        """Reads a URL. Raises `InvalidArgument`, which does not repeat it: it may hold a password."""
        bare, schema = _without_schema(url)
        parameters = _read(bare)
        if parameters is None or _is_torn(url) or "@" in str(parameters.get("host", "")):
            raise InvalidArgument(_UNREADABLE)
        if not _NAME.fullmatch(schema):
            raise InvalidArgument(f"schema={schema!r} must be a plain name of up to 63 letters, digits and _")
        return cls(parameters, schema, *opening)

    @property
    def may_create(self) -> bool:
        return self.create and not self.read_only

    @property
    def place(self) -> str:
        """The URL without password or parameters."""
        found = {key: str(self.parameters.get(key) or "") for key in ("user", "host", "port", "dbname")}
        user = f"{found['user']}@" if found["user"] else ""
        port = f":{found['port']}" if found["port"] else ""
        schema = f"?schema={self.schema}" if self.schema != SCHEMA else ""
        return f"postgresql://{user}{found['host']}{port}/{found['dbname']}{schema}"


def _read(url: str) -> dict[str, Any] | None:
    """What libpq reads in a URL; None where it reads nothing: its own words may repeat the password."""
    try:
        return dict(conninfo_to_dict(url))
    except (psycopg.Error, ValueError):
        return None


def _is_torn(url: str) -> bool:
    """Whether an @ stands where none may, as behind a password with an @ or a / that is not escaped: the rest
    of it would be taken for a host, and be told."""
    server, _, name = url.partition("?")[0].partition("://")[2].partition("/")
    return server.count("@") > 1 or "@" in name


def _without_schema(url: str) -> tuple[str, str]:
    """A URL without its `schema=`, which is ours, and the name that it gives."""
    base, _, query = url.partition("?")
    parts = [part for part in query.split("&") if part]
    own = [part for part in parts if part.startswith("schema=")]
    rest = "&".join(part for part in parts if part not in own)
    schema = unquote(own[-1].removeprefix("schema=")) if own else SCHEMA
    return f"{base}?{rest}" if rest else base, schema
