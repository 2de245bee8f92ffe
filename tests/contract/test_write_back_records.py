"""Records kept with a write-back: in its transaction, once."""

from turnledger import ConversationStore, Record

LINK = {"type": "link", "payload": {"n": 1}}
SAID = {"role": "assistant", "content": "Here"}


def test_a_write_back_keeps_its_records_and_a_repeat_of_its_key_keeps_nothing() -> None:
    with ConversationStore(":memory:") as store:
        store.hold("c", "run", [LINK])
        kept = [Record("sdk", "e1", {"raw": 1}), Record("sdk", None, 2)]
        first = store.write_back("c", "run", SAID, records=kept, idempotency_key="k")
        again = store.write_back("c", "run", SAID, records=kept, idempotency_key="k")
        assert (first.records, again.records, again.repeated) == (2, 2, True)
        assert [(record.key, record.value) for record in store.records("c")] == [
            ("e1", {"raw": 1}),
            (None, 2),
        ]
        assert len(first.delivered) == 1
        assert store.verify().ok
