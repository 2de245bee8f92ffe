"""The page's own files: styles, scripts, one picture. A closed set, read once, known by their digests."""

from collections.abc import Mapping
from hashlib import sha256
from importlib.resources import files
from typing import NamedTuple

_TYPES = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}


class Asset(NamedTuple):
    """A file as it is sent."""

    content: bytes
    media_type: str
    etag: str


def _read() -> dict[str, Asset]:
    found = {}
    for file in files("turnledger.web").joinpath("static").iterdir():
        media_type = _TYPES.get(file.name.rpartition(".")[2])
        if media_type:
            content = file.read_bytes()
            found[file.name] = Asset(content, media_type, f'"{sha256(content).hexdigest()[:32]}"')
    return found


ASSETS: Mapping[str, Asset] = _read()
