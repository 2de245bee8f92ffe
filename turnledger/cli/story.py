"""The demo's story, scene by scene: real calls on a real store, and what came of each, read back from it."""

import os
import sqlite3
import subprocess
import sys
from collections import Counter
from contextlib import closing

import click

from turnledger.cli.interrupted import MESSAGES
from turnledger.cli.telling import Teller
from turnledger.domain.delivering import WriteBackResult
from turnledger.domain.errors import StoreBusy
from turnledger.domain.events import ArtifactsDelivered, ArtifactsHeld
from turnledger.projections.audit.report import INVARIANTS
from turnledger.projections.legible import counted, legible, one_line

CHILD = "import sys; from turnledger.cli.interrupted import main; main(*sys.argv[1:])"
LATE_RESULT = {"role": "tool", "tool_call_id": "c1", "content": "06:40, 09:15 and 17:30"}
OFFERS = (
    {"type": "map", "payload": {"station": "Lisboa Oriente"}, "tool_call_id": "c1-2"},
    {"type": "offer", "payload": {"train": "09:15", "price": "42.00 EUR"}, "tool_call_id": "c1"},
)
TICKET = {"type": "ticket", "payload": {"file": "ticket.pdf"}, "tool_call_id": "c1"}
ANSWER = {"role": "assistant", "content": "Booked: the 09:15, and two nights near the station."}


