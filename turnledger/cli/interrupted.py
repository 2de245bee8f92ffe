"""The run that the demo kills: a process of its own, which appends a call turn and then waits for its tool.

It says on standard output which version was acknowledged.
"""

import time

import click

from turnledger.store import ConversationStore

TOOL_TAKES_S = 60
MESSAGES = (
    {"role": "user", "content": "Which trains go to Lisbon on Friday?"},
    {
        "role": "assistant",
        "content": "Let me look.",
        "tool_calls": [{"id": "c1", "name": "search_trains", "arguments": {"to": "Lisbon", "day": "Friday"}}],
    },
)


def main(path: str, conversation_id: str) -> None:
    """Appends, acknowledges, and waits for a result that never comes."""
    with ConversationStore(path) as store:
        for message in MESSAGES:
            result = store.append(conversation_id, message, execution_id="run-1", turn_id="t1")
            click.echo(result.version)
        time.sleep(TOOL_TAKES_S)
