"""A thread of any graph with `messages`, as a conversation: all that was said up to its newest checkpoint."""

from typing import Any

from turnledger.adapters.langgraph_messages import plain
from turnledger.importing import Imported, import_transcript
from turnledger.store import ConversationStore


def import_thread(
    store: ConversationStore, graph: Any, config: Any, conversation_id: str | None = None
) -> Imported:
    """Takes a thread into a store from its checkpoints, as conversation `conversation_id` or its `thread_id`.

    Everything that was said on the way to the newest checkpoint is taken, also what was removed from the
    state since, and of a message that was changed its newest form. Again it adds only what is new. Raises
    what `import_transcript` raises.
    """
    snapshots = {_checkpoint(snapshot.config): snapshot for snapshot in graph.get_state_history(config)}
    said: dict[str, dict[str, Any]] = {}
    for snapshot in reversed(_line(list(snapshots.values()), snapshots)):
        for place, message in enumerate(snapshot.values.get("messages", ())):
            said[message.id or str(place)] = plain(message)
    name = conversation_id or str(config["configurable"]["thread_id"])
    return import_transcript(store, name, list(said.values()), "langchain")


def _line(newest_first: list[Any], by_id: dict[Any, Any]) -> list[Any]:
    """The snapshots from the newest back to the first, without those of branches that were left."""
    found, here = [], newest_first[0] if newest_first else None
    while here is not None:
        found.append(here)
        here = by_id.get(_checkpoint(here.parent_config)) if here.parent_config else None
    return found


def _checkpoint(config: Any) -> Any:
    return config["configurable"].get("checkpoint_id")
