"""The longest stretch of a buffer that is sendable as it stands, made flat in one pass.

Nothing is decided here: at the first entry that the repair would have to look at, the stretch ends. Only a
last turn that waits for results gets its placeholders here, as the repair would give them.
"""

from collections.abc import Collection, Iterable
from typing import Any

from turnledger.domain.messages import PLACEHOLDER_TEXT, SYSTEM_ROLES
from turnledger.projections.buffer import Row

Flat = dict[str, Any]
_SPEAKING = frozenset(("user", "assistant", *SYSTEM_ROLES))


class PlainStretch:
    """What `take` found: flat messages of `count` rows, that leave no call open.

    `known` are call ids declared before the stretch, `orphans` ids of results before it without a turn.
    `placeholders` are pairs of an entry's number and its place in `others`. `tail` is what is sent behind the
    stretch: nothing, or a turn of which calls are open; None where more stands there.
    """

    def __init__(self, known: Collection[str], orphans: Collection[str]) -> None:
        self._known = known
        self._orphans = orphans
        self.count = 0
        self.systems: list[Flat] = []
        self.others: list[Flat] = []
        self.declared: set[str] = set()
        self.placeholders: list[tuple[int, int]] = []
        self.tail: list[Flat] | None = None

    def take(self, rows: Iterable[Row]) -> None:
        """Goes as far as it can; one loop without calls, since a cold reading goes through every entry."""
        systems, others = self.systems, self.others
        open_calls: set[str] = set()
        closed = (0, 0, 0, 0)
        for taken, (number, _, _, _, _, role, content, metadata) in enumerate(rows, start=1):
            if content.__class__ is not str or "name" in metadata:
                break
            if role == "tool":
                answered = metadata.get("tool_call_id")
                if answered.__class__ is not str or answered not in open_calls:
                    break
                open_calls.remove(answered)
                if "healed" in metadata:
                    self.placeholders.append((number, len(others)))
                others.append({"role": role, "content": content, "tool_call_id": answered})
            elif open_calls:
                break
            elif "tool_calls" in metadata and role == "assistant":
                calls = self._calls(metadata["tool_calls"], open_calls)
                if calls is None:
                    break
                others.append({"role": role, "content": content, "tool_calls": calls})
            elif role in _SPEAKING:
                (systems if role in SYSTEM_ROLES else others).append({"role": role, "content": content})
            else:
                break
            if not open_calls:
                closed = (taken, len(systems), len(others), len(self.placeholders))
        else:
            self.tail = _with_placeholders(others[closed[2] :], open_calls)
        self._close(*closed)

    def _calls(self, calls: list[dict[str, Any]], open_calls: set[str]) -> list[Flat] | None:
        flat: list[Flat] = []
        ids: set[str] = set()
        for call in calls:
            usable, name, arguments = call.get("tool_call_id"), call.get("name"), call.get("arguments")
            if usable.__class__ is not str or usable in ("", "0") or usable.strip() != usable:
                return None
            if usable in ids or usable in self.declared or usable in self._known or usable in self._orphans:
                return None
            if name.__class__ is not str or not name.strip() or arguments == "" or "function" in call:
                return None
            ids.add(usable)
            if arguments is None:
                flat.append({"tool_call_id": usable, "name": name})
            else:
                flat.append({"tool_call_id": usable, "name": name, "arguments": arguments})
        open_calls |= ids
        self.declared |= ids
        return flat

    def _close(self, count: int, systems: int, others: int, placeholders: int) -> None:
        """Gives up what stands behind the last place where no call was open."""
        for flat in self.others[others:]:
            self.declared.difference_update(call["tool_call_id"] for call in flat.get("tool_calls", ()))
        del self.systems[systems:], self.others[others:], self.placeholders[placeholders:]
        self.count = count


def _with_placeholders(tail: list[Flat], open_calls: Collection[str]) -> list[Flat]:
    """A turn and the results that it has: what is open is answered directly behind it, in its order."""
    calls = tail[0]["tool_calls"] if tail else ()
    placeholders = [
        {"role": "tool", "content": PLACEHOLDER_TEXT, "tool_call_id": call["tool_call_id"]}
        for call in calls
        if call["tool_call_id"] in open_calls
    ]
    return [*tail[:1], *placeholders, *tail[1:]]
