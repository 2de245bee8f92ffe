"""Which call an id means: equal, open, known, repeated; ids reused and renamed (MEM-1, MEM-2).

The ledger knows every call and answer of a whole log, evicted ones too. What stands where in the buffer
is for `conversation`; what to do about it for `appending`.
"""

from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from turnledger.domain.messages import arguments_of_call, id_of_call, name_of_call, original_id_of
from turnledger.domain.overlay import Overlay, adopt, empty
from turnledger.domain.values import canonical, likeness, parsed

ReusedIds = Literal["compare", "drop", "distinct"]
REUSED_IDS: tuple[ReusedIds, ...] = ("compare", "drop", "distinct")

_NO_ARGUMENTS = "none"


def arguments_text(arguments: Any) -> str:
    """One text for all equal arguments: JSON values compared exactly, text parsed first (section 1)."""
    if isinstance(arguments, str):
        try:
            arguments = parsed(arguments)
        except ValueError:
            return f"text:{arguments}" if arguments else _NO_ARGUMENTS
    if arguments is None or arguments == {}:
        return _NO_ARGUMENTS
    try:
        return f"json:{canonical(arguments)}"
    except RecursionError:
        return f"text:{arguments!r}"


def call_key(call: Mapping[str, Any]) -> int:
    """What two equal calls share: name and arguments."""
    return likeness([name_of_call(call), arguments_text(arguments_of_call(call))])


@dataclass(slots=True)
class Declaration:
    """A call as one turn declared it, under the id that it was recorded with."""

    turn: int
    place: int
    call_id: str
    original_id: str | None
    turn_id: str | None
    call: Mapping[str, Any]
    _key: int | None = field(default=None, compare=False, repr=False)

    @property
    def key(self) -> int:
        """What two equal calls share; made when first asked for, since few calls are ever compared."""
        if self._key is None:
            self._key = call_key(self.call)
        return self._key


class Answer(NamedTuple):
    """What holds the slot of a call: its real result, or a placeholder (`healed`)."""

    entry: int
    healed: bool
    content: int


@dataclass(slots=True)
class Ledger:
    """Every call and answer that a log knows, by id."""

    bearing: MutableMapping[str, tuple[Declaration, ...]] = field(default_factory=dict)
    answers: MutableMapping[str, Answer] = field(default_factory=dict)
    originals: MutableMapping[str, bool] = field(default_factory=dict)
    numbered: MutableMapping[str, int] = field(default_factory=dict)
    forgotten: MutableMapping[str, bool] = field(default_factory=dict)
    newest_turn: int | None = None

    def draft(self) -> "Ledger":
        """The same ledger, whose changes this one does not see until it adopts them."""
        return Ledger(
            Overlay(self.bearing),
            Overlay(self.answers),
            Overlay(self.originals),
            Overlay(self.numbered),
            Overlay(self.forgotten),
            self.newest_turn,
        )

    def adopt(self, draft: "Ledger") -> None:
        """Takes over what a draft of this ledger changed."""
        adopt(self.bearing, draft.bearing)
        adopt(self.answers, draft.answers)
        adopt(self.originals, draft.originals)
        adopt(self.numbered, draft.numbered)
        adopt(self.forgotten, draft.forgotten)
        self.newest_turn = draft.newest_turn

    def declare(
        self, turn: int, turn_id: str | None, calls: Sequence[Mapping[str, Any]]
    ) -> list[Declaration]:
        """Adds a turn's calls; a call without a usable id is not known under any."""
        declared = declarations(turn, turn_id, calls)
        for call in declared:
            self._bear(call.call_id, call)
            if call.original_id and call.original_id != call.call_id:
                self._bear(call.original_id, call)
                self.originals[call.original_id] = True
                self.numbered[call.original_id] = self._first_free(call.original_id) - 1
        return declared

    def _bear(self, call_id: str, call: Declaration) -> None:
        self.bearing[call_id] = (*self.bearing.get(call_id, ()), call)
        self.forgotten.pop(call_id, None)

    def answer(self, call_id: str, answer: Answer, original_id: str | None) -> None:
        self.answers[call_id] = answer
        if original_id:
            self.originals.setdefault(original_id, False)

    def forget_turn(self, turn: int, call_ids: Sequence[str]) -> None:
        """Takes a turn's calls out; a name that the log has used stays used, for `fresh_id`."""
        known = [call for call_id in call_ids for call in self.bearing.get(call_id, ()) if call.turn == turn]
        names = (name for call in known for name in (call.call_id, call.original_id) if name)
        for name in dict.fromkeys(names):  # all first: one call's original id may be another one's own
            self._unbear(name, turn)

    def _unbear(self, name: str, turn: int) -> None:
        left = tuple(call for call in self.bearing.get(name, ()) if call.turn != turn)
        if left:
            self.bearing[name] = left
        elif self.bearing.pop(name, None):
            self.forgotten[name] = True
        self.originals[name] = any(call.call_id != name for call in left)

    def forget_answer(self, call_id: str, entry: int) -> None:
        """Takes the answer of an entry out: its call, if there is one, is open again."""
        answer = self.answers.get(call_id)
        if answer is not None and answer.entry == entry:
            del self.answers[call_id]
            self.originals.setdefault(call_id, False)

    def forget_all(self) -> None:
        """Takes everything out; what names were used is kept, for `fresh_id`."""
        for name in self.bearing:
            self.originals[name], self.forgotten[name] = False, True
        for name in self.answers:
            self.originals.setdefault(name, False)
        empty(self.bearing)
        empty(self.answers)
        self.newest_turn = None

    def is_forgotten(self, call_id: str) -> bool:
        """Whether calls were declared under this id, and every one of them was taken back."""
        return call_id in self.forgotten

    def declared(self, call_id: str) -> list[Declaration]:
        """The declarations of a call under its own id, the first first."""
        return [call for call in self.bearing.get(call_id, ()) if call.call_id == call_id]

    def is_open(self, call_id: str) -> bool:
        return call_id not in self.answers

    def renamed(self, call_id: str) -> bool:
        """Whether some call came under this id and was recorded under another."""
        return self.originals.get(call_id, False)

    def fresh_id(self, call_id: str, taken: set[str]) -> str:
        """`c1-2`, then `c1-3`, …: the first that nothing in the log or in `taken` uses."""
        number = self._first_free(call_id)
        while self._uses(candidate := f"{call_id}-{number}") or candidate in taken:
            number += 1
        return candidate

    def _first_free(self, call_id: str) -> int:
        """The first number that nothing uses behind this id; all below it are used, and stay so."""
        number = self.numbered.get(call_id, 1) + 1
        while self._uses(f"{call_id}-{number}"):
            number += 1
        return number

    def _uses(self, call_id: str) -> bool:
        return call_id in self.bearing or call_id in self.answers or call_id in self.originals


