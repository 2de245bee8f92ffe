"""PostgreSQL as the log: options, lost connections, lost answers, passwords, the order of the log."""

import logging
import os
import re
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

import pytest

from tests.postgres import Server, executed, free_port, need_server, new_url
from tests.system.processes import assistant, contents, in_threads, user
from turnledger import (
    ConversationStore,
    InvalidArgument,
    NewerLog,
    NotAStore,
    OutcomeUnknown,
    StoreBusy,
    StoreClosed,
    StoreNotFound,
    StoreUnreachable,
    StoreUnwritable,
    TurnledgerError,
)
from turnledger.store import named

OURS = "application_name = 'turnledger'"
PASSWORD = "pa%ss/w@rd:Zx81"


@pytest.fixture(name="url")
def fresh_url() -> str:
    return new_url()


@pytest.fixture(name="store")
def opened(url: str) -> Iterator[ConversationStore]:
    with ConversationStore(url) as store:
        yield store


@contextmanager
def losing_answers(store: ConversationStore, *, recorded: bool, times: int = 1) -> Iterator[list[int]]:
    """The next inserts reach the server, or do not, and no answer comes."""
    from turnledger.infrastructure.log import Unsettled

    recorder: Any = store._application.recorder
    insert, lost = recorder.insert, list[int]()

    def insert_and_lose(log: Any, rows: Any) -> None:
        if len(lost) < times:
            lost.append(rows[0].originator_version)
            if recorded:
                insert(log, rows)
            raise Unsettled
        insert(log, rows)

    recorder.insert = insert_and_lose
    yield lost
    recorder.insert = insert


class TestOptions:
    def test_a_store_that_is_not_there_is_not_made_when_it_is_only_looked_for(self, url: str) -> None:
        with pytest.raises(StoreNotFound, match="there is no store in postgresql://"):
            ConversationStore(url, create=False)
        with pytest.raises(StoreNotFound):
            ConversationStore(url, read_only=True)
        ConversationStore(url).close()
        ConversationStore(url, create=False).close()

    def test_a_store_opened_for_reading_reads_what_others_write_and_writes_nothing(self, url: str) -> None:
        with ConversationStore(url) as writer, ConversationStore(url, read_only=True) as reader:
            writer.append("c", user("x"))
            assert contents(reader, "c") == ["x"]
            writer.append("c", user("y"))
            assert contents(reader, "c") == ["x", "y"]
            with pytest.raises(StoreUnwritable, match="open it without"):
                reader.append("c", user("z"))
            with reader._application.read_log() as log, pytest.raises(StoreUnwritable):
                log.keep("c", [(1, 1, "", 1, 1, b"")])  # type: ignore[list-item]

    @pytest.mark.parametrize(("durability", "expected"), [("full", "on"), ("normal", "off")])
    def test_durability_is_how_the_server_commits(self, url: str, durability: Any, expected: str) -> None:
        with ConversationStore(url, durability=durability) as store, store._application.read_log() as log:
            assert log.loan.asked("SHOW synchronous_commit") == [(expected,)]  # type: ignore[attr-defined]

    def test_another_programs_tables_are_no_store(self, url: str) -> None:
        executed(url, "CREATE SCHEMA {schema}; CREATE TABLE {schema}.stored_events (a int)")
        with pytest.raises(NotAStore, match="another program's"):
            ConversationStore(url)

    def test_a_store_of_a_newer_release_is_left_alone(self, url: str) -> None:
        ConversationStore(url).close()
        executed(url, "UPDATE {schema}.turnledger_format SET format = 99")
        with pytest.raises(NewerLog, match="upgrade"):
            ConversationStore(url)

    def test_a_cache_that_was_thrown_away_is_made_again(self, url: str) -> None:
        with ConversationStore(url) as store:
            store.append("c", [user(str(n)) for n in range(70)])
            store.append("c", user("more"))
        assert executed(url, "SELECT COUNT(*) FROM {schema}.buffer_segments") != [(0,)]
        executed(url, "DROP TABLE {schema}.buffer_segments")
        with ConversationStore(url) as store:
            assert len(store.buffer("c")) == 71
            store.append("c", user("more"))
            assert store.verify().ok

    def test_two_stores_of_one_database_know_nothing_of_each_other(self) -> None:
        with ConversationStore(new_url()) as one, ConversationStore(new_url()) as two:
            one.append("c", user("one"))
            two.append("c", user("two"))
            assert (contents(one, "c"), contents(two, "c")) == (["one"], ["two"])

    def test_ids_are_listed_by_their_bytes_whatever_the_database_sorts_by(
        self, store: ConversationStore
    ) -> None:
        ids = ["b", "B", "a", "é", "Z", "_", "a b", "ab", "\U0001f600"]
        for conversation_id in ids:
            store.append(conversation_id, user("x"))
        assert [one.conversation_id for one in store.conversations()] == sorted(ids)
        assert [one.conversation_id for one in store.conversations(after="a b")] == [
            one for one in sorted(ids) if one > "a b"
        ]

    @pytest.mark.parametrize(
        "said", ['a "quoted" word', "back\\slash", "100%", "under_score", "ÄÖÜ", "tab\there", "SHOUTED"]
    )
    def test_what_was_said_is_found_by_it(self, store: ConversationStore, said: str) -> None:
        store.append("it", user(f"before {said} after"))
        store.append("other", user("before it or after"))
        assert [one.conversation_id for one in store.conversations(saying=said.lower())] == ["it"]

    def test_a_role_that_may_only_add_and_read_can_keep_the_log(self, url: str) -> None:
        ConversationStore(url).close()
        executed(
            url,
            "CREATE ROLE adder LOGIN; GRANT USAGE ON SCHEMA {schema} TO adder;"
            " GRANT SELECT, INSERT ON ALL TABLES IN SCHEMA {schema} TO adder;"
            " GRANT UPDATE ON {schema}.buffer_segments TO adder;"
            " GRANT USAGE ON ALL SEQUENCES IN SCHEMA {schema} TO adder",
        )
        with ConversationStore(url.replace("postgres@", "adder@")) as store:
            store.append("c", [user(str(n)) for n in range(70)])
            store.append("c", user("more"))
            assert store.verify().ok
        executed(url, "DROP OWNED BY adder; DROP ROLE adder")

    def test_the_place_of_a_store_names_user_database_and_schema(
        self, store: ConversationStore, url: str
    ) -> None:
        assert named(store) == url


