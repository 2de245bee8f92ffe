"""The items of OpenAI Responses: which are calls, and which result answers one of each kind.

A computer's, a shell's or a patch's call is a call like a function's, of a tool that bears its name. All
other items that are no message (reasoning, what the service's own tools did) belong to the turn they stand
in, and only the service they came from has words for them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

FUNCTION, CUSTOM, REASONING = "function_call", "custom_tool_call", "reasoning"


@dataclass(frozen=True, slots=True)
class CallKind:
    """Where a call of this kind keeps its arguments; the tool's name where the item does not say it."""

    arguments: tuple[str, ...]
    tool: str | None = None


CALLS: Mapping[str, CallKind] = {
    FUNCTION: CallKind(("arguments",)),
    CUSTOM: CallKind(("input",)),
    "apply_patch_call": CallKind(("operation",), "apply_patch"),
    "computer_call": CallKind(("actions", "action"), "computer"),
    "local_shell_call": CallKind(("action",), "local_shell"),
    "shell_call": CallKind(("action",), "shell"),
}
RESULTS: Mapping[str, str] = {f"{kind}_output": kind for kind in CALLS}
"""Each kind of result, and the kind of call that it answers."""
SAID_BY_TEXT = ("apply_patch_call_output", "local_shell_call_output")
"""Of the results that are no function's those whose output is a text."""


def type_of(item: Any) -> str:
    """An item's type: one without is a message where it has a role, a reference where it is an id alone."""
    if not isinstance(item, Mapping):
        return ""
    kind = item.get("type")
    if isinstance(kind, str) and kind:
        return kind
    if "role" in item:
        return "message"
    return "item_reference" if isinstance(item.get("id"), str) and item.keys() <= {"id", "type"} else ""
