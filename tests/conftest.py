"""What all tests share: the signals of a person at a terminal."""

import signal


def pytest_configure() -> None:
    """Started in the background, a shell has them ignore SIGINT, and every process that they start too."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
