"""The rows of the table: what is measured, beside what, and the targets."""

import random
import sqlite3
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.chain import chain
from benchmarks.children import Children, answer, tell, waited_for
from benchmarks.contenders import (
    Contender,
    Durability,
    Raw,
    RawInsert,
    Turnledger,
    TurnledgerShared,
)
from benchmarks.floor import floor
from benchmarks.measure import Files, Line, Samples, Scale, interleaved
from benchmarks.messages import messages
from benchmarks.peers import AgentsSession, Peer

Kind = type[Contender]
FRESH_TARGETS = {100: 0.4, 1_000: 0.1, 10_000: 0.05}
SHARED_TARGETS = {100: 0.4, 1_000: 0.06, 10_000: 0.01}
COLD_TARGETS = {100: 2.5, 1_000: 1.5, 10_000: 1.0}
INGESTED: tuple[tuple[Durability, int, float], ...] = (
    ("full", 1, 2.0),
    ("normal", 1, 3.0),
    ("full", 20, 2.5),
    ("normal", 20, 2.5),
)
LINEAR = 1.1


@dataclass
class Bench:
    """One run: its scale, its files, the peers that are installed, its processes."""

    scale: Scale
    files: Files
    peers: list[type[Peer]]
    children: Children

    def template(self, kind: Kind, length: int) -> Path:
        """A file with one conversation "c" of `length` messages."""
        same: dict[Kind, Kind] = {RawInsert: Raw, TurnledgerShared: Turnledger}
        filling = same.get(kind, kind)

        def make(path: Path) -> None:
            contender = filling(path, "normal")
            contender.fill("c", messages(length), self.scale.fill_batch)
            contender.close()

        return self.files.template(f"{filling.name} {length}", make)

    def longest(self, peer: type[Peer]) -> int:
        return peer.longest if peer is AgentsSession else min(peer.longest, self.scale.slow_peers_to)

    def child(self, **request: Any) -> dict[str, Any] | None:
        return self.children.asked(request, self.scale.child_timeout_s)


def warm(bench: Bench) -> Iterator[Line]:
    """Append one, read all; FULL. Each round starts from a copy, and one step before it warms up."""
    shared: dict[int, Samples] = {}
    for length in bench.scale.lengths:
        kinds: list[Kind] = [Raw, Turnledger, TurnledgerShared]
        kinds += [peer for peer in bench.peers if length <= bench.longest(peer)]
        found = _steps(bench, kinds, length, "full")
        agents = found.get(AgentsSession.name)
        work = f"warm step, {length:,} messages"
        note = "" if agents else f"{AgentsSession.name} is not installed"
        for name, targets in ((Turnledger.name, FRESH_TARGETS), (TurnledgerShared.name, SHARED_TARGETS)):
            target = targets.get(length)
            yield Line("warm", work, name, found[name], AgentsSession.name, agents, target, note)
        for name in [name for name in found if name != Raw.name]:
            yield Line("warm", work, name, found[name], Raw.name, found[Raw.name])
        shared[length] = found[TurnledgerShared.name]
    shortest, longest = min(shared), max(shared)
    yield Line(
        "warm",
        f"warm step, {longest:,} messages beside {shortest:,}",
        TurnledgerShared.name,
        shared[longest],
        f"the same at {shortest:,}",
        shared[shortest],
        3.0,
    )


def normal(bench: Bench) -> Iterator[Line]:
    """The shared step at durability "normal", beside a bare INSERT and COMMIT."""
    for length in (n for n in bench.scale.lengths if n <= 1_000):
        found = _steps(bench, [RawInsert, TurnledgerShared], length, "normal")
        yield Line(
            "normal",
            f"warm step at NORMAL, {length:,} messages",
            TurnledgerShared.name,
            found[TurnledgerShared.name],
            RawInsert.name,
            found[RawInsert.name],
            2.5,
        )


def _steps(bench: Bench, kinds: list[Kind], length: int, durability: Durability) -> dict[str, Samples]:
    steps = bench.scale.steps_at(length)
    coming = messages(length + 1 + steps)[length:]

    def one(kind: Kind, template: Path, _: int) -> float:
        path = bench.files.copy(template)
        kind.ready()
        contender = kind(path, durability)
        contender.steps("c", coming[:1])
        took = contender.steps("c", coming[1:]) / steps
        contender.close()
        bench.files.remove(path)
        return took

    work = {kind.name: partial(one, kind, bench.template(kind, length)) for kind in kinds}
    return interleaved(bench.scale.rounds, work)


def ingest(bench: Bench) -> Iterator[Line]:
    """Appends to many new conversations in turn; the time of one call."""
    for durability, batch, target in INGESTED:
        kinds: list[Kind] = [Raw, Turnledger]
        if durability == "full":
            kinds += [peer for peer in bench.peers if peer is AgentsSession]
        work: dict[str, Callable[[int], float]] = {
            kind.name: partial(_ingested, bench, kind, durability, batch) for kind in kinds
        }
        found = interleaved(bench.scale.rounds, work)
        label = f"ingest, {batch} a call, {durability.upper()}"
        for kind in kinds[1:]:
            yield Line(
                "ingest",
                label,
                kind.name,
                found[kind.name],
                Raw.name,
                found[Raw.name],
                target if kind is Turnledger else None,
            )


