"""A transcript examined: a file, or messages that a program holds."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from turnledger.domain.errors import InvalidArgument
from turnledger.importing.doctor.anatomies import EXAMINED, treated_as
from turnledger.importing.doctor.findings import UNWRITABLE, Finding, Path, spelled
from turnledger.importing.doctor.layout import Held, Layout
from turnledger.importing.doctor.patching import Origins
from turnledger.importing.doctor.treatment import Treated
from turnledger.importing.doctor.writable import writable
from turnledger.importing.formats import ALIASES, guessed_format


@dataclass(frozen=True, slots=True)
class Examined:
    """What was found, in order of place, and what a provider accepts in its stead.

    `fixed` is what was given, mended: a list of messages, or the text of a file; None for a database, which
    `fix_database` writes unless `unmended` says why it cannot. What is sound comes back as it was, to the
    letter. `formats` are those of the conversations, `conversations` how many there are, `messages` how many
    they hold.
    """

    findings: tuple[Finding, ...]
    fixed: Any
    formats: tuple[str, ...]
    conversations: int
    messages: int
    unmended: str | None = None

    @property
    def sound(self) -> bool:
        return not self.findings


def examine(messages: Iterable[Any], format: str | None = None) -> Examined:
    """Examines one list of messages in their provider's own shape. Nothing that is given is changed.

    Raises `InvalidArgument` for a format that the doctor does not know.

    >>> call = {"id": "c1", "type": "function", "function": {"name": "track", "arguments": "{}"}}
    >>> done = examine([{"role": "assistant", "content": None, "tool_calls": [call]}])
    >>> done.findings[0].place, done.findings[0].kind, done.fixed[1]["role"]
    ('[0].tool_calls[0]', 'unanswered call', 'tool')
    """
    if isinstance(messages, str | bytes | Mapping):
        raise InvalidArgument("give a list of messages; examine_text takes the text of a file")
    given, origins, found = list(messages), Origins(), list[Finding]()
    clean = writable(given, lambda path, why, remedy: found.append(_unwritable(path, why, remedy)), origins)
    name = _known(format, clean)
    treated = treated_as(name, clean, origins, lambda index, path: spelled((index, *path)))
    return Examined((*found, *treated.findings), treated.messages, (name,), 1, len(given))


def examine_text(text: str, format: str | None = None) -> Examined:
    """Examines the text of a file: JSON or JSON Lines, in any layout that an import reads.

    Bytes that are no UTF-8 stand in it as `surrogateescape` decodes them. Raises `InvalidArgument` where
    nothing can be read, and for a format that the doctor does not know.
    """
    layout = Layout(text)
    if layout.unreadable:
        raise InvalidArgument(layout.unreadable)
    treated: list[tuple[Held, Treated]] = []
    names: dict[str, None] = {}
    for held in layout.conversations:
        name = _known(format, held.messages)
        names[name] = None
        treated.append((held, treated_as(name, held.messages, layout.origins, held.place, held.holder)))
    findings = [*layout.findings, *(finding for _, done in treated for finding in done.findings)]
    fixed = layout.written([(held, done.messages, done.beside) for held, done in treated])
    return Examined(
        tuple(findings),
        fixed if findings else text,
        tuple(names),
        len(treated),
        sum(len(held.messages) for held, _ in treated),
    )


def _unwritable(path: Path, reason: str, remedy: str) -> Finding:
    return Finding(UNWRITABLE, spelled(path), reason, remedy)


def _known(format: str | None, messages: Sequence[Any]) -> str:
    name = ALIASES.get(format, format) if format else guessed_format(messages)
    if name not in EXAMINED:
        raise InvalidArgument(f"the doctor knows the formats {', '.join(EXAMINED)}, not {name!r}")
    return name
