"""Given, when, then: for decisions on a real store, and for projections, which must bear every event twice.

`Given([...])` names what was appended before; `.when(...)` makes one call more; what came of it is compared
by the names of its events, the report and the buffer.
"""

import warnings
from collections.abc import Callable, Iterable
from typing import Any, Protocol, TypeVar

from turnledger import ArtifactDropped, ConversationStore, DomainEvent

CID = "c"
OPEN: list[ConversationStore] = []
"""The stores that were given, for the end of the test to close."""


def new_place() -> str:
    return ":memory:"


def user(content: Any = "hello", **keys: Any) -> dict[str, Any]:
    return {"role": "user", "content": content, **keys}


def assistant(content: Any = "well", **keys: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content, **keys}


def system(content: Any = "be kind") -> dict[str, Any]:
    return {"role": "system", "content": content}


def call(call_id: Any, arguments: Any = None, name: str = "search", **keys: Any) -> dict[str, Any]:
    made = {"tool_call_id": call_id, "name": name, **keys}
    return made if arguments is None else {**made, "arguments": arguments}


def turn(*calls: Any, content: str = "") -> dict[str, Any]:
    """An assistant turn; a bare id stands for a call without arguments."""
    made = [item if isinstance(item, dict) else call(item) for item in calls]
    return {"role": "assistant", "content": content, "tool_calls": made}


def result(call_id: Any, content: Any = "found", **keys: Any) -> dict[str, Any]:
    return {"role": "tool", "content": content, "tool_call_id": call_id, **keys}


def placeholder(call_id: Any, content: str = "Tool call was interrupted; no result.") -> dict[str, Any]:
    return {"role": "tool", "content": content, "metadata": {"tool_call_id": call_id, "healed": True}}


def artifact(name: str, call_id: Any = "c1", **payload: Any) -> dict[str, Any]:
    return {"type": name, "payload": payload, "tool_call_id": call_id}


def short(message: dict[str, Any]) -> str:
    """An entry in one word or two: `tool c1 found`, `assistant[c1,c2]`, `tool c1 healed`."""
    metadata = message["metadata"]
    calls = metadata.get("tool_calls")
    if calls is not None:
        return f"assistant[{','.join(str(item.get('tool_call_id', '?')) for item in calls)}]"
    if message["role"] == "tool":
        said = "healed" if metadata.get("healed") else message["content"]
        return f"tool {metadata.get('tool_call_id', '?')} {said}"
    return f"{message['role']} {message['content']}"


class Given:
    """A store of its own, in memory unless a test says otherwise, with a past."""

    def __init__(self, past: Iterable[Any] = (), **settings: Any) -> None:
        self.store = ConversationStore(new_place(), **settings)
        OPEN.append(self.store)
        self.outcome: Any = None
        self.events: list[DomainEvent] = []
        for messages in past:
            self.store.append(CID, messages)

    def when(self, messages: Any, **keys: Any) -> "Given":
        """Appends; `outcome` is the report, `events` what was recorded."""
        return self._doing(lambda: self.store.append(CID, messages, **keys))

    def hold(self, *artifacts: Any, execution: str = "e1", **keys: Any) -> "Given":
        return self._doing(lambda: self.store.hold(CID, execution, list(artifacts), **keys))

    def write_back(self, messages: Any, *artifacts: Any, execution: str = "e1", **keys: Any) -> "Given":
        return self._doing(
            lambda: self.store.write_back(CID, execution, messages, artifacts=artifacts, **keys)
        )

    def compact(self, keep_last: int, summary: Any = "what was said", **keys: Any) -> "Given":
        message = user(summary) if isinstance(summary, str) else summary
        return self._doing(lambda: self.store.compact(CID, keep_last=keep_last, summary=message, **keys))

    def retract(self, entry: Any = None, **keys: Any) -> "Given":
        return self._doing(lambda: self.store.retract(CID, entry, **keys))

    def clear(self, **keys: Any) -> "Given":
        return self._doing(lambda: self.store.clear(CID, **keys))

    def take(self, execution: str = "e1") -> Any:
        self._doing(lambda: self.store.take(CID, execution))
        return self.outcome

    def settle(self, how: str, take: Any) -> "Given":
        keys = {"reason": "the run is gone"} if how == "discard" else {}
        return self._doing(lambda: getattr(self.store, how)(CID, take, **keys))

    def _doing(self, command: Callable[[], Any]) -> "Given":
        before = self.version
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ArtifactDropped)
            self.outcome = command()
        self.warned = [str(warning.message) for warning in caught]
        self.events = list(self.store.events(CID, after=before)) if self.version else []
        return self

    @property
    def version(self) -> int:
        try:
            return self.store.version(CID)
        except LookupError:
            return 0

    def then(self, *names: str) -> "Given":
        """The names of the events that the last call recorded."""
        assert [type(event).__name__ for event in self.events] == list(names)
        return self

    def then_nothing(self) -> "Given":
        return self.then()

    def buffer(self, *expected: str) -> "Given":
        assert [short(message) for message in self.store.buffer(CID)] == list(expected)
        return self

    def held(self, *types: str, execution: str | None = None) -> "Given":
        assert [item["type"] for item in self.store.held(CID, execution)] == list(types)
        return self

    def on_the_wire(self) -> list[list[str]]:
        """The types of the artifacts on each entry that has some."""
        wire = self.store.wire(CID)
        return [
            [item["type"] for item in entry["toolArtifacts"]] for entry in wire if "toolArtifacts" in entry
        ]


class Projection(Protocol):
    def apply(self, event: Any) -> None: ...


P = TypeVar("P", bound=Projection)


def projected(
    made: Callable[[], P], events: Iterable[DomainEvent], *, twice: bool = False, to: int | None = None
) -> P:
    """A projection fed with events up to a version; if asked each of them twice, and earlier ones again."""
    view = made()
    fed = [event for event in events if to is None or event.version <= to]
    for place, event in enumerate(fed):
        view.apply(event)
        if twice:
            view.apply(event)
            view.apply(fed[place // 2])
    return view
