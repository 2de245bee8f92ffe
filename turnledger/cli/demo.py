"""`demo`: one conversation with all that goes wrong in real ones, told as it happens on a real store."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from turnledger.cli import story
from turnledger.cli.options import store_option_here, store_path
from turnledger.cli.telling import Teller
from turnledger.domain.errors import ConversationNotFound
from turnledger.store import ConversationStore

PATIENCE_S = 0.3
NAME = "demo"

_HELP = """Tell the story of one conversation on a real store, as it happens.

The store is a temporary file unless one is named; then the conversation stays in it.

\b
Examples:
  turnledger demo
  turnledger demo --fast
  turnledger --store demo.db demo
"""


@click.command(help=_HELP)
@click.option("--fast", is_flag=True, help="Without pauses; there are none anyway when it is not a terminal.")
@store_option_here
def demo(fast: bool) -> None:
    named = store_path()
    with _place(named) as path, ConversationStore(path, timeout_s=PATIENCE_S) as store:
        teller = Teller(store, _free_id(store), pauses=not fast)
        story.call_cut_off(teller, path)
        story.user_carries_on(teller)
        story.result_arrives_late(teller)
        story.retry_changes_nothing(teller)
        story.model_reuses_id(teller)
        story.run_pauses_twice(teller)
        story.write_back_fails(teller, path)
        story.write_back_delivers(teller)
        story.audit(teller)
        _farewell(teller, named)


@contextmanager
def _place(named: str | None) -> Iterator[str]:
    """The store's file: the one that was named, or one that is gone afterwards."""
    if named:
        yield named
        return
    with tempfile.TemporaryDirectory(prefix="turnledger-") as folder:
        yield str(Path(folder) / "demo.db")


def _free_id(store: ConversationStore) -> str:
    """An id that no conversation has: `demo`, then `demo-2`, and so on."""
    number = 1
    while True:
        candidate = NAME if number == 1 else f"{NAME}-{number}"
        try:
            store.version(candidate)
        except ConversationNotFound:
            return candidate
        number += 1


def _farewell(teller: Teller, named: str | None) -> None:
    teller.line()
    if named:
        teller.aside(f"Look around: turnledger --store {named} log {teller.conversation_id}")
    else:
        teller.aside("The store was a temporary file. To keep one: turnledger --store demo.db demo")
