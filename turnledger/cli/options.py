"""What commands share: the store that they work on, their common options, and how values are read."""

import sys
from collections.abc import Callable
from datetime import datetime
from typing import Any, BinaryIO

import click

from turnledger.store import ConversationStore

STORE_VARIABLE = "TURNLEDGER_STORE"
VERSION_DIGITS_MAX = 18

Decorator = Callable[[Any], Any]


def _remember(ctx: click.Context, parameter: click.Parameter, value: str | None) -> None:
    if value is not None:
        ctx.find_root().obj = value


store_option: Decorator = click.option(
    "--store",
    metavar="STORE",
    envvar=STORE_VARIABLE,
    expose_value=False,
    callback=_remember,
    help=f"The store to work on: a file, or a postgresql:// URL. [or: {STORE_VARIABLE}]",
)
store_option_here: Decorator = click.option(
    "--store", metavar="STORE", expose_value=False, callback=_remember, help="The same, given here."
)
expected_version_option: Decorator = click.option(
    "--expected-version",
    type=click.IntRange(min=0),
    metavar="VERSION",
    help="Refuse if the buffer has changed since.",
)
read_models_option: Decorator = click.option(
    "--read-models",
    metavar="FILE",
    envvar="TURNLEDGER_READ_MODELS",
    help="The file of the read models; or set TURNLEDGER_READ_MODELS.  [default: beside the store's file, "
    "chats-read.db for chats.db]",
)
json_option: Decorator = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def store_path() -> str | None:
    """The store that was named, if one was."""
    named: str | None = click.get_current_context().find_root().obj
    return named


def _named() -> str:
    path = store_path()
    if not path:
        raise click.ClickException(f"no store is named: give --store FILE, or set {STORE_VARIABLE}")
    return path


def store_to_read() -> ConversationStore:
    """The named store, of which nothing is changed; it must exist."""
    return ConversationStore(_named(), create=False, read_only=True)


def store_to_write(*, create: bool = True) -> ConversationStore:
    """The named store, made where there is none."""
    return ConversationStore(_named(), create=create)


def standard_input() -> BinaryIO:
    """Standard input, as bytes."""
    if sys.stdin is None:
        raise click.ClickException("standard input is closed: give a file")
    return sys.stdin.buffer


def moment(ctx: click.Context, parameter: click.Parameter, value: str | None) -> int | datetime | None:
    """A version, or a time with its zone."""
    if value is None:
        return None
    if value.isascii() and value.isdecimal() and len(value) <= VERSION_DIGITS_MAX:
        return int(value)
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        raise click.BadParameter(
            f"{value!r} is neither a version (41) nor a time (2026-05-01T12:00:00Z)"
        ) from None
    if moment.tzinfo is None:
        raise click.BadParameter(f"the time {value!r} does not say its zone: add Z or +02:00")
    return moment


at_option: Decorator = click.option(
    "--at",
    callback=moment,
    metavar="VERSION|TIME",
    help="As it was then: a version, or an ISO time with its zone.",
)
