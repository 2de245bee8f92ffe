"""A transcript examined: a file, or messages that a program holds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from turnledger.domain.errors import InvalidArgument
from turnledger.importing.doctor.anatomies import EXAMINED, treated_as
from turnledger.importing.doctor.findings import UNWRITABLE, Finding, Path, spelled
from turnledger.importing.doctor.given import refuse_unkeepable
from turnledger.importing.doctor.layout import Held, Layout
from turnledger.importing.doctor.patching import Origins
from turnledger.importing.doctor.treatment import Treated
from turnledger.importing.doctor.writable import writable
from turnledger.importing.formats import ALIASES, DEFAULT_FORMAT, shown_format


@dataclass(frozen=True, slots=True)
class Examined:
    """What was found, in order of place, and what a provider accepts in its stead.

    `fixed` is what was given, mended: a list of messages, or the text of a file; None for a database, which
    `fix_database` writes unless `unmended` says why it cannot. What is sound comes back as it was, to the
    letter. `formats` are those of the conversations, `conversations` how many there are, `messages` how many
    they hold. `assumed` says that a format was taken because nothing showed which it is.
    """

    findings: tuple[Finding, ...]
    fixed: Any
    formats: tuple[str, ...]
    conversations: int
    messages: int
    unmended: str | None = None
    assumed: bool = False

    @property
    def sound(self) -> bool:
        return not self.findings


def examine_messages(messages: Sequence[Any], format: str | None = None) -> Examined:
    """Examines one list of messages in their provider's own shape."""
    refuse_unkeepable(messages)
    name, assumed = _known(format, messages)
    clean, origins, found = _written(messages)
    treated = treated_as(name, clean, origins, lambda index, path: spelled((index, *path)))
    findings = (*found, *treated.findings)
    return Examined(findings, treated.messages, (name,), 1, len(messages), assumed=assumed)


def examine_request(request: Mapping[str, Any], key: str, format: str | None = None) -> Examined:
    """Examines the messages that a map holds under a key, and its system prompt beside them."""
    refuse_unkeepable(request[key])
    name, assumed = _known(format, request[key], request)
    clean, origins, found = _written(dict(request))

    def place(index: int, path: Path) -> str:
        return spelled((key, index, *path))

    treated = treated_as(name, clean[key], origins, place, clean)
    findings = (*found, *treated.findings)
    beside = [treated.beside] if treated.beside else []
    fixed = {**clean, key: treated.messages, **dict(beside)} if findings else request
    return Examined(findings, fixed, (name,), 1, len(request[key]), assumed=assumed)


def _written(value: Any) -> tuple[Any, Origins, list[Finding]]:
    """A value as it can be written, with what of it cannot."""
    origins, found = Origins(), list[Finding]()
    clean = writable(value, lambda path, why, remedy: found.append(_unwritable(path, why, remedy)), origins)
    return clean, origins, found


def examine_text(text: str, format: str | None = None) -> Examined:
    """Examines the text of a file: JSON or JSON Lines, in any layout that an import reads.

    Bytes that are no UTF-8 stand in it as `surrogateescape` decodes them. Raises `InvalidArgument` where
    nothing can be read, and for a format that the doctor does not know.
    """
    layout = Layout(text)
    if layout.unreadable:
        raise InvalidArgument(layout.unreadable)
    treated: list[tuple[Held, Treated]] = []
    names: dict[str, bool] = {}
    for held in layout.conversations:
        name, assumed = _known(format, held.messages, held.holder)
        names[name] = names.get(name, False) or assumed
        treated.append((held, treated_as(name, held.messages, layout.origins, held.place, held.holder)))
    findings = [*layout.findings, *(finding for _, done in treated for finding in done.findings)]
    fixed = layout.written([(held, done.messages, done.beside) for held, done in treated])
    return Examined(
        tuple(findings),
        fixed if findings else text,
        tuple(names),
        len(treated),
        sum(len(held.messages) for held, _ in treated),
        assumed=any(names.values()),
    )


def _unwritable(path: Path, reason: str, remedy: str) -> Finding:
    return Finding(UNWRITABLE, spelled(path), reason, remedy)


def _known(
    format: str | None, messages: Sequence[Any], about: Mapping[str, Any] | None = None
) -> tuple[str, bool]:
    """The format's own name, and whether it is taken only because nothing shows another."""
    shown = format or shown_format(messages, about)
    name = ALIASES.get(shown, shown) if shown else DEFAULT_FORMAT
    if name not in EXAMINED:
        raise InvalidArgument(f"the doctor knows the formats {', '.join(EXAMINED)}, not {name!r}")
    return name, not shown
