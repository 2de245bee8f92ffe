"""The tables and functions of a store on PostgreSQL: eventsourcing's events table, and what stands beside it.

Conversation ids are compared by their bytes, as everywhere else, whatever the database sorts by. The table
`turnledger_format` says that the schema is a store, and of which format.
"""

from turnledger.domain.errors import InvalidArgument, NewerLog, NotAStore, StoreNotFound
from turnledger.infrastructure.log import FORMAT, IS_LISTED
from turnledger.infrastructure.postgres_connections import Loan
from turnledger.infrastructure.postgres_location import PostgresLocation

MAKING = 0x544C4D4B  # the advisory lock of whoever makes a store
# read as rows: what the server keeps in mind of names may be older than the lock that was waited for
_TABLES_OF = (
    "SELECT relname::text FROM pg_class WHERE relkind IN ('r', 'p', 'v', 'f')"
    " AND relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = %s)"
)
_SEGMENTS = """
CREATE TABLE IF NOT EXISTS {schema}.buffer_segments (
    conversation_id text COLLATE "C", version bigint, format integer, digest text, row_bytes bigint,
    checksum bigint, changes bytea, PRIMARY KEY (conversation_id, version))
"""
_TABLES = """
CREATE TABLE {schema}.stored_events (
    originator_id text COLLATE "C" NOT NULL, originator_version bigint NOT NULL, topic text, state bytea,
    notification_id bigserial, PRIMARY KEY (originator_id, originator_version));
CREATE UNIQUE INDEX stored_events_notification_id_idx ON {schema}.stored_events (notification_id);
CREATE INDEX stored_events_listed_idx ON {schema}.stored_events (originator_id) WHERE {is_listed};
CREATE TABLE {schema}.turnledger_format (format integer NOT NULL);
INSERT INTO {schema}.turnledger_format VALUES ({format})
"""
# A row of version 1 begins a conversation; every other one needs the one before it. The lock on the
# conversation is held until the commit. The one on the log is let go when transaction and rows have their
# numbers, which so have the same order; the commits then go to the disk together.
_NUMBERED = """
    PERFORM pg_advisory_lock({log}, {order_lock});
    PERFORM pg_current_xact_id();
    SELECT array_agg(nextval('{schema}.stored_events_notification_id_seq')) INTO v_places
        FROM generate_series(1, cardinality(p_topics));
    PERFORM pg_advisory_unlock({log}, {order_lock});
"""
_APPEND = f"""
CREATE FUNCTION {{schema}}.turnledger_append(
    p_conversation text, p_first bigint, p_topics text[], p_states bytea[], p_wait_ms integer)
RETURNS integer LANGUAGE plpgsql AS $body$
DECLARE
    v_places bigint[];
BEGIN
    PERFORM set_config('lock_timeout', p_wait_ms || 'ms', true);
    PERFORM pg_advisory_xact_lock(hashtextextended(p_conversation, {{conversations}}));
    IF EXISTS (SELECT FROM {{schema}}.stored_events
               WHERE originator_id = p_conversation AND originator_version = p_first)
       OR p_first > 1 AND NOT EXISTS (SELECT FROM {{schema}}.stored_events
               WHERE originator_id = p_conversation AND originator_version = p_first - 1) THEN
        RETURN 0;
    END IF;
    {_NUMBERED}
    INSERT INTO {{schema}}.stored_events
        SELECT p_conversation, p_first + row - 1, topic, state, place
        FROM unnest(p_topics, p_states, v_places) WITH ORDINALITY AS given (topic, state, place, row);
    RETURN cardinality(p_topics);
END $body$
"""
_COPY = f"""
CREATE FUNCTION {{schema}}.turnledger_copy(
    p_conversations text[], p_versions bigint[], p_topics text[], p_states bytea[])
RETURNS integer LANGUAGE plpgsql AS $body$
DECLARE
    v_places bigint[];
BEGIN
    {_NUMBERED}
    INSERT INTO {{schema}}.stored_events
        SELECT conversation, version, topic, state, place
        FROM unnest(p_conversations, p_versions, p_topics, p_states, v_places)
            AS given (conversation, version, topic, state, place);
    RETURN cardinality(p_topics);
END $body$
"""
CONVERSATIONS, LOG = 0x544C4752, 0x544C4F47  # the advisory locks of conversations, and of the log's order


def look(loan: Loan, location: PostgresLocation) -> bool:
    """Whether the schema is one of ours already; False for none or an empty one. Raises for anything else."""
    tables = {row[0] for row in loan.asked(_TABLES_OF, (location.schema,))}
    if not {"turnledger_format", "stored_events"} <= tables:
        if tables & {"turnledger_format", "stored_events", "buffer_segments"}:
            raise NotAStore(f"{location.place} is no turnledger store: its tables are another program's")
        if not location.may_create:
            raise StoreNotFound(f"there is no store in {location.place}: check database and schema")
        return False
    version = loan.asked(f'SELECT format FROM "{location.schema}".turnledger_format')
    if version and version[0][0] > FORMAT:
        raise NewerLog(f"{location.place} was made by a newer turnledger: upgrade to open it")
    if "buffer_segments" not in tables and not location.read_only:  # a cache, which may have been thrown away
        loan.asked(_SEGMENTS.format(schema=f'"{location.schema}"'))
    return True


def make(loan: Loan, location: PostgresLocation, order_lock: int) -> None:
    """Makes the store, in one transaction; another process may be making it just now."""
    names = {
        "schema": f'"{location.schema}"',
        "order_lock": order_lock,
        "conversations": CONVERSATIONS,
        "log": LOG,
        "format": FORMAT,
        "is_listed": IS_LISTED,
    }
    with loan.transaction():
        loan.asked("SELECT pg_advisory_xact_lock(%s, 0)", (MAKING,))
        if look(loan, location):
            return
        encoding = loan.asked("SHOW server_encoding")[0][0]
        if encoding != "UTF8":
            raise InvalidArgument(
                f"{location.place} keeps text as {encoding}, which has not every letter: make a database "
                "with createdb --encoding=UTF8 --template=template0"
            )
        if not loan.asked("SELECT 1 FROM pg_namespace WHERE nspname = %s", (location.schema,)):
            loan.asked(f"CREATE SCHEMA {names['schema']}")
        loan.script(";".join((_TABLES, _SEGMENTS, _APPEND, _COPY)).format(**names))