def _ingested(bench: Bench, kind: Kind, durability: Durability, batch: int, _: int) -> float:
    path = bench.files.new()
    calls_each = max(1, bench.scale.calls_each // (2 if batch > 1 else 1))
    histories = [
        messages(batch * calls_each, conversation) for conversation in range(bench.scale.conversations)
    ]
    kind.ready()
    contender = kind(path, durability)
    contender.append("warm", histories[0][:1])
    begun = time.perf_counter()
    for call in range(calls_each):
        for number, history in enumerate(histories):
            contender.append(f"c{number}", history[call * batch : (call + 1) * batch])
    took = time.perf_counter() - begun
    contender.close()
    bench.files.remove(path)
    return took / (calls_each * len(histories))


def cold(bench: Bench) -> Iterator[Line]:
    """A new process's first reading. Its interpreter and imports are there; nothing else is."""
    for length in bench.scale.lengths:
        kinds: list[Kind] = [Raw, Turnledger]
        if bench.scale.peers_in_children:
            kinds += [peer for peer in bench.peers if peer is AgentsSession]
        work = {kind.name: partial(_child_read, bench, kind, length) for kind in kinds}
        found = interleaved(bench.scale.rounds, work)
        for kind in kinds[1:]:
            yield Line(
                "cold",
                f"cold open, {length:,} messages",
                kind.name,
                found.get(kind.name),
                Raw.name,
                found.get(Raw.name),
                COLD_TARGETS.get(length) if kind is Turnledger else None,
            )


def _child_read(bench: Bench, kind: Kind, length: int, _: int) -> float | None:
    done = bench.child(work="read", contender=kind.name, path=str(bench.template(kind, length)))
    if done is None:
        return None
    _expect(done["messages"] >= length, f"{kind.name} read {done['messages']} of {length} messages")
    return float(done["s"])


def at(bench: Bench) -> Iterator[Line]:
    """`sendable(at=)` of an arbitrary version, in a new process; the same versions for all in a round."""
    length = bench.scale.at_length
    template, raw = str(bench.template(Turnledger, length)), str(bench.template(Raw, length))
    chance = random.Random("versions")
    versions = [
        [chance.randint(2, length + 1) for _ in range(bench.scale.at_versions)]
        for _ in range(bench.scale.rounds)
    ]

    def mean_of(request: Callable[[int], dict[str, Any]], number: int) -> float | None:
        taken = []
        for version in versions[number]:
            done = bench.child(**request(version))
            if done is None:
                return None
            taken.append(float(done["s"]))
        return sum(taken) / len(taken)

    found = interleaved(
        bench.scale.rounds,
        {
            Turnledger.name: partial(mean_of, lambda v: {"work": "read_at", "path": template, "at": v}),
            Raw.name: partial(mean_of, lambda v: {"work": "read", "path": raw, "contender": Raw.name}),
            "raw prefix": partial(mean_of, lambda v: {"work": "read_first", "path": raw, "number": v - 1}),
        },
    )
    product, label = found.get(Turnledger.name), f"at= any version of {length:,} messages"
    yield Line(
        "at", label, Turnledger.name, product, "raw, all messages", found.get(Raw.name), 1.0, "nothing warm"
    )
    yield Line("at", label, Turnledger.name, product, "raw, those up to then", found.get("raw prefix"), None)


def size(bench: Bench) -> Iterator[Line]:
    """Bytes of the file after a checkpoint, tables and indexes, a message."""
    each: dict[tuple[str, int], Samples] = {}
    parts: dict[str, int] = {}
    lengths = [n for n in bench.scale.lengths if n > bench.scale.lengths[0]] or [bench.scale.lengths[0]]
    for length in lengths:
        for kind in (Raw, Turnledger):
            path = bench.template(kind, length)
            parts = _parts(path)
            each[kind.name, length] = Samples((path.stat().st_size / length,), "bytes")
    longest = max(lengths)
    yield Line(
        "size",
        f"bytes a message at {longest:,}",
        Turnledger.name,
        each[Turnledger.name, longest],
        Raw.name,
        each[Raw.name, longest],
        2.3,
        ", ".join(f"{name} {number / longest:,.0f}" for name, number in parts.items()),
    )
    yield Line(
        "size",
        f"bytes a message at {longest:,} beside {min(lengths):,}",
        Turnledger.name,
        each[Turnledger.name, longest],
        f"the same at {min(lengths):,}",
        each[Turnledger.name, min(lengths)],
        LINEAR,
    )


def _parts(path: Path) -> dict[str, int]:
    """Bytes by table and index, where SQLite was built to tell."""
    connection = sqlite3.connect(path)
    try:
        return dict(connection.execute("SELECT name, SUM(pgsize) FROM dbstat GROUP BY name ORDER BY 2 DESC"))
    except sqlite3.OperationalError:
        return {}
    finally:
        connection.close()


def verify(bench: Bench) -> Iterator[Line]:
    """The audit of one conversation, in a new process, beside a cold open of the same."""
    half, whole = bench.scale.audited
    work = {f"verify {length}": partial(_child_verify, bench, length) for length in (half, whole)} | {
        "cold open": partial(_child_read, bench, Turnledger, whole)
    }
    found = interleaved(bench.scale.rounds, work)
    longer, shorter = found.get(f"verify {whole}"), found.get(f"verify {half}")
    note = "" if longer else f"took more than {bench.scale.child_timeout_s:g} s"
    yield Line(
        "verify",
        f"verify, {whole:,} messages",
        Turnledger.name,
        longer,
        "its cold open",
        found.get("cold open"),
        20.0,
        note,
    )
    yield Line(
        "verify",
        f"verify, {whole:,} messages beside {half:,}",
        Turnledger.name,
        longer,
        f"the same at {half:,}",
        shorter,
        LINEAR * whole / half,
        note,
    )


def _child_verify(bench: Bench, length: int, _: int) -> float | None:
    done = bench.child(work="verify", path=str(bench.template(Turnledger, length)))
    return float(done["s"]) if done else None


def memory(bench: Bench) -> Iterator[Line]:
    """Resident memory of a process that served many conversations, with a cache that is long full."""
    for cache_bytes in (bench.scale.served_cache_bytes, None):
        path = bench.files.new()
        done = bench.child(
            work="serve",
            path=str(path),
            cache_bytes=cache_bytes,
            marks=list(bench.scale.served),
            messages=bench.scale.served_messages,
        )
        first, last = (done["marks"][str(mark)] if done else 0 for mark in bench.scale.served)
        setting = f"cache_bytes={cache_bytes:,}" if cache_bytes else "the default cache_bytes"
        yield Line(
            "memory",
            f"memory, {bench.scale.served[1]:,} conversations beside {bench.scale.served[0]:,}, {setting}",
            Turnledger.name,
            Samples((last,), "bytes") if last else None,
            f"the same at {bench.scale.served[0]:,}",
            Samples((first,), "bytes") if first else None,
            LINEAR if cache_bytes else None,
            f"{done['start'] / 2**20:,.0f} MiB at start" if done else "took too long",
        )
        bench.files.remove(path)


def race(bench: Bench) -> Iterator[Line]:
    """Two processes append to one conversation; then what is there is compared with what was acknowledged."""
    kinds: list[Kind] = [Turnledger, *(bench.peers if bench.scale.peers_in_children else ())]
    for kind in kinds:
        path = bench.files.new()
        contender = kind(path)
        contender.append("c", messages(1))
        contender.close()
        lost, phantoms, doubled, errors, tries = _raced(bench, kind, path)
        bad = lost + phantoms + doubled + errors
        yield Line(
            "race",
            f"two processes, one conversation, {bench.scale.race_s:g} s",
            kind.name,
            Samples((float(bad),), "faults"),
            "none allowed",
            Samples((1.0,), "faults"),
            0.0 if kind is Turnledger else None,
            f"{tries} tries: {lost} lost, {phantoms} phantoms, {doubled} doubled, {errors} errors",
        )


def _raced(bench: Bench, kind: Kind, path: Path) -> tuple[int, int, int, int, int]:
    request = {"work": "race", "contender": kind.name, "path": str(path), "s": bench.scale.race_s}
    processes = [bench.children.started(request | {"writer": writer}) for writer in range(2)]
    for process in processes:
        waited_for(process)
    for process in processes:
        tell(process, "go")
    answers = [answer(process, bench.scale.child_timeout_s) for process in processes]
    done = bench.child(work="contents", contender=kind.name, path=str(path))
    _expect(done is not None, "reading after the race took too long")
    text = "\n".join(done["contents"]) if done else ""
    acknowledged = [token for found in answers for token in found["acknowledged"]]
    refused = [token for found in answers for token in found["refused"]]
    counts = {token: text.count(token) for token in acknowledged + refused}
    return (
        sum(not counts[token] for token in acknowledged),
        sum(bool(counts[token]) for token in refused),
        sum(number > 1 for number in counts.values()),
        len(refused),
        len(counts),
    )


def _expect(true: bool, otherwise: str) -> None:
    if not true:
        raise RuntimeError(otherwise)


ROWS: dict[str, Callable[[Bench], Iterator[Line]]] = {
    "warm": warm,
    "normal": normal,
    "ingest": ingest,
    "cold": cold,
    "at": at,
    "size": size,
    "verify": verify,
    "memory": memory,
    "race": race,
    "chain": chain,
    "floor": floor,
}
