"""`verify`: replay conversations and check them against every invariant, and kept anchors, one line each."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from turnledger.cli.heads import read_anchors
from turnledger.cli.mistakes import DAMAGE
from turnledger.cli.options import json_option, store_option_here, store_to_read
from turnledger.cli.screen import Screen, print_json_list
from turnledger.domain.heads import Head
from turnledger.projections.audit import AuditedConversation, Finding
from turnledger.projections.legible import counted, legible, one_line
from turnledger.store import ConversationStore

_HELP = """Replay a conversation, or all, and check the log: one line each, and one for each finding.

A log rewritten as a whole, or cut off at its end, shows only against anchors: what 'turnledger head --json'
printed, kept elsewhere.

\b
Examples:
  turnledger verify
  turnledger verify cats
  turnledger verify --anchors anchors.json
  turnledger verify --json
"""


@click.command(help=_HELP)
@click.argument("conversation_ids", metavar="[ID]...", nargs=-1)
@click.option("--anchors", metavar="FILE", help="Heads that were kept elsewhere; - for standard input.")
@json_option
@store_option_here
@click.pass_context
def verify(ctx: click.Context, conversation_ids: tuple[str, ...], anchors: str | None, as_json: bool) -> None:
    found: list[AuditedConversation] = []
    heads = read_anchors(anchors) if anchors else ()
    with store_to_read() as store:
        audited = _audited(store, conversation_ids, heads, found)
        if as_json:
            print_json_list(audited)
        else:
            screen = Screen()
            for one in audited:
                _show(screen, one)
            _sum_up(screen, found, heads)
    if any(one.findings for one in found):
        ctx.exit(DAMAGE)


def _audited(
    store: ConversationStore,
    named: tuple[str, ...],
    anchors: Sequence[Head],
    found: list[AuditedConversation],
) -> Iterator[AuditedConversation]:
    """Audits one conversation after the other, so that each can be told as it is done."""
    due: dict[str, list[Head]] = {}
    for anchor in anchors:
        due.setdefault(anchor.conversation_id, []).append(anchor)
    ids = list(named) or list(dict.fromkeys([*(one.conversation_id for one in store.conversations()), *due]))
    with _progress(len(ids)) as progress:
        for conversation_id in ids:
            for one in store.verify(conversation_id, anchors=due.get(conversation_id, ())).conversations:
                found.append(one)
                yield one
            progress.advance(progress.task_ids[0])


@contextmanager
def _progress(total: int) -> Iterator[Progress]:
    """A bar on standard error, where somebody looks at it and sees nothing else."""
    console = Console(stderr=True)
    hidden = not console.is_terminal or Screen().is_terminal
    columns = (TextColumn("verifying"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=hidden) as progress:
        progress.add_task("verifying", total=total)
        yield progress


def _show(screen: Screen, one: AuditedConversation) -> None:
    mark = ("FAIL", "bold red") if one.findings else ("ok  ", "green")
    screen.line(
        mark,
        "  ",
        (legible(one.conversation_id), "bold"),
        (f"  version {one.version:,}, {counted(one.entries, 'entry', 'entries')}", "dim"),
    )
    for take_id in one.in_doubt:
        doubt = "nothing says whether it was delivered; 'turnledger takes' settles it"
        screen.line("      ", ("open take", "yellow"), f" {legible(take_id)}: {doubt}", indent=8)
    for finding in one.findings:
        _show_finding(screen, finding)


def _show_finding(screen: Screen, finding: Finding) -> None:
    witness = ", ".join(map(str, finding.versions))
    noun = "version" if len(finding.versions) == 1 else "versions"
    screen.line(
        "      ",
        (finding.invariant, "red"),
        f": {one_line(finding.message)}",
        (f" ({noun} {witness})" if witness else "", "dim"),
        indent=8,
    )


def _sum_up(screen: Screen, found: list[AuditedConversation], anchors: Sequence[Head]) -> None:
    findings = sum(len(one.findings) for one in found)
    audited = {one.conversation_id for one in found}
    held_against = sum(anchor.conversation_id in audited for anchor in anchors)
    against = f", held against {counted(held_against, 'anchor')}" if anchors else ""
    events = counted(sum(one.version for one in found), "event")
    screen.line(
        f"{counted(len(found), 'conversation')}, {events}{against}: ",
        (counted(findings, "finding"), "bold red") if findings else ("all sound", "bold green"),
    )