def declarations(turn: int, turn_id: str | None, calls: Sequence[Mapping[str, Any]]) -> list[Declaration]:
    """A turn's calls with usable ids, in order."""
    return [
        Declaration(turn, place, usable, original_id_of(call), turn_id, call)
        for place, call in enumerate(calls)
        if (usable := id_of_call(call))
    ]


class Identity(NamedTuple):
    """What an incoming call turns out to be: the id to record, and in a duplicate turn what it repeats."""

    incoming_id: str
    call_id: str
    repeats: Declaration | None = None


def identify(ledger: Ledger, calls: Sequence[Mapping[str, Any]], mode: ReusedIds) -> list[Identity | None]:
    """For each call of an incoming turn what it is; None for one without a usable id.

    A call repeats a known call if it equals it, or if that one stands in an earlier turn and is still
    open; another call under a known id is a new one, under a fresh id.
    """
    ids = [id_of_call(call) for call in calls]
    if _are_new(ledger, calls, ids):
        return [Identity(usable, usable) if usable else None for usable in ids]
    return _all_repeated(ledger, calls, ids, mode) or _each_new_or_repeated(ledger, calls, ids, mode)


def _are_new(ledger: Ledger, calls: Sequence[Mapping[str, Any]], ids: Sequence[str | None]) -> bool:
    """Whether nothing was ever declared under these ids, nor twice in this turn: what most turns are."""
    return (
        len(set(ids)) == len(ids)
        and not any(usable in ledger.bearing for usable in ids if usable)
        and not any("original_id" in call for call in calls)
    )


def _all_repeated(
    ledger: Ledger, calls: Sequence[Mapping[str, Any]], ids: Sequence[str | None], mode: ReusedIds
) -> list[Identity | None]:
    """A duplicate turn (MEM-2): each of its calls repeats one of an earlier turn. Empty for any other."""
    identities: list[Identity | None] = []
    for usable, call in zip(ids, calls, strict=True):
        earlier = ledger.bearing.get(usable, ()) if usable else ()
        found = _repeated(ledger, earlier, (), call, mode) if earlier else None
        if usable is None or found is None:
            return []
        identities.append(Identity(usable, found.call_id, found))
    return identities


def _each_new_or_repeated(
    ledger: Ledger, calls: Sequence[Mapping[str, Any]], ids: Sequence[str | None], mode: ReusedIds
) -> list[Identity | None]:
    taken = {i for call in calls for i in (id_of_call(call), original_id_of(call)) if i}
    this_turn = Ledger()
    identities: list[Identity | None] = []
    for usable, call in zip(ids, calls, strict=True):
        if usable is None:
            identities.append(None)
            continue
        earlier, here = ledger.bearing.get(usable, ()), this_turn.bearing.get(usable, ())
        found = _repeated(ledger, earlier, here, call, mode) if earlier or here else None
        if found:
            call_id = found.call_id
        else:
            call_id = ledger.fresh_id(usable, taken) if earlier or here else usable
            taken.add(call_id)
        original = usable if call_id != usable else original_id_of(call)
        this_turn.declare(0, None, [{**call, "tool_call_id": call_id, "original_id": original}])
        identities.append(Identity(usable, call_id))
    return identities


def _repeated(
    ledger: Ledger,
    earlier: Sequence[Declaration],
    here: Sequence[Declaration],
    call: Mapping[str, Any],
    mode: ReusedIds,
) -> Declaration | None:
    """Of the known calls the one repeated: an equal one (open first, else the latest), else an open one."""
    if mode == "distinct":
        return None
    equal = _equal((*earlier, *here), call)
    open_ones = [known for known in earlier if ledger.is_open(known.call_id)]
    every = [*earlier, *here] if mode == "drop" else []
    open_and_equal = [known for known in equal if ledger.is_open(known.call_id)]
    for candidates in (open_and_equal, equal, open_ones, every):
        if candidates:
            return candidates[-1]
    return None


def _equal(known: Sequence[Declaration], call: Mapping[str, Any]) -> list[Declaration]:
    """Of these the calls equal to this one, which is equal to itself without a closer look."""
    if all(each.call is call for each in known):
        return list(known)
    key = call_key(call)
    return [each for each in known if each.key == key]


def is_repeat(identities: Sequence[Identity | None]) -> bool:
    """Whether a turn is a duplicate (MEM-2)."""
    return bool(identities) and all(identity and identity.repeats for identity in identities)
