"""The entries of a buffer in the order that a request needs, for ecosystems that send what they are given.

The buffer keeps the order of the commits: where two workers write at once, one's answer may stand between
the other's call and its result. Nothing is recorded here.
"""

from collections.abc import Sequence
from dataclasses import replace

from turnledger.domain.messages import PLACEHOLDER_TEXT, declared_by, id_of_call
from turnledger.projections.buffer import Entry


def arranged(entries: Sequence[Entry], *, open_last: bool = False) -> list[Entry]:
    """The entries, each result right behind the turn that declares its call.

    A call that nothing answers has a placeholder (MEM-3); with `open_last` not in the last turn, where
    its result may still come. A result whose call is not in the buffer is left out.
    """
    turns = {call_id: entry.number for entry in entries for call_id in ids_of(entry)}
    results: dict[int, dict[str, Entry]] = {}
    for entry in entries:
        call_id = entry.metadata.get("tool_call_id")
        if entry.role == "tool" and call_id in turns:
            results.setdefault(turns[call_id], {}).setdefault(call_id, entry)
    others = [entry for entry in entries if entry.role != "tool"]
    found: list[Entry] = []
    for entry in others:
        answers = results.get(entry.number, {})
        found += [entry, *answers.values()]
        if not open_last or entry is not others[-1]:
            found += [_placeholder(entry, call_id) for call_id in ids_of(entry) if call_id not in answers]
    return found


def ids_of(entry: Entry) -> list[str]:
    """The ids of the calls that an entry declares."""
    return [call_id for call in declared_by(entry.role, entry.metadata) if (call_id := id_of_call(call))]


def _placeholder(turn: Entry, call_id: str) -> Entry:
    metadata = {"tool_call_id": call_id, "healed": True}
    return replace(turn, role="tool", content=PLACEHOLDER_TEXT, metadata=metadata)
