"""What the hash chain costs an append: the same appends with it, and with a digest that costs nothing.

Told is the time of the processor: a few microseconds drown in that of a disk.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import process_time
from typing import TYPE_CHECKING

from benchmarks.contenders import Turnledger
from benchmarks.measure import Line, interleaved
from benchmarks.messages import messages
from turnledger.infrastructure import live, mapper

if TYPE_CHECKING:
    from benchmarks.rows import Bench

HASHED, UNHASHED = "hashed", "not hashed"
SMALL = 1.1


def chain(bench: "Bench") -> Iterator[Line]:
    """The same appends, one message a call at NORMAL, with the hash chain and without."""
    given = messages(bench.scale.at_length)

    def appended(*, hashed: bool) -> float:
        path = bench.files.new()
        contender = Turnledger(path, "normal")
        contender.append("c", given[:1])
        with _digests(hashed):
            begun = process_time()
            for message in given[1:]:
                contender.append("c", (message,))
            took = (process_time() - begun) / (len(given) - 1)
        contender.close()
        bench.files.remove(path)
        return took

    work = {HASHED: lambda _: appended(hashed=True), UNHASHED: lambda _: appended(hashed=False)}
    found = interleaved(bench.scale.rounds, work)
    yield Line(
        "chain", f"append, {len(given):,} calls, CPU", HASHED, found[HASHED], UNHASHED, found[UNHASHED], SMALL
    )


@contextmanager
def _digests(hashed: bool) -> Iterator[None]:
    """Within the block every event has the same digest, if it is not to be hashed."""
    before = mapper.digest_of
    digest_of = before if hashed else lambda state: "0" * 64
    try:
        _set(digest_of)
        yield
    finally:
        _set(before)


def _set(digest_of: Callable[[bytes], str]) -> None:
    for module in (mapper, live):
        setattr(module, "digest_of", digest_of)  # noqa: B010
