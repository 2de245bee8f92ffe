"""A store and a forked child: the child is refused, and neither its work nor its end harms the parent's file.

Each runs in a process of its own, as forking a process that has threads is not for a test runner.
"""

import os
from pathlib import Path

import pytest

from tests.system.processes import CALLS, body, contents
from turnledger import ConversationStore

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")

FORK = """
import gc, os, threading, time
path = sys.argv[1]
def user(text):
    return {"role": "user", "content": text}
def forked(child, leave=os._exit):
    pid = os.fork()
    if pid == 0:
        try:
            child()
        except BaseException as error:
            sys.stderr.write(f"in the child: {error!r}")
            leave(9)
        leave(0)
    return pid
def waited(pid):
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
"""


@pytest.mark.parametrize("url", ["file", ":memory:"])
def test_every_call_in_a_forked_child_says_that_the_store_is_closed(tmp_path: Path, url: str) -> None:
    assert (
        body(
            FORK
            + """
from tests.system.processes import CALLS
store = ConversationStore(path)
store.append("c", user("x"))
def child():
    for name, call in CALLS.items():
        try:
            call(store)
        except StoreClosed:
            continue
        raise AssertionError(name)
    store.close()
waited(forked(child))
print(len(CALLS), store.append("c", user("y")).count)
""",
            tmp_path / "store.db" if url == "file" else url,
        )
        == f"{len(CALLS)} 2"
    )


@pytest.mark.parametrize("leave", ["os._exit", "sys.exit"])
def test_the_end_of_a_child_does_not_touch_the_file_of_its_parent(tmp_path: Path, leave: str) -> None:
    path = tmp_path / "store.db"
    told = body(
        FORK
        + f"""
store = ConversationStore(path)
store.append("c", user("before"))
def child():
    global store
    del store
    gc.collect()
waited(forked(child, {leave}))
assert store.append("c", user("after")).count == 2
os.kill(os.getpid(), 9) if os.fork() == 0 else os.wait()
store.append("c", user("last"))
print(os.path.exists(path + "-wal"))
""",
        path,
    )
    assert told == "True"
    with ConversationStore(path) as store:
        assert contents(store, "c") == ["before", "after", "last"]
        assert store.verify().ok


def test_what_a_child_writes_by_its_own_store_outlives_the_parent_that_closes(tmp_path: Path) -> None:
    """SQLite's notes on locks are inherited, the locks are not: the parent once deleted the log under it."""
    path = tmp_path / "store.db"
    body(
        FORK
        + """
store = ConversationStore(path)
store.append("c", user("parent"))
ready, go = os.pipe(), os.pipe()
def child():
    own = ConversationStore(path)
    own.append("c", user("child"))
    os.write(ready[1], b"x")
    os.read(go[0], 1)
    own.append("c", user("child, when the parent had closed"))
pid = forked(child)
os.read(ready[0], 1)
store.append("c", user("parent again"))
store.close()
os.write(go[1], b"x")
waited(pid)
""",
        path,
    )
    with ConversationStore(path) as store:
        assert contents(store, "c") == [
            "parent",
            "child",
            "parent again",
            "child, when the parent had closed",
        ]


def test_forking_while_threads_write_loses_nothing_and_sticks_nowhere(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    told = body(
        FORK
        + """
import warnings
warnings.simplefilter("ignore")
store = ConversationStore(path)
done, counts = threading.Event(), {}
def write(n):
    while not done.is_set():
        store.append(f"c{n}", user("x"))
        store.buffer(f"c{n}")
        counts[n] = counts.get(n, 0) + 1
threads = [threading.Thread(target=write, args=(n,)) for n in range(4)]
[thread.start() for thread in threads]
def child():
    with ConversationStore(path) as own:
        own.append("children", user("x"))
    global store
    del store
    gc.collect()
for n in range(8):
    waited(forked(child, sys.exit if n % 2 else os._exit))
done.set()
[thread.join() for thread in threads]
print(sorted(len(store.buffer(f"c{n}")) - counts[n] for n in counts), len(store.buffer("children")))
print(store.verify().ok)
""",
        path,
    )
    assert told == "[0, 0, 0, 0] 8\nTrue"


def test_a_connection_at_work_during_the_fork_is_left_alone_by_the_child(tmp_path: Path) -> None:
    """To close it, the child would roll back, in the memory that they share, what the parent is writing."""
    path = tmp_path / "store.db"
    told = body(
        FORK
        + """
import warnings
warnings.simplefilter("ignore")
from turnledger.infrastructure import connections, storage
connections.FORK_WAIT_S = 0.2
inside, go = threading.Event(), threading.Event()
insert = storage.ConversationRecorder.insert
def insert_and_wait(*arguments):
    insert(*arguments)
    inside.set()
    go.wait()
store = ConversationStore(path)
store.append("c", user("before"))
storage.ConversationRecorder.insert = insert_and_wait
large = [user(f"{n} " + "x" * 100_000) for n in range(30)]  # more than SQLite keeps back until the commit
writer = threading.Thread(target=store.append, args=("c", large))
writer.start()
inside.wait()
def child():
    global store, writer
    del store, writer
    gc.collect()
waited(forked(child, sys.exit))
go.set()
writer.join()
store.append("c", user("after"))
with ConversationStore(path) as cold:
    print(len(cold.buffer("c")), cold.verify().ok)
""",
        path,
    )
    assert told == "32 True"
    with ConversationStore(path) as store:
        assert len(store.buffer("c")) == 32
