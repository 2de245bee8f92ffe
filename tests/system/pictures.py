"""The pictures of the README, taken anew: `python -m tests.system.pictures [FOLDER]`, else docs/pictures.

They show the demo's conversation, and one that was recorded, as the page has them; chromium takes them.
"""

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Literal, NamedTuple

from PIL import Image
from playwright.sync_api import Browser, ViewportSize

from tests.browser import NARROW, WIDE, browser
from tests.contract.command_line import DATA
from tests.serving import served

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "pictures"
COLOURS = 128


class Picture(NamedTuple):
    """A view, and how it is looked at."""

    name: str
    address: str
    size: ViewportSize = WIDE
    theme: Literal["light", "dark"] = "light"


PICTURES = (
    Picture("page", "/c/demo/4/buffer"),
    Picture("page-dark", "/c/airline-task2-trial1/14/sendable", theme="dark"),
    Picture("page-compare", "/c/demo/diff/5..9/sendable"),
    Picture("page-narrow", "/c/demo/6/buffer", size=NARROW),
)


def main(folder: Path = FOLDER) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        store = Path(place) / "chats.db"
        for command in (["demo", "--fast"], ["import", str(DATA)]):
            turnledger = [sys.executable, "-m", "turnledger", "--store", str(store)]
            subprocess.run([*turnledger, *command], check=True, capture_output=True)
        with served(store) as page, browser() as chromium:
            for picture in PICTURES:
                taken = folder / f"{picture.name}.png"
                take(chromium, page.address, picture, taken)
                print(f"{taken}: {taken.stat().st_size:,} bytes")  # noqa: T201


def take(chromium: Browser, address: str, picture: Picture, file: Path) -> None:
    """Takes one, and keeps as few colours of it as it needs."""
    context = chromium.new_context(
        base_url=address, viewport=picture.size, color_scheme=picture.theme, device_scale_factor=1.5
    )
    view = context.new_page()
    view.goto(picture.address)
    view.locator("#live.on").wait_for()
    view.screenshot(path=file)
    context.close()
    with Image.open(file) as image:
        image.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).save(file, optimize=True)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
