"""Heads: what to keep elsewhere of a log, so that no later change of it goes unseen.

Every event holds the digest of the one before it, so that the digest of one stands for all up to it. A head
given back as an anchor shows that nothing up to it was edited, removed, reordered or cut off, even where
somebody rewrote the whole chain. What comes behind the newest anchor only the chain itself vouches for.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from turnledger.domain.errors import InvalidArgument
from turnledger.domain.identifiers import checked_id

DIGEST_CHARACTERS = 64


@dataclass(frozen=True, slots=True)
class Head:
    """The version of a conversation, and the SHA-256 (hexadecimal) of the stored bytes of its event there."""

    conversation_id: str
    version: int
    digest: str


def as_anchors(values: Any) -> tuple[Head, ...]:
    """Heads, each given as such or as a map of its three fields (a JSON form). Raises `InvalidArgument`."""
    if isinstance(values, Head | Mapping | str) or not isinstance(values, Iterable):
        raise InvalidArgument("anchors must be a list of heads, as head() gave them")
    return tuple(_as_head(place, value) for place, value in enumerate(values))


def _as_head(place: int, value: Any) -> Head:
    if isinstance(value, Head):
        return value
    if not isinstance(value, Mapping) or not {"conversation_id", "version", "digest"} <= value.keys():
        raise InvalidArgument(
            f"anchor {place} is no head: it takes a conversation_id, a version and a digest"
        )
    version, digest = value["version"], value["digest"]
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise InvalidArgument(f"anchor {place}: its version is no number from 1 up")
    if not isinstance(digest, str) or len(digest) != DIGEST_CHARACTERS:
        raise InvalidArgument(f"anchor {place}: its digest has not the {DIGEST_CHARACTERS} characters of one")
    return Head(checked_id("conversation_id", value["conversation_id"]), version, digest)
