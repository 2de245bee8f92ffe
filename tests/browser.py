"""Debian's chromium as tests and pictures have it, started as a container needs it."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, Dialog, Page, ViewportSize, sync_playwright

CHROMIUM = shutil.which("chromium") or "/usr/bin/chromium"
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
WIDE: ViewportSize = {"width": 1280, "height": 800}
NARROW: ViewportSize = {"width": 400, "height": 800}


def require_chromium() -> None:
    """Skips where there is no chromium; in CI that is a failure."""
    if shutil.which(CHROMIUM):
        return
    if os.environ.get("CI"):
        pytest.fail("CI must have chromium: .ci/run installs it")
    pytest.skip("there is no chromium: apt-get install chromium")


@contextmanager
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        try:
            yield running
        finally:
            running.close()


class Watched:
    """A page with all that it complains of: the console, scripts that fail, dialogs, foreign requests."""

    def __init__(self, page: Page, address: str) -> None:
        self.page = page
        self.complaints: list[str] = []
        page.on("console", lambda message: self._said(message.type, message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("dialog", self._asked_the_user)
        page.on("request", lambda request: self._asked(request.url, address))

    def _said(self, kind: str, text: str) -> None:
        if kind in ("error", "warning"):
            self.complaints.append(text)

    def _asked_the_user(self, dialog: Dialog) -> None:
        self.complaints.append(dialog.message)
        dialog.dismiss()

    def _asked(self, url: str, address: str) -> None:
        if not url.startswith((address, "data:", "file:")):
            self.complaints.append(f"asked for {url}")
