"""Names of an ecosystem, which may be any text, as ids of conversations, turns and records.

A part of a path has `/`, `%` and control characters written as `%2F`, `%25`, `%0A`, and no more than 76
characters: of a longer name its beginning and a digest. So four names and three slashes are an id.
"""

import re
from hashlib import sha256

from turnledger.domain.errors import InvalidId
from turnledger.domain.identifiers import checked_id
from turnledger.domain.values import scrubbed

_CHARACTERS_MAX, _BEGINNING, _DIGEST = 76, 40, 32
_ESCAPED = re.compile(r"[%/\x00-\x1f\x7f-\x9f]")


def path_of(*names: str) -> str:
    """The names as one id; two lists of names have the same one only if they are equal."""
    return "/".join(map(_part, names))


def as_id(name: str) -> str:
    """The name, if it can be an id; else one that can, the same for the same name."""
    try:
        return checked_id("name", name)
    except InvalidId:
        return _part(scrubbed(name)) if name.strip() else "%20"


def _part(name: str) -> str:
    escaped = _ESCAPED.sub(lambda found: f"%{ord(found[0]):02X}", name)
    if len(escaped) <= _CHARACTERS_MAX:
        return escaped
    digest = sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{escaped[:_BEGINNING]}%~{digest[:_DIGEST]}"
