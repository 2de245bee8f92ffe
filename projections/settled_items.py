"""The settled stretch of a normalized list as items: content as given, for the providers' own shapes.

Which entries are settled is for `sendable_view`; a settled stretch never changes but for its placeholders.
"""

from collections.abc import Collection

from turnledger.domain.messages import SYSTEM_ROLES
from turnledger.domain.pairing import Drop, Item, adjacent, repaired, without_leading_results


class SettledItems:
    """System and other items of the first `count` entries of a buffer."""

    def __init__(self) -> None:
        self.count = 0
        self.systems: list[Item] = []
        self.others: list[Item] = []
        self._declared: set[str] = set()

    def take(self, items: list[Item], count: int) -> None:
        """Adds the coerced items of the entries up to `count`, which leave no call open behind them."""
        systems, others = repaired_behind(items, [], self._declared, leads=not self.others)
        self.systems += systems
        self.others += others
        self._declared.update(call.call_id for item in others for call in item.calls)
        self.count = count

    def replace(self, place: int, answer: Item) -> None:
        """A real result in the place of a placeholder, if that is here already."""
        if place < len(self.others):
            answer.index = self.others[place].index
            self.others[place] = answer


def repaired_behind(
    items: list[Item], drops: list[Drop], declared: Collection[str], *, leads: bool
) -> tuple[list[Item], list[Item]]:
    """System and other items that stand behind turns which declared these ids, repaired (MEM-5).

    With `leads` nothing but system messages stands before them.
    """
    systems = [item for item in items if item.role in SYSTEM_ROLES]
    others = repaired([item for item in items if item.role not in SYSTEM_ROLES], drops, declared)
    return systems, adjacent(without_leading_results(others, drops) if leads else others)
