"""Records and entries of Pydantic AI as JSON and back, by the library's own adapters where it has them."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from pydantic_core import from_json, to_json

from turnledger.adapters.extras import extra

with extra("pydantic-ai"):
    from pydantic_ai import Conversation, ConversationTypeAdapter
    from pydantic_ai.conversation_store import ConversationEntry, ConversationRecord
    from pydantic_ai.messages import ModelMessagesTypeAdapter

_BESIDE = ("head_id", "scope", "forked_from", "forked_at", "branches", "format_version")

Dumped = dict[str, Any]
Line = list[tuple[str, Dumped]]  # entries in order: each id, with parent_id, kind and message


def dumped_record(record: ConversationRecord) -> Dumped:
    carried = Conversation(
        conversation_id=record.conversation_id,
        usage=record.usage,
        deferred_tool_requests=record.deferred_tool_requests,
        revision=record.revision,
    )
    excluded = {"messages", "new_message_index"}
    dumped: Dumped = ConversationTypeAdapter.dump_python(carried, mode="json", exclude=excluded)
    beside = {key: getattr(record, key) for key in _BESIDE}
    return {**dumped, **beside, "updated_at": record.updated_at.isoformat()}


def read_record(dumped: Dumped) -> ConversationRecord:
    carried = ConversationTypeAdapter.validate_json(
        to_json({key: value for key, value in dumped.items() if key not in (*_BESIDE, "updated_at")})
    )
    return ConversationRecord(
        conversation_id=carried.conversation_id,
        usage=carried.usage,
        deferred_tool_requests=carried.deferred_tool_requests,
        revision=carried.revision,
        updated_at=datetime.fromisoformat(dumped["updated_at"]),
        **{key: dumped[key] for key in _BESIDE},
    )


def dumped_entries(entries: Sequence[ConversationEntry]) -> Line:
    messages = from_json(ModelMessagesTypeAdapter.dump_json([entry.message for entry in entries]))
    return [
        (entry.id, {"parent_id": entry.parent_id, "kind": entry.kind, "message": message})
        for entry, message in zip(entries, messages, strict=True)
    ]


def read_entries(line: Line) -> list[ConversationEntry]:
    messages = ModelMessagesTypeAdapter.validate_json(to_json([value["message"] for _, value in line]))
    return [
        ConversationEntry(id=entry_id, parent_id=value["parent_id"], message=message, kind=value["kind"])
        for (entry_id, value), message in zip(line, messages, strict=True)
    ]
