"""`python -m benchmarks`: every target of the store, measured beside its peers and bare sqlite3."""

import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

import click

from benchmarks import peers, profile, report
from benchmarks.children import Children
from benchmarks.measure import FULL, QUICK, TINY, Files, Line
from benchmarks.rows import ROWS, Bench

SCALES = {"full": FULL, "quick": QUICK, "tiny": TINY}


@click.command(help=__doc__)
@click.option("--quick", "scale", flag_value="quick", help="Fewer and shorter: under two minutes.")
@click.option("--tiny", "scale", flag_value="tiny", hidden=True)
@click.option("--full", "scale", flag_value="full", default=True, hidden=True)
@click.option("--only", multiple=True, type=click.Choice(list(ROWS)), help="This row; may be given again.")
@click.option("--no-peers", is_flag=True, help="Leave the other projects out.")
@click.option("--json", "file", type=click.Path(path_type=Path, dir_okay=False), help="Write a report here.")
@click.option(
    "--markdown",
    "page",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the table here, for a page.",
)
@click.option(
    "--folder",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="Where the databases are made (the system's folder for temporary files otherwise).",
)
@click.option("--profile", "profiled", is_flag=True, help="Show where the time goes instead.")
def main(
    scale: str,
    only: tuple[str, ...],
    no_peers: bool,
    file: Path | None,
    page: Path | None,
    folder: Path | None,
    profiled: bool,
) -> None:
    console = report.console()
    missing: list[str] = []
    with tempfile.TemporaryDirectory(dir=folder, prefix="benchmarks-") as made, ExitStack() as leaving:
        where = report.environment(Path(made))
        report.say(console, where)
        if profiled:
            profile.show(console, Path(made))
            return
        children = Children()
        leaving.callback(children.close)
        found_peers = [] if no_peers else peers.installed(missing.append)
        bench = Bench(SCALES[scale], Files(Path(made)), found_peers, children)
        for name in missing:
            console.print(f"[yellow]{name}[/]", highlight=False)
        lines: list[Line] = []
        for name in only or ROWS:
            begun = time.perf_counter()
            found = list(ROWS[name](bench))
            lines += found
            took = time.perf_counter() - begun
            console.print(report.table(f"{name}: {_sentence(name)} ({took:.0f} s)", found))
        targets = [line for line in lines if line.target is not None]
        console.print(report.table("targets", targets))
        met, unknown = (sum(line.met is answer for line in targets) for answer in (True, None))
        console.print(f"{met} of {len(targets)} targets met, {unknown} not measured")
    if file is not None:
        report.write(file, scale, where, missing, lines)
    if page is not None:
        page.write_text(report.markdown(lines))


def _sentence(name: str) -> str:
    return (ROWS[name].__doc__ or "").strip().splitlines()[0].rstrip(".")


if __name__ == "__main__":
    main()
