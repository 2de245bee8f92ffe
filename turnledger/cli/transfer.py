"""`import` and `export`: conversations from and to files."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import click
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from turnledger.cli.exporting import EXPORT_FORMATS, exported, lines_to
from turnledger.cli.mistakes import DAMAGE, complain
from turnledger.cli.options import (
    json_option,
    standard_input,
    store_option_here,
    store_to_read,
    store_to_write,
)
from turnledger.cli.screen import Screen, json_line
from turnledger.cli.serving import require_web
from turnledger.domain.errors import (
    CorruptEvent,
    ImportConflict,
    InvalidArgument,
    InvalidMessage,
    NewerLog,
    TurnledgerError,
)
from turnledger.importing import (
    ALIASES,
    FORMATS,
    BadLine,
    Imported,
    Transcript,
    import_sound,
    read_transcripts,
    renamed,
)
from turnledger.importing.doctor.writable import unwritable_in
from turnledger.projections.legible import counted, one_line
from turnledger.store import ConversationStore

_IMPORT_HELP = """Import conversations from a file, or from - for standard input.

The file holds one conversation a line ({"id", "messages"} or a list of messages), one message a line, or one
JSON conversation or list of them; or it is the SQLite file of the OpenAI Agents SDK or of llm. Importing a
file again records nothing; one that has grown adds only what is new. What cannot be read is named, and the
rest is imported.

\b
Examples:
  turnledger import transcripts.jsonl
  turnledger import chat.json --id cats --format openai-chat
  turnledger import "$(llm logs path)"
"""
PAGE = "html"
_EXPORT_HELP = """Export conversations as JSON Lines, one a line: {"id", "messages"}. Without ID, all of them.

With --format html it is one conversation's timeline, as a single file for a browser that needs nothing else.

\b
Examples:
  turnledger export > all.jsonl
  turnledger export cats dogs --output pets.jsonl
  turnledger export --salvage --output sound.jsonl
  turnledger export cats --format html --output cats.html
