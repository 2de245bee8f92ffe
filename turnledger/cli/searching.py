"""`search` and `stats`: what the read models know, caught up first."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from datetime import datetime
from typing import Any

import click

from turnledger.cli.following import catching_up
from turnledger.cli.mistakes import complain
from turnledger.cli.options import json_option, moment, read_models_option, store_option_here, store_to_read
from turnledger.cli.screen import STYLES, Screen, json_line, print_json_list, stamp
from turnledger.domain.errors import StoreBusy, StoreUnwritable
from turnledger.domain.messages import ROLES
from turnledger.infrastructure.read_models import ReadModels, Search, SearchHit, Statistics
from turnledger.infrastructure.read_models.schema import ENTRY_STATES
from turnledger.projections.legible import counted, legible, one_line

LIMIT = 20
_HIGHLIGHT = "bold reverse"
_SEARCH_HELP = """Search what was said, in all conversations, and in what has left their buffers.

All words must be there; 'parc*' is a beginning, '"two words"' a phrase. The read models are caught up first,
and made where there are none.

\b
Examples:
  turnledger search lisbon
  turnledger search 'train*' --role tool --tool find_trains
  turnledger search refund --since 2026-05-01T00:00:00Z --state evicted
  turnledger search '"gave up"' --events
  turnledger search lisbon --json
"""
_STATS_HELP = """Count what there is: conversations, entries, calls, artifacts, and the slowest tools.

The read models are caught up first, and made where there are none.

\b
Examples:
  turnledger stats
  turnledger stats --json
