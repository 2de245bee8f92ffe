"""`doctor`: what a provider would refuse of a transcript, one line each, and the file that it accepts."""

import sys
from pathlib import Path

import click

from turnledger.cli.exporting import text_to
from turnledger.cli.mistakes import DAMAGE
from turnledger.cli.options import json_option, standard_input
from turnledger.cli.screen import Screen, json_line
from turnledger.domain.errors import InvalidArgument
from turnledger.importing import ALIASES
from turnledger.importing.doctor import Examined, examine_text
from turnledger.importing.doctor.anatomies import EXAMINED
from turnledger.projections.legible import counted, one_line

_HELP = """Examine a transcript: what its provider would refuse, and why, one finding a line with its place.

FILE, or - for standard input, is JSON or JSON Lines in any layout that 'turnledger import' reads; no store is
needed. With --fix the same file is written with the least changed that makes the provider accept it, and each
line says what was done. OUT may be FILE itself, which is then replaced in one step; another file that exists
is replaced only with --force.

Exit codes: 0 sound, 1 something was found, 2 it cannot be read.

\b
Examples:
  turnledger doctor chat.json
  turnledger doctor chat.json --fix mended.json
  turnledger doctor ~/.claude/projects/work/0205f437.jsonl --fix mended.jsonl
"""


@click.command(help=_HELP)
@click.argument("file", metavar="FILE")
@click.option(
    "--format",
    type=click.Choice([*EXAMINED, *(alias for alias, name in ALIASES.items() if name in EXAMINED)]),
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
        examined = examine_text(_text(file), format)
    except InvalidArgument as error:
        raise click.ClickException(f"cannot examine {file}: {error}") from error
    if output is not None:
        _write(output, examined.fixed)
    if as_json:
        click.echo(json_line(_as_map(file, examined, output)))
    else:
        _show(Screen(stderr=output == "-"), file, examined, output)
    if examined.findings:
        ctx.exit(DAMAGE)


def _refuse_to_replace(file: str, output: str | None, force: bool) -> None:
    """Another file than the one that is examined is not replaced unasked."""
    if output in (None, "-") or force or not Path(str(output)).is_file():
        return
    if file == "-" or not Path(file).exists() or not Path(file).samefile(str(output)):
        raise click.ClickException(f"{output} exists: give another name, or --force to replace it")


def _text(file: str) -> str:
    """The whole file; bytes that are no UTF-8 stand in it as surrogates, which the doctor finds."""
    try:
        data = standard_input().read() if file == "-" else Path(file).read_bytes()
    except (OSError, ValueError) as error:
        raise click.ClickException(
            f"cannot read {file}: {getattr(error, 'strerror', None) or error}"
        ) from error
    return data.decode("utf-8", "surrogateescape")


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
        "fixed": output,
    }


def _show(screen: Screen, file: str, examined: Examined, output: str | None) -> None:
    for finding in examined.findings:
        mended = (f"; fixed: {one_line(finding.remedy)}", "green") if output else ""
        screen.line(
            (one_line(finding.place), "bold"),
            ": ",
            (finding.kind, "red"),
            f": {one_line(finding.reason)}",
            mended,
            indent=4,
        )
    count = len(examined.findings)
    held = f"{counted(examined.conversations, 'conversation')}, {counted(examined.messages, 'message')}"
    screen.line(
        f"{one_line(file)}: {held}, read as {' and '.join(examined.formats)}: ",
        (counted(count, "finding"), "bold red") if count else ("sound", "bold green"),
        f"; written to {one_line(output)}" if output and output != "-" else "",
    )
    if count and output is None:
        screen.line(
            (f"'turnledger doctor {one_line(file)} --fix OUT' writes it as its provider accepts it", "dim")
        )
