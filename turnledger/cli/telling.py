"""How the demo speaks: a heading, a sentence, and then what the store itself says happened."""

import time
from textwrap import wrap
from typing import Any

from turnledger.cli.pen import LogPen
from turnledger.cli.screen import STYLES, Screen
from turnledger.domain.messages import PLACEHOLDER_TEXT
from turnledger.projections.legible import legible, one_line, shortened, spoken
from turnledger.projections.timeline import Timeline
from turnledger.store import ConversationStore

WIDTH_MAX = 100
SCENE_PAUSE_S = 0.3
LINE_PAUSE_S = 0.05
INDENT = "   "


class Teller:
    """Tells one conversation as it happens; what it says about it is read from the store."""

    def __init__(self, store: ConversationStore, conversation_id: str, *, pauses: bool) -> None:
        self.store = store
        self.conversation_id = conversation_id
        self.screen = Screen()
        self._pauses = pauses and self.screen.is_terminal
        self._pen = LogPen(self.screen, columns=True)
        self._timeline = Timeline()
        self._told = 0
        self._scene = 0

    @property
    def width(self) -> int:
        return min(self.screen.width, WIDTH_MAX)

    def scene(self, title: str, text: str) -> None:
        """A heading, and what is about to happen."""
        self._scene += 1
        self._pause(SCENE_PAUSE_S)
        rule = "─" * max(2, self.width - len(title) - 7)
        self.screen.line()
        self.screen.line((f" {self._scene} ", "bold reverse"), (f" {title} ", "bold"), (rule, "dim"))
        self.aside(text)

    def line(self, *parts: Any) -> None:
        self._pause(LINE_PAUSE_S)
        self.screen.line(*parts)

    def aside(self, text: str) -> None:
        for line in wrap(text, self.width - 2 * len(INDENT)):
            self.screen.line((f"{INDENT}{line}", "italic"))

    def happened(self) -> None:
        """The events since it was last told, as the log has them."""
        for event in self.store.events(self.conversation_id, after=self._told):
            self._pause(LINE_PAUSE_S)
            self._pen.write(self._timeline.line(event), mark=(" + ", "bold green"))
            self._told = event.version

    def fact(self, name: str, *parts: Any) -> None:
        """One thing that the store says now."""
        self._pause(LINE_PAUSE_S)
        label = f"{INDENT}{name:<16} "
        self.screen.line((label, "dim"), *parts, indent=len(label))

    def model_sees(self) -> None:
        """The list that a provider would be sent, with what stands in it for a lost result marked."""
        parts: list[Any] = []
        for message in self.store.sendable(self.conversation_id).messages:
            parts.extend([" · " if parts else "", *_seen(message)])
        self.fact("the model sees", *parts)

    def buffer_line(self, name: str, entry: int, at: int | None = None) -> None:
        """One entry of the buffer, as it is or was."""
        found = next(e for e in self.store.entries(self.conversation_id, at=at) if e.number == entry)
        healed = found.metadata.get("healed") is True
        said = shortened(one_line(spoken(found.content)), 60)
        self.fact(
            name,
            (found.role, STYLES[found.role]),
            f" at position {found.position}: ",
            (said, STYLES["healed"] if healed else STYLES["replaced"]),
        )

    def _pause(self, seconds: float) -> None:
        if self._pauses:
            time.sleep(seconds)


def _seen(message: dict[str, Any]) -> list[Any]:
    role = str(message["role"])
    parts: list[Any] = [(role, STYLES[role])]
    for call in message.get("tool_calls") or []:
        parts.append(f" calls {legible(call['tool_call_id'])}")
    if "tool_call_id" in message:
        parts.append(f" {legible(message['tool_call_id'])}")
    if message["content"] == PLACEHOLDER_TEXT:
        parts.append((" (interrupted)", STYLES["healed"]))
    return parts
