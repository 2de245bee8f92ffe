"""A file as the doctor sees it: rows of JSON, the conversations in them, and the text written anew.

The layouts are those that an import reads. A row is a line of JSON Lines, or the whole of a JSON document;
what was not touched is written as it was read, to the letter.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from turnledger.importing.doctor import findings as kinds
from turnledger.importing.doctor.findings import Finding, Path, spelled
from turnledger.importing.doctor.patching import Origins, patched, style_of
from turnledger.importing.doctor.rescue import rescued, values_in
from turnledger.importing.doctor.writable import writable
from turnledger.importing.files import LIST_KEYS, is_conversation, is_message

_SQLITE = "SQLite format 3\0"
_BREAKS_OFF = "the text breaks off here: its last message is not whole"
Beside = tuple[str, Any]
"""A key beside a list of messages, and what is to stand under it."""


@dataclass(slots=True, eq=False)
class Row:
    """One JSON value with its text, the number of its line (0 for a document), and the blank lines before it.

    `value` is what the text holds, `clean` what of it can be written.
    """

    number: int
    text: str
    value: Any
    lead: str = ""
    clean: Any = None


@dataclass(slots=True, eq=False)
class Held:
    """A conversation: its messages, where they stand in the row that holds them; or one a row."""

    messages: list[Any]
    rows: list[Row]
    path: Path | None = None

    @property
    def holder(self) -> dict[str, Any] | None:
        """The map that the list of messages stands in."""
        if not self.path or not isinstance(self.path[-1], str):
            return None
        value = self.rows[0].clean
        for step in self.path[:-1]:
            value = value[step]
        return value if isinstance(value, dict) else None

    def place(self, index: int, path: Path) -> str:
        """Where a piece of the message of an index stands, in words."""
        if self.path is None:
            return place_at(self.rows[index].number, path)
        return place_at(self.rows[0].number, (*self.path, index, *path))


def place_at(number: int, path: Path) -> str:
    if not number:
        return spelled(path) or "the file"
    return f"line {number}, {spelled(path)}" if path else f"line {number}"


class Layout:
    """A text taken apart; `findings` are those of the text itself: lines that are no JSON, or cut off.

    `unreadable` says why nothing can be read, None where something can.
    """

    def __init__(self, text: str) -> None:
        self.findings: list[Finding] = []
        self.unreadable: str | None = None
        self.origins = Origins()
        self._mark = "\ufeff" if text.startswith("\ufeff") else ""
        self._tail = ""
        self._rows: list[Row] = []
        self._read(text.removeprefix("\ufeff"))
        self._rows = [row for row in self._rows if self._clean(row)]
        self.conversations = list(self._conversations())
        if not self.conversations and self.unreadable is None:
            self.unreadable = "no conversation stands in it"

    def written(self, treated: Sequence[tuple[Held, list[Any], Beside | None]]) -> str:
        """The text with these messages, and system prompts, in the place of each conversation's."""
        for held, messages, beside in treated:
            if held.path is None:
                return self._mark + self._lines(held.rows, messages)
            self._put(held, messages, beside)
        lines = (row.lead + patched(row.text, row.value, row.clean, self.origins) for row in self._rows)
        return self._mark + "\n".join(lines) + self._tail

    def _read(self, text: str) -> None:
        lines = [(number, line) for number, line in enumerate(text.split("\n"), 1)]
        full = [(number, line) for number, line in lines if line.strip()]
        if not full:
            self.unreadable = "it is empty"
        elif text.startswith(_SQLITE):
            self.unreadable = "it is a database: examine_database takes its path"
        elif len(full) > 1 and (_is_json(full[0][1]) or (_holds_lines(full) and not _is_json(text))):
            self._read_lines(lines)
        else:
            self._read_document(text)

    def _read_document(self, text: str) -> None:
        body = text.rstrip("\r\n")
        self._tail = text[len(body) :]
        try:
            value = json.loads(body)
        except (ValueError, RecursionError) as error:
            saved = rescued(body)
            self.unreadable = None if saved else f"it is no JSON: {error}"
        else:
            self._rows = [Row(int(is_message(value) and "\n" not in body), body, value)]
            return
        if saved:
            self._tail = "\n" * ("\n" in saved)
            self._rows = [Row(0, saved, json.loads(saved))]
            self._tell(kinds.CUT_OFF, body.count("\n") + 1, _BREAKS_OFF, "it ends before that message")

    def _read_lines(self, lines: Sequence[tuple[int, str]]) -> None:
        lead = ""
        last = max(number for number, line in lines if line.strip())
        for number, line in lines:
            if line.strip():
                self._rows += [
                    Row(number, text, value, lead) for text, value in self._values(number, line, last)
                ]
                lead = ""
            elif number < last:
                lead += f"{line}\n"
        self._tail = "".join(f"\n{line}" for number, line in lines if number > last)
        if self._rows and self._rows[-1].number != last:
            self._tail = self._tail or "\n"  # the line that broke off is gone

    def _values(self, number: int, line: str, last: int) -> list[tuple[str, Any]]:
        """What a line holds; of one that is no JSON, what can be saved."""
        try:
            return [(line, json.loads(line))]
        except RecursionError:
            reason = "it is nested too deep"
        except ValueError as error:
            reason = f"it is no JSON: {error}"
        saved = rescued(line)
        if saved:
            self._tell(kinds.CUT_OFF, number, _BREAKS_OFF, "it ends before that message")
            return [(saved, json.loads(saved))]
        found = values_in(line)
        if found:
            what = (
                f"{len(found)} on lines of their own"
                if len(found) > 1
                else "the whole one that follows is kept"
            )
            self._tell(kinds.BAD_LINE, number, "a line was begun before the one before it was whole", what)
            return found
        if number == last and "no JSON" in reason:
            self._tell(
                kinds.CUT_OFF, number, "the file breaks off in the middle of its last line", "left out"
            )
        else:
            self._tell(kinds.BAD_LINE, number, reason, "left out")
        return []

    def _conversations(self) -> Iterator[Held]:
        rows = self._rows
        if rows and is_message(rows[0].clean):
            self._rows = [row for row in rows if self._is_message(row)]
            yield Held([row.clean for row in self._rows], self._rows)
            return
        for row in rows:
            found = list(_lists_in(row.clean, ()))
            for path, messages in found:
                yield Held(messages, [row], path)
            if not found:
                self._tell(kinds.BAD_LINE, row.number, "no conversation stands there", "left as it is")

    def _is_message(self, row: Row) -> bool:
        if is_message(row.clean):
            return True
        self._tell(kinds.BAD_LINE, row.number, "it is no message, though the lines before it are", "left out")
        return False

    def _clean(self, row: Row) -> bool:
        """Whether a row can be written, with what of it cannot put right."""

        def tell(path: Path, reason: str, remedy: str) -> None:
            self._tell(kinds.UNWRITABLE, row.number, reason, remedy, path)

        try:
            row.clean = writable(row.value, tell, self.origins)
        except (ValueError, RecursionError):
            self._tell(kinds.BAD_LINE, row.number, "it is nested too deep", "left out")
            return False
        return True

    def _tell(self, kind: str, number: int, reason: str, remedy: str, path: Path = ()) -> None:
        self.findings.append(Finding(kind, place_at(number, path), reason, remedy))

    def _lines(self, rows: Sequence[Row], messages: Sequence[Any]) -> str:
        """One message a line."""
        row_of = {id(row.value): row for row in rows}
        style, ending = style_of(rows[0].text), "\r" * rows[0].text.endswith("\r")
        lines = []
        for message in messages:
            row = row_of.get(id(self.origins.of(message)))
            if row is None:
                lines.append(style.written(message, "") + ending)
            else:
                lines.append(row.lead + patched(row.text, row.value, message, self.origins))
        return "\n".join(lines) + self._tail if lines else ""

    def _put(self, held: Held, messages: list[Any], beside: Beside | None) -> None:
        """Puts messages where the row holds them, and a system prompt beside them."""
        path = held.path or ()
        row = held.rows[0]
        if len(messages) != len(held.messages) or any(
            one is not other for one, other in zip(messages, held.messages, strict=False)
        ):
            row.clean = self._with(row.clean, path, self.origins.note(messages, held.messages))
        if beside:
            row.clean = self._with(row.clean, (*path[:-1], beside[0]), beside[1])

    def _with(self, value: Any, path: Path, new: Any) -> Any:
        """A value that holds another at a path."""
        if not path:
            return new
        step, rest = path[0], path[1:]
        copy = self.origins.copy_of(value)
        before = value.get(step) if isinstance(value, dict) else value[step]
        copy[step] = self._with(before, rest, new)
        return copy


def _lists_in(value: Any, path: Path) -> Iterator[tuple[Path, list[Any]]]:
    """The lists of messages in a value: its own, or those of a list of conversations."""
    if is_conversation(value) and isinstance(value, dict):
        key = next(key for key in LIST_KEYS if isinstance(value.get(key), list))
        yield (*path, key), value[key]
    elif is_conversation(value):
        yield path, value
    elif isinstance(value, list):
        for place, item in enumerate(value):
            if is_conversation(item):
                yield from _lists_in(item, (*path, place))


def _is_json(line: str) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def _holds_lines(full: Sequence[tuple[int, str]]) -> bool:
    """Whether some line is a value of JSON Lines, and not part of one over several."""
    return any(line[:1] in ("{", "[") and _is_json(line) for _, line in full[1:])
