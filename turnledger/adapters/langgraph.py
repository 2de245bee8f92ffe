"""LangChain's agents and LangGraph on the log (extra `langgraph`).

`TurnledgerMiddleware` records what an agent made by `create_agent` says, each step before the next one is
taken, and hands the model a list that its provider accepts: a call that a crash or a cancel left open has its
result from the log, or a placeholder (MEM-3). A tool that has answered a call is not made again for it. With
a checkpointer the graph's state stays the agent's memory, and is mended where it needs it; without one the
log is the memory: give the same `thread_id`.

What a tool gives beside its content (`ToolMessage.artifact`) is held, and delivered with the run's answer.

`import_thread` takes a thread of any graph with `messages` into a store, from its `get_state_history`.

    agent = create_agent(model, tools, middleware=[TurnledgerMiddleware(ConversationStore("chats.db"))])
    agent.invoke({"messages": [("user", "Where is my parcel?")]}, {"configurable": {"thread_id": "t1"}})
"""

from asyncio import to_thread
from collections.abc import Iterable, Mapping, Sequence
from threading import Lock
from typing import Annotated, Any, NotRequired
from uuid import uuid4

from turnledger.adapters.extras import extra
from turnledger.domain.errors import ConversationNotFound, InvalidArgument
from turnledger.domain.records import Record
from turnledger.projections.buffer import Entry
from turnledger.store import ConversationStore

with extra("langgraph"):
    from langchain.agents.middleware import AgentMiddleware
    from langchain.agents.middleware.types import AgentState, ModelRequest, ModelResponse, PrivateStateAttr
    from langchain_core.messages import AIMessage, BaseMessage, RemoveMessage, ToolMessage
    from langgraph.config import get_config
    from langgraph.graph.message import REMOVE_ALL_MESSAGES

    from turnledger.adapters.langgraph_import import import_thread
    from turnledger.adapters.langgraph_messages import (
        HEALED,
        KEPT,
        MADE,
        as_message,
        as_messages,
        calls_of,
        entry_of,
        ids_of,
        is_sound,
        repaired,
        usable_id,
        with_ids,
    )

__all__ = ["TurnledgerMiddleware", "import_thread"]

EXECUTION, EXECUTION_KEY = "langgraph", "turnledger_execution"
SEEN = "langgraph.message"
NEAR = 16


class TurnledgerState(AgentState):  # type: ignore[misc]
    """The agent's state with the execution of its run: a checkpoint has it for who resumes the run."""

    turnledger_execution: NotRequired[Annotated[str, PrivateStateAttr]]  # type: ignore[valid-type]