def call_cut_off(teller: Teller, path: str) -> None:
    teller.scene(
        "A call is cut off", "A run appends a question and a tool call. Its process dies in the tool."
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-P", "-c", CHILD, path, teller.conversation_id]
    acknowledged = 0
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as run:
        try:
            for _ in MESSAGES:
                acknowledged = int((run.stdout.readline() if run.stdout else "") or 0)
        finally:
            run.kill()
    if not acknowledged:
        raise click.ClickException(
            "the demo could not start a second Python process: see above, if it said why"
        )
    teller.happened()
    version = teller.store.version(teller.conversation_id)
    teller.fact("process", f"{run.pid} was killed in its tool and ended with code {run.returncode}")
    teller.fact("acknowledged", f"version {acknowledged}; the log, opened again, has version {version}")


def user_carries_on(teller: Teller) -> None:
    teller.scene(
        "The user carries on",
        "No provider accepts a call without a result. The next user message heals it, behind its turn.",
    )
    message = {"role": "user", "content": "Are you still there?"}
    result = teller.store.append(teller.conversation_id, message, turn_id="t2")
    teller.happened()
    teller.fact("healed", (", ".join(result.healed), "bold red"))
    teller.model_sees()


def result_arrives_late(teller: Teller) -> None:
    teller.scene("The real result arrives late", "It takes the place of the placeholder; nothing else moves.")
    before = teller.store.version(teller.conversation_id)
    result = teller.store.append(teller.conversation_id, LATE_RESULT, execution_id="run-1")
    teller.happened()
    entry = result.entries[0] or 0
    teller.buffer_line(f"entry {entry} was", entry, before)
    teller.buffer_line(f"entry {entry} is", entry)


def retry_changes_nothing(teller: Teller) -> None:
    teller.scene(
        "A retry changes nothing",
        "The client is not sure what arrived, and sends the call and its result again.",
    )
    before = teller.store.version(teller.conversation_id)
    result = teller.store.append(teller.conversation_id, [MESSAGES[1], LATE_RESULT], execution_id="run-1")
    teller.happened()
    known = ", ".join(map(str, result.duplicates))
    teller.fact("appended", f"{result.appended}; messages {known} were known")
    teller.fact("version", f"{before} before, {result.version} after")


def model_reuses_id(teller: Teller) -> None:
    teller.scene(
        "The model reuses a call id", "A new call comes under c1, which names another. Neither may be lost."
    )
    call = {"id": "c1", "name": "search_hotels", "arguments": {"near": "Lisboa Oriente"}}
    found = {"role": "tool", "tool_call_id": "c1", "content": "Three, from 80 EUR"}
    turn = {"role": "assistant", "tool_calls": [call]}
    result = teller.store.append(teller.conversation_id, [turn, found], execution_id="run-2", turn_id="t2")
    teller.happened()
    for index, given, fresh in result.renamed:
        teller.fact(
            "renamed", f"{legible(given)} of message {index} is recorded as ", (legible(fresh), "bold yellow")
        )
    teller.model_sees()


def run_pauses_twice(teller: Teller) -> None:
    teller.scene(
        "A run pauses, twice", "It has artifacts for its answer, but no answer yet: it must ask first."
    )
    store, conversation_id = teller.store, teller.conversation_id
    store.hold(conversation_id, "run-2", OFFERS, turn_id="t2")
    teller.happened()
    teller.aside("The user answers, the run resumes, and pauses again with one more.")
    message = {"role": "user", "content": "The 09:15, please, and a room for two nights."}
    store.append(conversation_id, message, turn_id="t3")
    store.hold(conversation_id, "run-2", [TICKET], turn_id="t3")
    teller.happened()
    _holds(teller)


def write_back_fails(teller: Teller, path: str) -> None:
    teller.scene("A write-back fails", "The run has its answer, but another program has locked the database.")
    before = teller.store.version(teller.conversation_id)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        try:
            _write_back(teller)
        except StoreBusy as error:
            teller.fact("raised", ("StoreBusy", "bold red"), f" {one_line(str(error))}")
    teller.happened()
    teller.fact("version", f"{before} before, {teller.store.version(teller.conversation_id)} after")
    _holds(teller)


def write_back_delivers(teller: Teller) -> None:
    teller.scene(
        "It is tried again, and once more", "The answer and all that was held go out in one transaction."
    )
    first = _write_back(teller)
    teller.happened()
    again = _write_back(teller)
    teller.happened()
    teller.fact(
        "first try", f"appended {first.appended}, delivered {counted(len(first.delivered), 'artifact')}"
    )
    seen = "recognised by its key" if again.repeated else "taken for a new one"
    teller.fact("second try", f"appended {again.appended}, {seen}")
    times = _deliveries(teller)
    teller.fact("delivered", ", ".join(f"{kind} {counted(n, 'time')}" for kind, n in times.items()))
    _holds(teller)


def audit(teller: Teller) -> None:
    teller.scene("The audit", "Replays the log from nothing, sharing no code with what it checks.")
    report = teller.store.verify(teller.conversation_id)
    for invariant in INVARIANTS:
        findings = [finding for finding in report.findings if finding.invariant == invariant]
        mark = (" ✗ ", "bold red") if findings else (" ✓ ", "bold green")
        teller.line(mark, invariant)
        for finding in findings:
            teller.line(
                f"     {one_line(finding.message)} (versions {', '.join(map(str, finding.versions))})"
            )
    for one in report.conversations:
        teller.fact(
            "replayed",
            f"{counted(one.version, 'event')}, {counted(one.entries, 'entry', 'entries')} in the buffer",
        )
    verdict = ("all sound", "bold green") if report.ok else ("not sound", "bold red")
    teller.fact("verdict", verdict)


def _write_back(teller: Teller) -> WriteBackResult:
    return teller.store.write_back(
        teller.conversation_id, "run-2", ANSWER, turn_id="t3", idempotency_key="run-2-answer"
    )


def _holds(teller: Teller) -> None:
    """What the run holds, and that nobody else sees it."""
    held = teller.store.held(teller.conversation_id, "run-2")
    wire = sum(len(message.get("toolArtifacts", ())) for message in teller.store.wire(teller.conversation_id))
    types = f" ({', '.join(one_line(artifact.type) for artifact in held)})" if held else ""
    teller.fact("the run holds", (f"{len(held)}{types}", "bright_blue"))
    teller.fact("the client sees", counted(wire, "artifact"))


def _deliveries(teller: Teller) -> Counter[str]:
    """How often each artifact was delivered, counted in the log; named by its type."""
    types: dict[str, str] = {}
    times: Counter[str] = Counter()
    for event in teller.store.events(teller.conversation_id):
        if isinstance(event, ArtifactsHeld):
            types.update((artifact.artifact_id, artifact.type) for artifact in event.held)
        if isinstance(event, ArtifactsDelivered):
            times.update(types[artifact_id] for artifact_id in event.delivered)
    return times
