"""What an import kept of a message for the provider that spelled it: blocks that go back as they were.

The importing of a format and the rendering of the provider of the same name share these keys in metadata:
under the provider's name what only it knows, at the top what others can say too.
"""

from collections.abc import Callable, Mapping
from typing import Any

from turnledger.domain.messages import id_of_call
from turnledger.domain.pairing import Call, Item

BLOCKS_KEY, ERROR_KEY = "blocks", "is_error"

Block = dict[str, Any]


def known_to(provider: str, metadata: Mapping[Any, Any]) -> Mapping[str, Any]:
    """What only this provider knows of a message."""
    known = metadata.get(provider)
    return known if isinstance(known, Mapping) else {}


def kept_blocks(provider: str, metadata: Mapping[Any, Any]) -> list[Block] | None:
    """The blocks that an import kept with a message, or None."""
    blocks = known_to(provider, metadata).get(BLOCKS_KEY)
    if not isinstance(blocks, list) or not blocks or not all(isinstance(block, dict) for block in blocks):
        return None
    return blocks


def has_failed(item: Item) -> bool:
    """Whether a result says that its call failed."""
    return item.metadata.get(ERROR_KEY) is True


def declared_ids(item: Item) -> list[str | None]:
    """The ids of a turn's calls as declared, those dropped too; None for what is no id."""
    given = item.metadata.get("tool_calls")
    calls = given if isinstance(given, list | tuple) else ()
    return [id_of_call(call) for call in calls if isinstance(call, Mapping)]


def with_calls_left(
    blocks: list[Block], item: Item, is_call: Callable[[Block], bool], sent: Callable[[Call, Block], Block]
) -> list[Block]:
    """A turn's kept blocks with those of its calls that are left, each as `sent(call, block)` has it.

    A call that no block stands for comes last, with no block to start from.
    """
    declared = declared_ids(item)
    left = {call.call_id: call for call in item.calls}
    found: list[Block] = []
    for block in blocks:
        if not is_call(block):
            found.append(block)
        elif declared and (call := left.pop(declared.pop(0) or "", None)):
            found.append(sent(call, block))
    return found + [sent(call, {}) for call in left.values()]
