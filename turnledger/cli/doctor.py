"""`doctor`: what a provider would refuse of a transcript, one line each, and the file that it accepts."""

import gc
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from turnledger.cli.exporting import text_to
from turnledger.cli.mistakes import DAMAGE
from turnledger.cli.options import json_option, standard_input
from turnledger.cli.screen import Screen, json_line
from turnledger.domain.errors import InvalidArgument
from turnledger.importing import ALIASES
from turnledger.importing.doctor import Examined, examine_database, examine_text, fix_database
from turnledger.importing.doctor.anatomies import EXAMINED
from turnledger.importing.openai_agents import NAME as AGENTS
from turnledger.importing.sqlite_files import MAGIC
from turnledger.projections.legible import counted, one_line

FORMATS = sorted([*EXAMINED, AGENTS])
_HELP = """Examine a transcript: what its provider would refuse, and why, one finding a line with its place.

FILE, or - for standard input, is JSON or JSON Lines in any layout that 'turnledger import' reads, or the
SQLite file of the OpenAI Agents SDK or of llm; no store is needed. With --fix the same file is written with
the least changed that makes the provider accept it, and each line says what was done. OUT may be FILE itself,
which is then replaced in one step; another file that exists is replaced only with --force. A log of llm is
examined, and not written.

Exit codes: 0 sound, 1 something was found, 2 it cannot be read.

\b
Examples:
  turnledger doctor chat.json
  turnledger doctor chat.json --fix mended.json
  turnledger doctor ~/.claude/projects/app/0205f437.jsonl --fix mended.jsonl
  turnledger doctor conversations.db --fix mended.db
"""


@click.command(help=_HELP)
@click.argument("file", metavar="FILE")
@click.option(
    "--format",
    type=click.Choice([*FORMATS, *(alias for alias, name in ALIASES.items() if name in FORMATS)]),
    help="The messages' format; without it, it is guessed and said.",
)
@click.option(
    "--fix", "output", metavar="OUT", help="Write the file as the provider accepts it; - for standard output."
)
@click.option("--force", is_flag=True, help="Replace OUT where it is another file that exists.")
@json_option
@click.pass_context
def doctor(
    ctx: click.Context, file: str, format: str | None, output: str | None, force: bool, as_json: bool
) -> None:
    if output == "-" and as_json:
        raise click.UsageError("--fix - and --json both write to standard output: give one of them a file")
    _refuse_to_replace(file, output, force)
    try:
        with _no_search_for_garbage():
            examined = _examined(file, format, output)
    except InvalidArgument as error:
        raise click.ClickException(f"cannot examine {file}: {error}") from error
    if as_json:
        click.echo(json_line(_as_map(file, examined, output)))
    else:
        _show(Screen(stderr=output == "-"), file, examined, output)
    if examined.findings:
        ctx.exit(DAMAGE)


@contextmanager
def _no_search_for_garbage() -> Iterator[None]:
    """What is read of a file is used to the end: to search it for garbage takes as long as all else."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _refuse_to_replace(file: str, output: str | None, force: bool) -> None:
    """Another file than the one that is examined is not replaced unasked."""
    if output in (None, "-") or force or not Path(str(output)).is_file():
        return
    if file == "-" or not Path(file).exists() or not Path(file).samefile(str(output)):
        raise click.ClickException(f"{output} exists: give another name, or --force to replace it")


def _examined(file: str, format: str | None, output: str | None) -> Examined:
    """The file examined, and written to `output` as it is to be."""
    with ExitStack() as stack:
        path = Path(file)
        try:
            data = standard_input().read() if file == "-" else _read(path)
        except (OSError, ValueError) as error:
            raise click.ClickException(
                f"cannot read {file}: {getattr(error, 'strerror', None) or error}"
            ) from error
        if data.startswith(MAGIC) and file == "-":
            path = Path(stack.enter_context(TemporaryDirectory())) / "input.db"
            path.write_bytes(data)
        if data.startswith(MAGIC):
            return _of_database(path, format, output)
    # bytes that are no UTF-8 stand in the text as surrogates, which the doctor finds
    examined = examine_text(data.decode("utf-8", "surrogateescape"), format)
    if output is not None:
        _write(output, examined.fixed)
    return examined


def _read(path: Path) -> bytes:
    """The whole file; of a database the first bytes."""
    with path.open("rb") as file:
        first = file.read(len(MAGIC))
        return first if first == MAGIC else first + file.read()


def _of_database(path: Path, format: str | None, output: str | None) -> Examined:
    if output is None:
        return examine_database(path, format)
    with TemporaryDirectory() as folder:
        target = Path(folder) / "fixed.db" if output == "-" else Path(output)
        try:
            examined = fix_database(path, target, format)
        except OSError as error:
            raise click.ClickException(f"cannot write {output}: {error.strerror}") from error
        if output == "-" and not examined.unmended:
            sys.stdout.buffer.write(target.read_bytes())
    return examined


def _write(output: str, text: str) -> None:
    if output == "-":
        sys.stdout.buffer.write(text.encode("utf-8", "surrogateescape"))
        return
    with text_to(output, errors="surrogateescape") as target:
        target.write(text)


def _as_map(file: str, examined: Examined, output: str | None) -> dict[str, object]:
    return {
        "file": file,
        "formats": examined.formats,
        "conversations": examined.conversations,
        "messages": examined.messages,
        "sound": examined.sound,
        "findings": examined.findings,
        "fixed": None if examined.unmended else output,
        "unmended": examined.unmended,
        "assumed": examined.assumed,
    }


def _show(screen: Screen, file: str, examined: Examined, output: str | None) -> None:
    written = output is not None and examined.unmended is None
    for finding in examined.findings:
        mended = (f"; fixed: {one_line(finding.remedy)}", "green") if written else ""
        screen.line(
            (one_line(finding.place), "bold"),
            ": ",
            (finding.kind, "red"),
            f": {one_line(finding.reason)}",
            mended,
            indent=4,
        )
    count = len(examined.findings)
    other = " (give --format if it is another's)" if examined.assumed else ""
    held = f"{counted(examined.conversations, 'conversation')}, {counted(examined.messages, 'message')}"
    screen.line(
        f"{one_line(file)}: {held}, read as {' and '.join(examined.formats)}{other}: ",
        (counted(count, "finding"), "bold red") if count else ("sound", "bold green"),
        f"; written to {one_line(output)}" if output and written and output != "-" else "",
    )
    if examined.unmended:
        screen.line((f"nothing is written: {examined.unmended}", "bold" if output else "dim"), indent=4)
    elif count and output is None:
        screen.line(
            (f"'turnledger doctor {one_line(file)} --fix OUT' writes it as its provider accepts it", "dim")
        )
