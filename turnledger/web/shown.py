"""One message, or one artifact, as the page shows it: in any shape, made legible, long text folded.

Everything here is text or finished markup; what stands where on the page is for the templates.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from markupsafe import Markup

from turnledger.domain.messages import arguments_of_call, call_id, id_of_call, name_of_call, original_id_of
from turnledger.projections.legible import legible, legible_lines, one_line, spoken
from turnledger.web.trees import tree, tree_of_text

PREVIEW_CHARACTERS = 480
PREVIEW_LINES = 7
TEXT_CHARACTERS_MAX = 100_000
_PAIRING = ("tool_calls", "tool_call_id", "healed", "original_id")


class Mark(NamedTuple):
    """A word about a message, and the class that colours it."""

    text: str
    kind: str


@dataclass(frozen=True, slots=True)
class Text:
    """What was said: `preview` is its beginning where it is long, `tree` its structure where it is JSON."""

    whole: str
    preview: str = ""
    characters: int = 0
    tree: Markup | None = None

    @property
    def is_cut(self) -> bool:
        return self.characters > TEXT_CHARACTERS_MAX


@dataclass(frozen=True, slots=True)
class ShownCall:
    """A call that a turn declares."""

    name: str
    call_id: str
    original: str
    arguments: Markup | None


@dataclass(frozen=True, slots=True)
class ShownArtifact:
    """An artifact, delivered or held; `detail` says of which run."""

    type: str
    payload: Markup
    detail: str = ""
    marks: tuple[Mark, ...] = ()


@dataclass(frozen=True, slots=True)
class Shown:
    """A message: `label` names it, `answers` the call that a tool message answers."""

    label: str
    role: str
    said: Text
    marks: tuple[Mark, ...] = ()
    detail: str = ""
    answers: str = ""
    calls: tuple[ShownCall, ...] = ()
    artifacts: tuple[ShownArtifact, ...] = ()
    extras: Markup | None = None

    @property
    def is_changed(self) -> bool:
        return any(mark.kind == "changed" for mark in self.marks)

    @property
    def is_placeholder(self) -> bool:
        return any(mark.kind == "healed" for mark in self.marks)


def text(content: Any, *, structured: bool = True) -> Text:
    """A content as text, with its structure if it has one and that is asked for."""
    whole = spoken(content)
    cut = "\n".join(legible_lines(whole[:TEXT_CHARACTERS_MAX]))
    return Text(cut, _preview(cut), len(whole), tree_of_text(whole) if structured else None)


def _preview(whole: str) -> str:
    """The beginning of a long text, ended at a line or a word; "" for a short one."""
    lines = "\n".join(whole.split("\n", PREVIEW_LINES)[:PREVIEW_LINES])
    if len(lines) == len(whole) and len(whole) <= PREVIEW_CHARACTERS * 3 // 2:
        return ""
    begin = lines[:PREVIEW_CHARACTERS]
    return begin if len(begin) == len(lines) else begin.rsplit(" ", 1)[0]


def shown(
    message: Mapping[str, Any],
    label: str,
    *,
    marks: Iterable[Mark] = (),
    detail: str = "",
    names: Mapping[str, str] | None = None,
) -> Shown:
    """A message in the stored, the flat or the wire shape; `names` are those of the calls known by id."""
    role = str(message["role"])
    stored = isinstance(message.get("metadata"), Mapping)
    metadata: Mapping[str, Any] = message["metadata"] if stored else message
    calls = metadata.get("tool_calls") or [] if role == "assistant" else []
    told = tuple(marks)
    stands_in = metadata.get("healed") is True or any(mark.kind == "healed" for mark in told)
    return Shown(
        label=label,
        role=role,
        said=text(message.get("content"), structured=role == "tool"),
        marks=told,
        detail=detail,
        answers=_answers(metadata, names or {}, stands_in) if role == "tool" else "",
        calls=tuple(_call(call) for call in calls),
        artifacts=tuple(shown_artifact(artifact) for artifact in message.get("toolArtifacts") or ()),
        extras=_extras(metadata) if stored else None,
    )


def shown_artifact(
    artifact: Mapping[str, Any], *, detail: str = "", marks: Iterable[Mark] = ()
) -> ShownArtifact:
    return ShownArtifact(one_line(str(artifact["type"])), tree(artifact["payload"]), detail, tuple(marks))


def origin(turn_id: str | None, execution_id: str | None) -> str:
    """The turn and the run that something belongs to."""
    parts = (("turn", turn_id), ("execution", execution_id))
    return ", ".join(f"{name} {legible(found)}" for name, found in parts if found)


def _call(call: Mapping[str, Any]) -> ShownCall:
    arguments = arguments_of_call(call)
    structure = tree_of_text(arguments) if isinstance(arguments, str) else None
    return ShownCall(
        one_line(name_of_call(call)),
        legible(id_of_call(call) or ""),
        legible(original_id_of(call) or ""),
        None if arguments is None else structure or tree(arguments),
    )


def _answers(metadata: Mapping[str, Any], names: Mapping[str, str], stands_in: bool) -> str:
    answered = call_id(metadata.get("tool_call_id"))
    if answered is None:
        return "answers no call"
    name = f"{one_line(names[answered])} " if answered in names else ""
    original = original_id_of(metadata)
    came = f" (came as {legible(original)})" if original else ""
    verb = "stands in for" if stands_in else "answers"
    return f"{verb} {name}{legible(answered)}{came}"


def _extras(metadata: Mapping[str, Any]) -> Markup | None:
    rest = {key: value for key, value in metadata.items() if key not in _PAIRING}
    return tree(rest) if rest else None