class TurnledgerMiddleware(AgentMiddleware):  # type: ignore[misc]
    """Mirrors an agent's messages into conversation `conversation_id`, or that of its `thread_id`.

    Put it last among the middleware: then it records what the model is really sent and says.
    """

    state_schema = TurnledgerState

    def __init__(self, store: ConversationStore, conversation_id: str | None = None) -> None:
        super().__init__()
        self.store = store
        self._conversation_id = conversation_id
        self._seen: dict[str, tuple[int, set[str]]] = {}
        self._lock = Lock()

    def before_agent(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        """Records the input, and gives the run an execution of its own and its list.

        That is the state's, mended, or, where the state does not carry what was said, the log's.
        """
        begun = {EXECUTION_KEY: f"{EXECUTION}-{uuid4().hex}"}
        messages, conversation = list(state["messages"]), self._conversation()
        carries = self._is_known(conversation, messages)
        self._mirror(conversation, messages, begun)
        wanted = self._mended(conversation, messages if carries else self._said_before(conversation))
        if wanted == messages:
            return begun
        return {**begun, "messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), *wanted]}

    def wrap_model_call(self, request: ModelRequest, handler: Any) -> Any:
        """Records what is new, mends the list, and records the turn before anything acts on it."""
        response = handler(self._asked(request))
        return self._said(request, response)

    def wrap_tool_call(self, request: Any, handler: Any) -> Any:
        """Records the result as soon as there is one; a call that the log has the result of is not made."""
        known = self._known_result(request.tool_call["id"])
        return known or self._done(request, handler(request))

    def after_agent(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        self._mirror(self._conversation(), state["messages"], state)
        return None

    async def abefore_agent(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        return await to_thread(self.before_agent, state, runtime)

    async def awrap_model_call(self, request: ModelRequest, handler: Any) -> Any:
        response = await handler(await to_thread(self._asked, request))
        return await to_thread(self._said, request, response)

    async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
        known = await to_thread(self._known_result, request.tool_call["id"])
        return known or await to_thread(self._done, request, await handler(request))

    async def aafter_agent(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        return await to_thread(self.after_agent, state, runtime)

    def _asked(self, request: ModelRequest) -> ModelRequest:
        conversation = self._conversation()
        self._mirror(conversation, request.messages, request.state)
        return request.override(messages=self._mended(conversation, request.messages))

    def _mended(self, conversation: str, messages: Sequence[BaseMessage]) -> list[BaseMessage]:
        """The list as a provider accepts it, with what the log has for its open calls."""
        if is_sound(messages):
            return list(messages)
        return repaired(messages, _results(self._entries(conversation)))

    def _said(self, request: ModelRequest, response: Any) -> Any:
        if isinstance(response, AIMessage):
            response = ModelResponse(result=[response])
        result = getattr(response, "model_response", response).result
        result[:] = [_with_own_ids(message, request.messages) for message in result]
        self._mirror(self._conversation(), result, request.state)
        return response

    def _done(self, request: Any, result: Any) -> Any:
        if isinstance(result, ToolMessage):
            self._mirror(self._conversation(), [result], request.state)
        return result

    def _known_result(self, call_id: str) -> BaseMessage | None:
        """The result that the log has of a call: behind its turn, which mostly is the last."""
        conversation, count = self._conversation(), NEAR
        while True:
            entries = self._entries(conversation, count)
            if len(entries) < count or any(call_id in _declared(entry) for entry in entries):
                found = _results(entries).get(call_id)
                kept = self.store.records(conversation, SEEN, key=found.id) if found and found.id else []
                return found and _with_artifact(found, {one.key: one.value for one in kept})
            count *= 8

    def _said_before(self, conversation: str) -> list[BaseMessage]:
        """What the log has of a conversation, with what its tools gave beside their contents."""
        messages = as_messages(self._entries(conversation))
        kept = {one.key: one.value for one in self.store.records(conversation, SEEN)} if messages else {}
        return [_with_artifact(message, kept) for message in messages]

    def _conversation(self) -> str:
        if self._conversation_id is not None:
            return self._conversation_id
        thread = get_config().get("configurable", {}).get("thread_id")
        if thread is None:
            raise InvalidArgument(
                "which conversation is it? Give the run a config {'configurable': {'thread_id': ...}}, "
                "or the middleware a conversation_id"
            )
        return str(thread)

    def _entries(self, conversation: str, last: int | None = None) -> list[Entry]:
        try:
            return self.store.entries(conversation, last=last)
        except ConversationNotFound:
            return []

    def _is_known(self, conversation: str, messages: Sequence[BaseMessage]) -> bool:
        """Whether the state carries what was said before: a message of it is known, or nothing was said.

        A conversation that was forked, imported or written by another client was never mirrored from here.
        """
        known = self._ids(conversation)
        return any(message.id in known for message in messages) or not self._entries(conversation, 1)

    def _ids(self, conversation: str) -> set[str]:
        """The ids of all messages that were mirrored, read on from where the last reading ended.

        At first those of the entries too, which came from a fork, an import or a history.
        """
        version, ids = self._seen.get(conversation, (0, set()))
        try:
            found = self.store.records(conversation, SEEN, after=version)
        except ConversationNotFound:
            return set()
        if not version:
            ids |= ids_of(self._entries(conversation))
        ids |= {str(record.key) for record in found}
        self._seen[conversation] = (found[-1].version if found else version), ids
        return ids

    def _mirror(self, conversation: str, messages: Sequence[BaseMessage], state: Mapping[str, Any]) -> None:
        """Appends what was not seen yet, in order, each once; an answer takes what its run held along."""
        execution = state.get(EXECUTION_KEY, EXECUTION)
        with self._lock:
            seen = self._ids(conversation)
            for message in messages:
                message.id = message.id or uuid4().hex
                if message.id not in seen and not message.id.startswith((HEALED, MADE)):
                    self._append(conversation, execution, message)
                    seen.add(message.id)

    def _append(self, conversation: str, execution: str, message: BaseMessage) -> None:
        entry = entry_of(message)
        # what is held shows in no view of the conversation, so not in its entries either
        artifact = entry["metadata"][KEPT]["data"].pop("artifact", None)
        record = Record(SEEN, message.id, artifact)
        keyed: Any = {"records": [record], "idempotency_key": f"{SEEN}/{message.id}"}
        if isinstance(message, AIMessage) and not calls_of(message):
            self.store.write_back(conversation, execution, entry, **keyed)
            return
        if isinstance(message, ToolMessage) and artifact is not None:
            self._hold(conversation, execution, message, artifact)
        self.store.append(conversation, entry, execution_id=execution, **keyed)

    def _hold(self, conversation: str, execution: str, message: ToolMessage, artifact: Any) -> None:
        payload = artifact if isinstance(artifact, dict) else {"artifact": artifact}
        held = {"type": message.name or "tool", "payload": payload, "tool_call_id": message.tool_call_id}
        self.store.hold(conversation, execution, [held], idempotency_key=f"{SEEN}/{message.id}/hold")


def _with_artifact(message: BaseMessage, kept: Mapping[str | None, Any]) -> BaseMessage:
    """The message, with the artifact that its record keeps."""
    if isinstance(message, ToolMessage) and message.artifact is None:
        message.artifact = kept.get(message.id)
    return message


def _results(entries: Iterable[Entry]) -> dict[str, BaseMessage]:
    """The real results of a buffer, by the ids of their calls."""
    return {
        entry.metadata["tool_call_id"]: as_message(entry)
        for entry in entries
        if entry.role == "tool" and entry.metadata.get("tool_call_id") and not entry.metadata.get("healed")
    }


def _declared(entry: Entry) -> list[Any]:
    return [call.get("tool_call_id") for call in entry.metadata.get("tool_calls") or ()]


def _with_own_ids(message: BaseMessage, before: Sequence[BaseMessage]) -> BaseMessage:
    """The turn, with an id of its own for each call that has none or one used before: models reuse ids."""
    declared = {call["id"] for earlier in before for call in calls_of(earlier)}
    own: list[str] = []
    for call in calls_of(message):
        given = name = usable_id(call)
        number = 1
        while name in declared:
            number += 1
            name = f"{given}-{number}"
        declared.add(name)
        own.append(name)
    found: BaseMessage = with_ids(message, own)
    return found