"""


def time(ctx: click.Context, parameter: click.Parameter, value: str | None) -> datetime | None:
    found = moment(ctx, parameter, value)
    if isinstance(found, int):
        raise click.BadParameter(f"{value!r} is no time: give one such as 2026-05-01T12:00:00Z")
    return found


@click.command(help=_SEARCH_HELP)
@click.argument("words", metavar="WORDS", nargs=-1, required=True)
@click.option(
    "--events", is_flag=True, help="Search the lines of events, with how a message begins, not the entries."
)
@click.option("--role", type=click.Choice(ROLES), help="Only entries of this role.")
@click.option("--tool", metavar="NAME", help="Only entries that call this tool, or are its results.")
@click.option("--state", type=click.Choice(ENTRY_STATES), help="Only entries that are so now.")
@click.option("--conversation", "conversation_id", metavar="ID", help="Only in this conversation.")
@click.option("--since", callback=time, metavar="TIME", help="Only from this time on.")
@click.option("--until", callback=time, metavar="TIME", help="Only up to this time.")
@click.option("--newest", "newest_first", is_flag=True, help="The newest first, not the best.")
@click.option(
    "--limit", type=click.IntRange(min=1), default=LIMIT, show_default=True, help="How many at most."
)
@read_models_option
@json_option
@store_option_here
def search(
    words: tuple[str, ...], events: bool, limit: int, read_models: str | None, as_json: bool, **filters: Any
) -> None:
    asked = Search(words=" ".join(words), of="events" if events else "entries", limit=limit + 1, **filters)
    with caught_up(read_models) as models:
        hits = models.search(asked)
    more, hits = len(hits) > limit, hits[:limit]
    if as_json:
        print_json_list(map(asdict, hits))
        return
    screen = Screen()
    for hit in hits:
        _show(screen, hit)
    if not hits:
        screen.line(("nothing found", "dim"))
    if more:
        screen.line((f"there are more than {limit:,}: --limit shows more, further words fewer", "dim"))


@contextmanager
def caught_up(read_models: str | None) -> Iterator[ReadModels]:
    """The read models of the named store, up to the newest event."""
    with store_to_read() as store, store.read_models(read_models) as models:
        new, why = models.standing().position == 0, "another follower is at it"
        try:
            with catching_up("catching up") as progress:
                standing = models.catch_up(progress)
        except (StoreBusy, StoreUnwritable) as error:
            standing = models.standing()
            if isinstance(error, StoreUnwritable):
                why = f"{models.path} may not be written, and --read-models FILE keeps them elsewhere"
        if standing.lag:
            complain(f"this is without the newest {counted(standing.lag, 'event')}: {why}")
        if new and standing.position:
            complain(f"made {models.path}, with {counted(standing.position, 'event')}")
        yield models


def _show(screen: Screen, hit: SearchHit) -> None:
    place = f"entry {hit.entry}" if hit.entry is not None else f"version {hit.version}"
    state = "" if hit.state in (None, "standing") else f", {hit.state}"
    tool = f" of {one_line(hit.name)}" if hit.name else ""
    screen.line(
        (legible(hit.conversation_id), "bold"),
        f"  {place}  ",
        (hit.kind, STYLES.get(hit.kind, "")),
        f"{tool}{state}",
        (f"  {stamp(hit.time)}", "dim"),
    )
    screen.line("      ", *_marked(hit), indent=6)


def _marked(hit: SearchHit) -> Iterator[str | tuple[str, str]]:
    """The excerpt on one line, what was searched for set off."""
    end = 0
    for begin, until in hit.highlights:
        yield _legible(hit.text[end:begin])
        yield _legible(hit.text[begin:until]), _HIGHLIGHT
        end = until
    yield _legible(hit.text[end:])


def _legible(text: str) -> str:
    """One line, with the blanks at its ends."""
    return legible(" ".join(text.split(" ")).replace("\n", " ").replace("\t", " ").replace("\r", " "))


@click.command(help=_STATS_HELP)
@read_models_option
@json_option
@store_option_here
def stats(read_models: str | None, as_json: bool) -> None:
    with caught_up(read_models) as models:
        found, standing = models.statistics(), models.standing()
    if as_json:
        click.echo(json_line({**asdict(found), "position": standing.position, "lag": standing.lag}))
        return
    _show_statistics(Screen(), found)


def _show_statistics(screen: Screen, found: Statistics) -> None:
    def row(name: str, text: str, style: str = "") -> None:
        screen.line((f"{name:<14}", "bold"), (text, style), indent=14)

    forks = f", {found.forks:,} of them forks" if found.forks else ""
    row("conversations", f"{found.conversations:,}{forks}")
    if found.damaged:
        row("damaged", f"{found.damaged:,}; 'turnledger verify' says where", "bold red")
    row("events", f"{found.events:,}, {found.bytes:,} bytes")
    if found.first_at:
        row("from, to", f"{stamp(found.first_at)}, {stamp(found.last_at)}")
    row("entries", f"{sum(found.entries.values()):,}{_counts(found.entries)}")
    row("", _counts(found.roles).removeprefix(": "))
    row("calls", f"{sum(found.calls.values()):,}{_counts(found.calls)}")
    if found.heals:
        row("healed", f"{found.heals:,} in {counted(found.healed_conversations, 'conversation')}")
    if found.artifacts:
        row("artifacts", f"{sum(found.artifacts.values()):,}{_counts(found.artifacts)}")
    if found.takes:
        row("takes", f"{sum(found.takes.values()):,}{_counts(found.takes)}")
    row("executions", f"{found.executions:,}")
    row("requests", f"{found.requests:,}")
    if found.records:
        row("records", f"{sum(found.records.values()):,}{_counts(found.records)}")
    _show_tools(screen, found)


def _counts(counts: Mapping[str, int]) -> str:
    told = ", ".join(f"{number:,} {name}" for name, number in counts.items())
    return f": {told}" if told else ""


def _show_tools(screen: Screen, found: Statistics) -> None:
    timed = [tool for tool in found.tools if tool["median_s"] is not None]
    if not timed:
        return
    screen.line()
    width = max(len(one_line(tool["name"])) for tool in timed)
    head = "".join(f"  {name:>8}" for name in ("calls", "open", "healed", "median s", "95 % s", "most s"))
    screen.line((f"{'tool':<{width}}{head}", "dim"))
    for tool in timed:
        counts = "".join(f"  {tool[name]:>8,}" for name in ("calls", "open", "healed"))
        times = "".join(f"  {tool[name]:>8,.3f}" for name in ("median_s", "p95_s", "max_s"))
        screen.line(f"{one_line(tool['name']):<{width}}{counts}{times}")