"""


@click.command("import", help=_IMPORT_HELP)
@click.argument("file", metavar="FILE")
@click.option(
    "--format",
    type=click.Choice([*FORMATS, *ALIASES]),
    help="The messages' format; without it, it is guessed and said.",
)
@click.option(
    "--id",
    "wanted",
    metavar="ID",
    help="The id of the file's conversation, whatever id it brings. Of several, those that bring one keep "
    "it, and the others are ID, ID-2, and so on.",
)
@json_option
@store_option_here
@click.pass_context
def import_(ctx: click.Context, file: str, format: str | None, wanted: str | None, as_json: bool) -> None:
    path = Path(file)
    name = wanted or ("stdin" if file == "-" else path.stem)
    with _opened(path) as source, store_to_write() as store:
        tally = _Tally()
        items = read_transcripts(source, name)
        for item in renamed(items, wanted) if wanted else items:
            tally.take(store, item, format)
        tally.raise_if_all_failed()
    if as_json:
        click.echo(json_line(tally.as_map()))
    else:
        tally.show(Screen())
    if tally.failures:
        ctx.exit(DAMAGE)


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    """The file, with a bar on standard error that shows how far it was read."""
    if str(path) == "-":
        yield standard_input()
        return
    console = Console(stderr=True)
    columns = (TextColumn("importing"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    try:
        file = path.open("rb")
    except (OSError, ValueError) as error:
        raise click.ClickException(
            f"cannot read {path}: {getattr(error, 'strerror', None) or error}"
        ) from error
    with (
        file,
        Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress,
        progress.wrap_file(file, total=path.stat().st_size, description="importing") as read,
    ):
        yield read


# what concerns one conversation alone, so that the next can be tried
_ITS_OWN = (InvalidArgument, InvalidMessage, ImportConflict, CorruptEvent, NewerLog)


class _Tally:
    """What became of each conversation of a file."""

    def __init__(self) -> None:
        self.done: list[Imported] = []
        self.notes: list[tuple[str, str]] = []
        self.changed: list[tuple[str, int]] = []
        self.failures: list[tuple[str, str | None, Exception]] = []

    def take(self, store: ConversationStore, item: Transcript | BadLine, format: str | None) -> None:
        if isinstance(item, BadLine):
            self.failures.append((item.place, None, click.ClickException(item.reason)))
            return
        try:
            done, bad = import_sound(store, item, format)
            self.done.append(done)
            for one in bad:
                self.failures.append((one.place, item.conversation_id, click.ClickException(one.reason)))
            changed = unwritable_in(item.messages[len(item.messages) - done.messages :])
            self.changed += [(item.conversation_id, changed)] if changed else []
            self.notes += [(item.conversation_id, note) for note in item.notes]
        except _ITS_OWN as error:
            self.failures.append((item.place, item.conversation_id, error))

    def raise_if_all_failed(self) -> None:
        """A file of one conversation that could not be imported is a mistake like any other."""
        if not self.done and len(self.failures) == 1:
            place, conversation_id, error = self.failures[0]
            if isinstance(error, ImportConflict | CorruptEvent):
                raise error
            raise click.ClickException(_failure(place, conversation_id, error))
        for failure in self.failures:
            complain(_failure(*failure))

    def as_map(self) -> dict[str, object]:
        return {
            "conversations": [
                {
                    "id": one.conversation_id,
                    "outcome": one.outcome,
                    "messages": one.messages,
                    "format": one.format,
                }
                for one in self.done
            ],
            "messages": sum(one.messages for one in self.done),
            "left_out": [{"id": conversation_id, "what": note} for conversation_id, note in self.notes],
            "changed": [{"id": conversation_id, "values": count} for conversation_id, count in self.changed],
            "failures": [
                {"place": place, "id": conversation_id, "reason": str(error)}
                for place, conversation_id, error in self.failures
            ],
        }

    def show(self, screen: Screen) -> None:
        outcomes = Counter(one.outcome for one in self.done)
        told = ", ".join(f"{number:,} {outcome}" for outcome, number in outcomes.items()) or "none"
        messages = sum(one.messages for one in self.done)
        entries = sum(one.report.appended for one in self.done if one.report)
        failed = f"; {len(self.failures):,} not imported" if self.failures else ""
        formats = " and ".join(dict.fromkeys(one.format for one in self.done))
        read_as = f"; read as {formats}" if formats else ""
        screen.line(
            (counted(len(self.done), "conversation"), "bold"),
            f": {told}; {counted(messages, 'message')} recorded as {counted(entries, 'entry', 'entries')}",
            read_as,
            (failed, "bold red"),
        )
        for conversation_id, note in self.notes:
            screen.line((f"left out of {one_line(conversation_id)}: {note}", "dim"))
        for conversation_id, count in self.changed:
            told = f"{counted(count, 'value')} that JSON in UTF-8 has no words for: now U+FFFD, or null"
            screen.line((f"changed in {one_line(conversation_id)}: {told}", "dim"))


def _failure(place: str, conversation_id: str | None, error: Exception) -> str:
    reason = error.format_message() if isinstance(error, click.ClickException) else str(error)
    named = f", conversation {conversation_id!r}" if conversation_id else ""
    return f"{place}{named}: {reason}; it was not imported"


@click.command(help=_EXPORT_HELP)
@click.argument("conversation_ids", metavar="[ID]...", nargs=-1)
@click.option(
    "--format", type=click.Choice([*EXPORT_FORMATS, PAGE]), default=EXPORT_FORMATS[0], show_default=True
)
@click.option("--output", metavar="FILE", help="Write there; the file is replaced when all is written.")
@click.option(
    "--salvage", is_flag=True, help="Of damaged conversations export what is sound, and name the rest."
)
@store_option_here
@click.pass_context
def export(
    ctx: click.Context, conversation_ids: tuple[str, ...], format: str, output: str | None, salvage: bool
) -> None:
    if format == PAGE:
        _export_page(ctx, conversation_ids, output, salvage)
        return
    damage: list[TurnledgerError] = []
    left_out: list[str] = []
    count = 0
    with store_to_read() as store, lines_to(output) as write:
        for conversation in exported(store, conversation_ids, format, damage if salvage else None, left_out):
            write(json_line(conversation))
            count += 1
    for error in damage:
        complain(f"lost: {error}")
    for drop in left_out:
        complain(f"left out: {drop}")
    if output not in (None, "-"):
        click.echo(f"{counted(count, 'conversation')} written to {output}", err=True)
    if damage:
        ctx.exit(DAMAGE)


def _export_page(
    ctx: click.Context, conversation_ids: tuple[str, ...], output: str | None, salvage: bool
) -> None:
    """One conversation's timeline as HTML."""
    require_web()
    from turnledger.web.exporting import document  # noqa: PLC0415

    if len(conversation_ids) != 1:
        raise click.UsageError("--format html needs the ID of one conversation")
    with store_to_read() as store:
        text, damaged = document(store, conversation_ids[0], salvage=salvage)
    with lines_to(output) as write:
        write(text)
    if damaged:
        complain(f"{counted(damaged, 'event')} of {conversation_ids[0]} cannot be read")
        ctx.exit(DAMAGE)
