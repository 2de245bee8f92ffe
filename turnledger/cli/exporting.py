"""Conversations on their way out: rendered for a provider, and written whole or not at all."""

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

import click

from turnledger.domain.errors import CorruptEvent, NewerLog, StoreDamaged, TurnledgerError
from turnledger.domain.events import DomainEvent
from turnledger.projections.providers import PROVIDERS
from turnledger.projections.salvage import salvaged
from turnledger.projections.sendable import normalized_items
from turnledger.store import ConversationStore

EXPORT_FORMATS = list(PROVIDERS)


def exported(
    store: ConversationStore,
    named: tuple[str, ...],
    format: str,
    damage: list[TurnledgerError] | None,
    left_out: list[str],
) -> Iterator[dict[str, Any]]:
    """Each conversation as its id and its request; what no provider would accept is named in `left_out`.

    With a list of `damage` a damaged one gives what is sound, and what is not is added to the list; without,
    it raises.
    """
    for conversation_id in named or _all_ids(store, damage):
        try:
            sendable = store.sendable(conversation_id, provider=format)
            request, drops = sendable.request or {}, list(sendable.drops)
        except (CorruptEvent, NewerLog, StoreDamaged):
            if damage is None:
                raise
            items, drops = normalized_items(salvaged(_sound(store, conversation_id, damage)))
            _, request = PROVIDERS[format](items)
        left_out.extend(
            f"conversation {conversation_id!r}, position {drop.index}: {drop.reason}" for drop in drops
        )
        yield {"id": conversation_id, **request}


def _all_ids(store: ConversationStore, damage: list[TurnledgerError] | None) -> Iterator[str]:
    try:
        for found in store.conversations():
            yield found.conversation_id
    except StoreDamaged as error:
        if damage is None:
            raise
        damage.append(error)


def _sound(
    store: ConversationStore, conversation_id: str, damage: list[TurnledgerError]
) -> Iterator[DomainEvent]:
    """The events that can be read; what cannot is added to `damage`."""
    try:
        events = store.events(conversation_id, damaged="skip")
        yield from events
        damage.extend(events.damaged)
    except StoreDamaged as error:
        damage.append(error)


@contextmanager
def lines_to(output: str | None) -> Iterator[Callable[[str], None]]:
    """What writes a line: to standard output, or to a file that is replaced only when all was written."""
    if output is None or output == "-":
        yield click.echo
        return
    with text_to(output) as file:
        yield lambda text: _write_line(file, text)


@contextmanager
def text_to(output: str, errors: str = "strict") -> Iterator[TextIO]:
    """A file for text as it is, replaced only when all was written."""
    path = Path(output).resolve()
    try:
        special = path.exists() and not path.is_file()  # a device or a pipe cannot be replaced
        file = _opened(path, errors) if special else _beside(path, errors)
    except OSError as error:
        raise click.ClickException(f"cannot write {output}: {error.strerror}") from error
    try:
        with file:
            yield file
            file.flush()
            if not special:
                os.fsync(file.fileno())
        if not special:
            Path(file.name).chmod(_mode_of(path))
            Path(file.name).replace(path)
    finally:
        if not special:
            Path(file.name).unlink(missing_ok=True)


def _opened(path: Path, errors: str) -> TextIO:
    return path.open("w", encoding="utf-8", errors=errors, newline="")


def _write_line(file: TextIO, text: str) -> None:
    file.write(f"{text}\n")


def _beside(path: Path, errors: str) -> TextIO:
    """A new file in the same folder, so that it can take the other's place in one step; its name is short,
    as that of the other may be as long as a name can be."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name[:20]}.", dir=path.parent)
    os.close(handle)
    return _opened(Path(name), errors)


def _mode_of(path: Path) -> int:
    """The rights of the file that is replaced, or those that a new one gets."""
    try:
        return path.stat().st_mode & 0o777
    except OSError:
        umask = os.umask(0)
        os.umask(umask)
        return 0o666 & ~umask
