"""Messages like an agent's, the same in every run: a question, calls with arguments, results, an answer.

About 800 bytes of JSON each on average; results have 1 to 2 KB.
"""

import random
from collections.abc import Iterator
from itertools import count, islice
from typing import Any

WORDS = (
    *("parcel", "order", "address", "refund", "customer", "delivery", "depot", "label", "invoice", "status"),
    *(
        "account",
        "shipment",
        "return",
        "item",
        "window",
        "morning",
        "evening",
        "courier",
        "signature",
        "method",
    ),
    *(
        "credit",
        "balance",
        "policy",
        "exception",
        "request",
        "reference",
        "number",
        "confirmed",
        "pending",
        "the",
    ),
    *(
        "delayed",
        "received",
        "weight",
        "kilogram",
        "street",
        "city",
        "of",
        "and",
        "to",
        "for",
        "with",
        "on",
        "is",
    ),
)
TOOLS = ("track_parcel", "find_orders", "read_policy", "update_address", "issue_refund", "search_documents")

Message = dict[str, Any]


def stream(conversation: int = 0) -> Iterator[Message]:
    """The endless conversation number `conversation`, in the flat shape."""
    chance = random.Random(f"conversation {conversation}")
    for turn in count(1):
        yield {"role": "user", "content": _text(chance, 120, 480)}
        for step in range(chance.randint(1, 2)):
            calls = [_call(chance, f"call_{turn}_{step}_{n}") for n in range(chance.choice((1, 1, 2)))]
            yield {"role": "assistant", "content": _text(chance, 0, 160), "tool_calls": calls}
            for call in calls:
                yield {
                    "role": "tool",
                    "content": _text(chance, 900, 1900),
                    "tool_call_id": call["tool_call_id"],
                }
        yield {"role": "assistant", "content": _text(chance, 200, 900)}


_told: dict[int, tuple[list[Message], Iterator[Message]]] = {}


def messages(number: int, conversation: int = 0) -> list[Message]:
    """The first so many, made once; they are to be left as they are."""
    known, coming = _told.setdefault(conversation, ([], stream(conversation)))
    known.extend(islice(coming, max(number - len(known), 0)))
    return known[:number]


def _call(chance: random.Random, call_id: str) -> dict[str, Any]:
    arguments = {
        "query": _text(chance, 20, 120),
        "limit": chance.randint(1, 50),
        "filters": {
            "city": chance.choice(WORDS),
            "open": chance.random() < 0.5,
            "weight": chance.uniform(0, 9),
        },
    }
    return {"tool_call_id": call_id, "name": chance.choice(TOOLS), "arguments": arguments}


def _text(chance: random.Random, shortest: int, longest: int) -> str:
    length = chance.randint(shortest, longest)
    words: list[str] = []
    size = 0
    while size < length:
        words.append(chance.choice(WORDS))
        size += len(words[-1]) + 1
    return " ".join(words)[:length]
