"""Ids and names in a provider's alphabet and length: the same way each time, unchanged where they fit."""

import re
from collections.abc import Callable, Iterable

from turnledger.domain.pairing import Item
from turnledger.domain.values import digest


def call_ids(items: Iterable[Item], pattern: str, shaped: Callable[[str], str]) -> dict[str, str]:
    """For each declared call id the one that is sent: itself where `pattern` matches all of it.

    Another is made by `shaped` of a digest (32 hexadecimal digits), which depends on nothing but the id; of
    two that would be equal, the one declared later gives way.
    """
    ids: dict[str, str] = {}
    taken: set[str] = set()
    fits = re.compile(pattern, re.ASCII).fullmatch
    for call in (call for item in items for call in item.calls):
        sent, attempt = call.call_id, 0
        while not fits(sent) or sent in taken:
            sent, attempt = shaped(digest(f"{attempt}:{call.call_id}")), attempt + 1
        ids[call.call_id] = sent
        taken.add(sent)
    return ids


def fitting_name(name: str, others: str, longest: int) -> str:
    """A name with `_` for each character that `others`, a pattern, matches, cut to the longest allowed."""
    return re.sub(others, "_", name)[:longest]