class TestLostAnswers:
    @pytest.mark.parametrize("recorded", [True, False])
    @pytest.mark.parametrize("warm", [True, False])
    def test_an_append_whose_answer_was_lost_is_there_once(
        self, url: str, recorded: bool, warm: bool
    ) -> None:
        with ConversationStore(url) as store, ConversationStore(url) as other:
            (store if warm else other).append("c", user("before"))
            with losing_answers(store, recorded=recorded) as lost:
                done = store.append("c", [user("x"), assistant("y")])
            assert (done.appended, done.count, done.entries) == (2, 3, (2, 3))
            assert lost == [3]
            for one in (store, other):
                assert contents(one, "c") == ["before", "x", "y"]
            assert store.append("c", user("z")).count == 4
            assert store.verify().ok

    def test_an_append_that_arrives_after_it_was_tried_again_is_refused(self, url: str) -> None:
        """The server may still be at work on a statement whose connection is gone."""
        from turnledger.infrastructure.log import Overtaken, Unsettled

        with ConversationStore(url) as store:
            store.append("c", user("before"))
            recorder: Any = store._application.recorder
            insert, on_its_way = recorder.insert, list[Any]()

            def late(log: Any, rows: Any) -> None:
                recorder.insert = insert
                on_its_way.extend(rows)
                raise Unsettled

            recorder.insert = late
            assert store.append("c", user("x")).count == 2
            with store._application.read_log() as log, pytest.raises(Overtaken):
                insert(log, on_its_way)
            assert contents(store, "c") == ["before", "x"]

    def test_the_same_words_of_another_writer_are_not_taken_for_ones_own(self, url: str) -> None:
        with ConversationStore(url) as store, ConversationStore(url) as other:
            store.append("c", user("before"))
            recorder: Any = store._application.recorder
            insert = recorder.insert

            def overtaken(log: Any, rows: Any) -> None:
                from turnledger.infrastructure.log import Unsettled

                recorder.insert = insert
                other.append("c", user("x"))
                raise Unsettled

            recorder.insert = overtaken
            assert store.append("c", user("x")).count == 3
            assert contents(other, "c") == ["before", "x", "x"]

    def test_where_nobody_can_be_asked_in_time_the_outcome_is_not_known_and_a_key_settles_it(
        self, url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with ConversationStore(url, timeout_s=0.2) as store:
            store.append("c", user("before"))

            def gone(*_: object) -> Any:
                raise StoreUnreachable("nobody there")

            with monkeypatch.context() as patched, losing_answers(store, recorded=True):
                patched.setattr(store._application.recorder.datastore, "writing", gone)
                with pytest.raises(OutcomeUnknown, match="idempotency_key"):
                    store.append("c", user("x"), idempotency_key="k")
            assert store.append("c", user("x"), idempotency_key="k").repeated
            assert contents(store, "c") == ["before", "x"]

    def test_what_is_never_answered_is_not_said_to_be_refused(self, url: str) -> None:
        with ConversationStore(url, timeout_s=0.2) as store:
            store.append("c", user("before"))
            with losing_answers(store, recorded=False, times=10**6), pytest.raises(OutcomeUnknown):
                store.append("c", user("x"))
            assert store.append("c", user("y")).count == 2


class TestLostConnections:
    def terminate(self, url: str) -> None:
        executed(url, f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {OURS}")

    def test_connections_that_were_lost_while_idle_are_replaced(
        self, store: ConversationStore, url: str
    ) -> None:
        for n in range(5):
            store.append("c", user(str(n)))
            self.terminate(url)
            assert len(contents(store, "c")) == n + 1
            self.terminate(url)
        assert store.verify().ok

    def test_with_no_time_to_wait_a_lost_idle_connection_is_replaced_all_the_same(self, url: str) -> None:
        with ConversationStore(url, timeout_s=0) as store:
            for n in range(3):
                store.append("c", user(str(n)))
                self.terminate(url)
                time.sleep(0.05)
            assert contents(store, "c") == ["0", "1", "2"]

    def test_a_server_that_is_not_there_is_waited_for_as_long_as_a_call_may_take(self) -> None:
        url = f"postgresql://ann@127.0.0.1:{free_port()}/db"
        begun = time.monotonic()
        with pytest.raises(StoreUnreachable, match=r"cannot be reached .*try again"):
            ConversationStore(url, timeout_s=0.3)
        assert time.monotonic() - begun < 10

    def test_a_database_that_is_not_there_is_named_at_once(self, url: str) -> None:
        begun = time.monotonic()
        with pytest.raises(StoreNotFound, match="createdb"):
            ConversationStore(url.replace("/postgres?", "/nowhere?"), timeout_s=60)
        assert time.monotonic() - begun < 30

    def test_a_server_that_goes_silent_is_given_up(self, url: str) -> None:
        """It waited for ever: a machine that is gone says nothing, not even that it is gone."""
        from turnledger.infrastructure.postgres_connections import PATIENCE_S_MIN

        with ConversationStore(url, timeout_s=0.1) as store:
            begun = time.monotonic()
            with store._application.read_log() as log, pytest.raises(StoreUnreachable, match="said nothing"):
                log.loan.asked("SELECT pg_sleep(60)")  # type: ignore[attr-defined]
            assert PATIENCE_S_MIN <= time.monotonic() - begun < 30
            store.append("c", user("x"))

    def test_a_closed_store_has_left_the_server(self, url: str) -> None:
        store = ConversationStore(url.replace("?", "?application_name=leaver&"))
        store.append("c", user("x"))
        store.close()
        with pytest.raises(StoreClosed):
            store.append("c", user("y"))
        end = time.monotonic() + 20
        left = "SELECT COUNT(*) FROM pg_stat_activity WHERE application_name = 'leaver'"
        while executed(url, left) != [(0,)]:
            assert time.monotonic() < end

    def test_a_forked_child_leaves_its_parents_connections_alone(self, store: ConversationStore) -> None:
        store.append("c", user("before"))
        child = os.fork()
        if not child:
            code = 1
            try:
                store.append("c", user("child"))
            except StoreClosed:
                store.close()
                code = 0
            finally:
                os._exit(code)
        assert os.waitpid(child, 0)[1] == 0
        store.append("c", user("after"))
        assert contents(store, "c") == ["before", "after"]


class TestOrder:
    def test_a_follower_never_meets_an_event_behind_one_that_it_has_seen(self, url: str) -> None:
        seen: list[int] = []
        done = threading.Event()

        def write(n: int) -> None:
            with ConversationStore(url) as store:
                for i in range(15):
                    store.append(f"c{n}", [user(str(i)), assistant(str(i))])

        def follow() -> None:
            with ConversationStore(url) as store:
                recorder = store._application.recorder
                while not (done.is_set() and seen and recorder.max_notification_id() == seen[-1]):
                    page = recorder.select_notifications(
                        seen[-1] if seen else None, 1000, inclusive_of_start=False
                    )
                    seen.extend(one.id for one in page)

        ConversationStore(url).close()
        follower = threading.Thread(target=follow)
        follower.start()
        assert in_threads(*[lambda n=n: write(n) for n in range(6)]) == []
        done.set()
        follower.join()
        assert [
            row[0] for row in executed(url, "SELECT notification_id FROM {schema}.stored_events ORDER BY 1")
        ] == seen

    def test_a_follower_waits_for_a_transaction_that_is_still_at_work_and_passes_over_nothing(
        self, url: str
    ) -> None:
        """Rows have the order of their transactions' numbers: behind one that is open none may be read."""
        import psycopg

        with ConversationStore(url) as store:
            recorder = store._application.recorder
            store.append("c", user("before"))
            base, _, schema = url.partition("?schema=")
            with psycopg.connect(base) as slow:
                slow.execute(
                    f'SELECT "{schema}".turnledger_append(%s, 1, %s, %s, 1000)',
                    ("slow", ["ConversationStarted"], [b"{}"]),
                )
                store.append("c", user("after"))
                assert [one.id for one in recorder.select_notifications(None, 9)] == [1, 2]
                assert [one.id for one in recorder.select_notifications(None, 9, settled=False)] == [1, 2, 4]
                slow.commit()
            assert [one.id for one in recorder.select_notifications(None, 9)] == [1, 2, 3, 4]

    def test_writers_of_different_conversations_do_not_wait_for_each_others_commits(self, url: str) -> None:
        import psycopg

        with ConversationStore(url, timeout_s=0.5) as store, psycopg.connect(url.partition("?")[0]) as slow:
            schema = url.partition("?schema=")[2]
            slow.execute(
                f'SELECT "{schema}".turnledger_append(%s, 1, %s, %s, 1000)',
                ("slow", ["ConversationStarted"], [b"{}"]),
            )
            store.append("c", user("x"))
            with pytest.raises(StoreBusy):
                store.append("slow", user("x"))
            slow.rollback()
            store.append("slow", user("x"))

    def test_a_statement_that_fails_leaves_no_lock_behind(self, url: str) -> None:
        with ConversationStore(url) as store:
            store.append("c", user("before"))
            executed(
                url,
                "ALTER SEQUENCE {schema}.stored_events_notification_id_seq MAXVALUE 3 NO CYCLE",
            )
            with pytest.raises(OSError, match="reached maximum"):
                store.append("c", [user("x"), user("y")])
            executed(url, "ALTER SEQUENCE {schema}.stored_events_notification_id_seq NO MAXVALUE")
            with ConversationStore(url, timeout_s=2) as other:
                assert other.append("c", user("x")).count == 2

    def test_the_librarys_subscription_is_told_of_what_is_recorded(self, url: str) -> None:
        with ConversationStore(url) as store, ConversationStore(url) as writer:
            store.append("c", user("before"))
            with store._application.recorder.subscribe() as subscription:  # type: ignore[attr-defined]
                first = [next(subscription).originator_version for _ in range(2)]
                writer.append("c", user("after"))
                assert [*first, next(subscription).originator_version] == [1, 2, 3]

    def test_a_writer_that_another_keeps_overtaking_has_its_turn(self, url: str) -> None:
        """Who had to look first once lost to who knew already, again and again."""
        stop = threading.Event()

        def busy() -> None:
            with ConversationStore(url) as store:
                while not stop.is_set():
                    store.append("c", user("busy"))

        ConversationStore(url).close()
        thread = threading.Thread(target=busy)
        thread.start()
        with ConversationStore(url, timeout_s=20) as store:
            for n in range(10):
                store.append("c", user(str(n)))
        stop.set()
        thread.join()
        with ConversationStore(url) as store:
            assert [text for text in contents(store, "c") if text != "busy"] == [str(n) for n in range(10)]


class TestPasswords:
    SPELLINGS = (PASSWORD, quote(PASSWORD, safe=""), quote(PASSWORD), "Zx81", "pa%ss", "pa%25ss")

    def clean(self, *texts: object) -> None:
        for text in map(str, texts):
            for spelling in self.SPELLINGS:
                assert spelling not in text, text

    def urls(self, port: int) -> list[str]:
        told = quote(PASSWORD, safe="")
        return [
            f"postgresql://bob:{told}@127.0.0.1:{port}/postgres?schema=x",
            f"postgresql://bob@127.0.0.1:{port}/postgres?schema=x&password={told}",
            f"postgres://127.0.0.1:{port}/nowhere?user=bob&password={told}",
            f"postgresql://bob:{told}@127.0.0.1:{port}/postgres?schema=bad-name",
            f"postgresql://bob:{PASSWORD}@127.0.0.1:{port}/postgres",
            f"postgresql://bob:{told}@127.0.0.1:{port}/postgres?nonsense=1",
            f"postgresql:/bob:{told}@127.0.0.1:{port}/postgres",
            f"postgresql://bob:{told}@127.0.0.1:{port}:x/postgres",
            f"host=127.0.0.1 port={port} user=bob password={PASSWORD}",
            f"postgresql+psycopg://bob:{told}@127.0.0.1:{port}/postgres",
        ]

    @pytest.mark.parametrize("number", range(10))
    @pytest.mark.parametrize("there", [True, False], ids=["server", "no server"])
    def test_no_error_log_or_warning_repeats_a_password(
        self, number: int, there: bool, caplog: pytest.LogCaptureFixture, recwarn: pytest.WarningsRecorder
    ) -> None:
        caplog.set_level(logging.DEBUG)
        port = need_server().port if there else free_port()
        try:
            store = ConversationStore(self.urls(port)[number], timeout_s=0.1)
        except Exception as error:
            while error:
                self.clean(error, repr(error), "".join(traceback.format_exception(error)), vars(error))
                error = error.__cause__ or error.__context__  # type: ignore[assignment]
        else:
            self.clean(named(store))
            store.close()
        self.clean(caplog.text, *[warning.message for warning in recwarn])

    @pytest.mark.parametrize(
        "given", ["zq7@xk9", "zq7/xk9", "zq7@xk9/y", "zq7@y?xk9", "zq7?xk9", "zq7/y@xk9"]
    )
    def test_a_password_that_is_not_escaped_is_not_taken_for_a_host_and_told(self, given: str) -> None:
        with pytest.raises(TurnledgerError) as caught:
            ConversationStore(f"postgresql://bob:{given}@127.0.0.1:1/postgres", timeout_s=0.1)
        for half in ("zq7", "xk9"):
            assert half not in str(caught.value)

    def test_no_repr_of_an_open_store_or_of_its_parts_shows_a_password(self) -> None:
        server = need_server()
        told = quote(PASSWORD, safe="")
        with ConversationStore(server.url("secret").replace("postgres@", f"postgres:{told}@")) as store:
            application = store._application
            datastore = application.recorder.datastore
            parts = (
                store,
                application,
                application.location,
                datastore,
                datastore.pool,
                application.recorder,
            )
            self.clean(*map(repr, parts), *map(str, parts), named(store))
            with pytest.raises(InvalidArgument) as caught:
                store.append("c", user("x"), expected_version="no")  # type: ignore[arg-type]
            self.clean(caught.value)
            with application.read_log() as log:
                self.clean(repr(log), repr(log.loan), repr(log.loan._line))  # type: ignore[attr-defined]

    def test_a_wrong_password_is_refused_at_once_and_not_repeated(self) -> None:
        server = Server("fsync=off")
        try:
            executed(server.url(), "CREATE ROLE bob LOGIN PASSWORD 'right'")
            (server.data / "pg_hba.conf").write_text(
                "host all postgres 127.0.0.1/32 trust\nhost all bob 127.0.0.1/32 scram-sha-256\n"
            )
            executed(server.url(), "SELECT pg_reload_conf()")
            told = quote(PASSWORD, safe="")
            begun = time.monotonic()
            with pytest.raises(StoreUnreachable, match="lets nobody in") as caught:
                ConversationStore(server.url().replace("postgres@", f"bob:{told}@"), timeout_s=60)
            assert time.monotonic() - begun < 30
            self.clean("".join(traceback.format_exception(caught.value)))
        finally:
            server.remove()


def test_a_database_that_has_not_every_letter_is_refused() -> None:
    url = need_server().url()
    executed(url, "DROP DATABASE IF EXISTS latin")
    executed(url, "CREATE DATABASE latin TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'")
    with pytest.raises(InvalidArgument, match="keeps text as LATIN1"):
        ConversationStore(url.replace("/postgres?", "/latin?"))


def test_without_the_extra_one_is_told_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from turnledger.infrastructure import places

    monkeypatch.setattr(places, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=re.escape("pip install 'turnledger[postgres]'")):
        ConversationStore("postgresql://ann@db/chats")


def test_no_conversation_waits_for_the_writers_of_another(store: ConversationStore) -> None:
    """64 queues were once shared by all by the hash of their ids: three that met had a third of the turns."""
    datastore: Any = store._application.recorder.datastore
    with datastore.turn(store._application.deadline(), "c"):
        for n in range(1_000):
            with datastore._turnstile(f"c{n}").turn(0.0) as inside:
                assert inside
        with datastore._turnstile("c").turn(0.0) as inside:
            assert not inside
    assert len(datastore._turnstiles) <= 1  # one is there while somebody has it
