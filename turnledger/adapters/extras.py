"""What an adapter needs beside turnledger: named with the command that installs it, where it is missing."""

from collections.abc import Iterator
from contextlib import contextmanager

from turnledger.domain.errors import PackageMissing


@contextmanager
def extra(name: str) -> Iterator[None]:
    """A block that imports an ecosystem's packages. Raises `PackageMissing` where they are not installed."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise PackageMissing(
            f"this adapter needs more packages ({error.name} is not there): pip install 'turnledger[{name}]'"
        ) from error
