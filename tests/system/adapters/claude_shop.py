"""A shop run by the Claude Agent SDK's own loop, on a runtime that stands in for the `claude` program.

What stands in speaks the SDK's protocol as the program does: it mirrors its transcript line by line, has
hooks and tools of the SDK's servers called over the control channel, resumes from the file that the SDK made
of the store, and, as the program does, gives a call that lost its result one when it asks the model.

    python -m tests.system.adapters.claude_shop SCENE DATABASE
"""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar
from unittest.mock import patch
from uuid import uuid4

from claude_agent_sdk import (
    ClaudeAgentOptions,
    HookMatcher,
    create_sdk_mcp_server,
    project_key_for_directory,
    query,
    tool,
)
from claude_agent_sdk._internal import session_resume

from turnledger import ConversationStore
from turnledger.adapters.claude_agent_sdk import TurnledgerSessionStore, conversation_of

SESSION = "0b9a1f3e-5a65-4b8e-9d1c-2f6c1f0f7a11"
MISSING = "[Tool result missing due to internal error]"
LINK = {"type": "link", "payload": {"url": "https://example.com/label"}, "tool_call_id": "call-1"}

Block = dict[str, Any]
Line = dict[str, Any]


def says(text: str) -> list[Block]:
    return [{"type": "text", "text": text}]


def calls(*names: str, first: int = 1) -> list[Block]:
    """Calls of the shop's tools, with ids that count on."""
    return [
        {"type": "tool_use", "id": f"call-{number}", "name": f"mcp__shop__{name}", "input": {}}
        for number, name in enumerate(names, first)
    ]


class Program:
    """The SDK's transport, with a program behind it that says what it was told to say."""

    turns: ClassVar[list[list[Block]]] = []
    sent: ClassVar[list[list[Line]]] = []

    def __init__(self, prompt: Any, options: ClaudeAgentOptions) -> None:
        self.options = options
        self.session = options.resume or options.session_id or str(uuid4())
        config = options.env.get("CLAUDE_CONFIG_DIR") or os.environ["CLAUDE_CONFIG_DIR"]
        folder = Path(config) / "projects" / project_key_for_directory(options.cwd)
        self.file = folder / f"{self.session}.jsonl"
        self.lines: list[Line] = []
        self.frames: asyncio.Queue[Line | None] = asyncio.Queue()
        self.answers: dict[str, asyncio.Future[Any]] = {}
        self.tasks: set[asyncio.Task[None]] = set()
        self.hooks: Any = None

    async def connect(self) -> None:
        if self.options.resume and self.file.exists():
            read = [json.loads(line) for line in self.file.read_text().splitlines()]
            self.lines = list({line.get("uuid", place): line for place, line in enumerate(read)}.values())

    def is_ready(self) -> bool:
        return True

    async def end_input(self) -> None:
        """A turn that has begun goes on without input."""

    async def close(self) -> None:
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        self.frames.put_nowait(None)

    async def read_messages(self) -> AsyncIterator[Line]:
        while (frame := await self.frames.get()) is not None:
            yield frame

    async def write(self, data: str) -> None:
        for line in data.splitlines():
            message = json.loads(line)
            if message["type"] == "control_request":
                self.hooks = message["request"].get("hooks")
                done = {"subtype": "success", "request_id": message["request_id"], "response": {}}
                self.frames.put_nowait({"type": "control_response", "response": done})
            elif message["type"] == "control_response":
                response = message["response"]
                self.answers[response["request_id"]].set_result(response.get("response"))
            elif message["type"] == "user":
                task = asyncio.create_task(self.turn(message["message"]))
                self.tasks.add(task)

    async def ask(self, **request: Any) -> Any:
        """Has the SDK do something, over the control channel."""
        request_id = uuid4().hex
        answer = self.answers[request_id] = asyncio.get_running_loop().create_future()
        self.frames.put_nowait({"type": "control_request", "request_id": request_id, "request": request})
        return await answer

    async def turn(self, prompt: Line) -> None:
        if any(line["type"] == "deferred" for line in self.lines[-1:]):
            for call in self.open_calls():
                await self.answer(call)
        self.write_line("user", prompt)
        deferred = await self.to_its_end()
        result = {"subtype": "success", "duration_ms": 1, "duration_api_ms": 1, "num_turns": 1}
        told = {"session_id": self.session, "is_error": False, "deferred_tool_use": deferred}
        self.frames.put_nowait({"type": "result", **result, **told})
        self.frames.put_nowait(None)

    async def to_its_end(self) -> Line | None:
        while True:
            self.sent.append(self.request())
            blocks, answer = self.turns.pop(0), f"msg_{uuid4().hex}"
            for block in blocks:
                message = {"id": answer, "role": "assistant", "model": "told", "content": [block]}
                self.write_line("assistant", message)
            message = {"role": "assistant", "model": "told", "content": blocks}
            told = {"session_id": self.session, "parent_tool_use_id": None}
            self.frames.put_nowait({"type": "assistant", "message": message, **told})
            pending = [block for block in blocks if block["type"] == "tool_use"]
            if not pending:
                return None
            for call in pending:
                if not await self.answer(call):
                    return {key: call[key] for key in ("id", "name", "input")}

    async def answer(self, call: Block) -> bool:
        """Has a tool called, if the hook lets it; its result is the next line. False where deferred."""
        for matcher in (self.hooks or {}).get("PreToolUse", ()):
            given = {"hook_event_name": "PreToolUse", "tool_name": call["name"], "tool_input": call["input"]}
            [hook] = matcher["hookCallbackIds"]
            said = await self.ask(
                subtype="hook_callback", callback_id=hook, input=given, tool_use_id=call["id"]
            )
            if said.get("hookSpecificOutput", {}).get("permissionDecision") == "defer":
                self.write_line("deferred", None)
                return False
        await self.rpc("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=CLIENT)
        name = call["name"].removeprefix("mcp__shop__")
        done = await self.rpc("tools/call", name=name, arguments=call["input"])
        self.write_line("user", {"role": "user", "content": [result(call, done["content"])]})
        return True

    async def rpc(self, method: str, **params: Any) -> Any:
        message = {"jsonrpc": "2.0", "id": len(self.answers), "method": method, "params": params}
        answer = await self.ask(subtype="mcp_message", server_name="shop", message=message)
        return answer["mcp_response"]["result"]

    def write_line(self, kind: str, message: Any) -> None:
        """One more line of the transcript, mirrored."""
        line = line_of(self.session, kind, message, self.lines[-1]["uuid"] if self.lines else None)
        self.lines.append(line)
        self.frames.put_nowait({"type": "transcript_mirror", "filePath": str(self.file), "entries": [line]})

    def open_calls(self) -> list[Block]:
        messages = [line["message"] for line in self.chain()]
        answered = {block["tool_use_id"] for block in blocks_of(messages, "tool_result")}
        return [block for block in blocks_of(messages, "tool_use") if block["id"] not in answered]

    def chain(self) -> list[Line]:
        """The lines that the newest one follows, and the results of the calls in them."""
        by_uuid = {line["uuid"]: line for line in self.lines}
        said = [line for line in self.lines if line["message"]]
        chain, here = [], said[-1] if said else None
        while here is not None:
            chain.append(here["uuid"])
            here = by_uuid.get(here["parentUuid"])
        told = [line["message"] for line in said if line["uuid"] in chain]
        declared = {block["id"] for block in blocks_of(told, "tool_use")}
        return [
            line
            for line in said
            if line["uuid"] in chain
            or any(b["tool_use_id"] in declared for b in blocks_of([line["message"]], "tool_result"))
        ]

    def request(self) -> list[Line]:
        """What the model is asked with: turns joined, each call with a result right behind it."""
        lines = self.chain()
        results = {b["tool_use_id"]: b for b in blocks_of([line["message"] for line in lines], "tool_result")}
        messages: list[Line] = []
        waiting: list[Block] = []
        for line in lines:
            message = line["message"]
            content = message["content"]
            blocks = says(content) if isinstance(content, str) else content
            blocks = [block for block in blocks if block["type"] != "tool_result"]
            if message["role"] == "user" and waiting:
                answered = [results.get(call["id"], result(call, MISSING)) for call in waiting]
                messages.append({"role": "user", "content": answered})
                waiting = []
            if blocks and messages and messages[-1]["role"] == message["role"]:
                messages[-1]["content"] += blocks
            elif blocks:
                messages.append({"role": message["role"], "content": list(blocks)})
            waiting += [block for block in blocks if block["type"] == "tool_use"]
        return messages


CLIENT = {"name": "program", "version": "1"}


def line_of(session: str, kind: str, message: Any, parent: str | None) -> Line:
    """A line of a transcript; one without a message is opaque to everybody."""
    return {
        "type": kind,
        "uuid": str(uuid4()),
        "parentUuid": parent,
        "sessionId": session,
        "timestamp": "2026-11-30T10:00:00.000Z",
        "isSidechain": False,
        "message": message,
    }


def result(call: Block, content: Any) -> Block:
    return {"type": "tool_result", "tool_use_id": call["id"], "content": content}


def blocks_of(messages: Sequence[Line], kind: str) -> list[Block]:
    return [
        block
        for message in messages
        if isinstance(message["content"], list)
        for block in message["content"]
        if block["type"] == kind
    ]


@tool("track", "Where a parcel is", {})  # type: ignore[untyped-decorator]
async def track(arguments: Any) -> Any:
    return {"content": [{"type": "text", "text": "depot"}]}


@tool("label", "A label", {})  # type: ignore[untyped-decorator]
async def label(arguments: Any) -> Any:
    return {"content": [{"type": "text", "text": "label.txt"}]}


class Shop:
    """The SDK on a store, as one process has it; `folder` is for its files."""

    def __init__(self, store: Any, folder: Path, *tools: Any, eager: bool = True) -> None:
        self.store = store
        self.folder = folder
        self.tools = [track, label, *tools]
        self.flush = "eager" if eager else "batched"
        self.key = {"project_key": project_key_for_directory(folder), "session_id": SESSION}

    async def ask(
        self, prompt: str, *turns: list[Block], hook: Callable[..., Any] | None = None
    ) -> list[Any]:
        """One run; the session is resumed where the store has it."""
        known = await self.store.load(self.key) is not None
        Program.turns, Program.sent = list(turns), []
        named: dict[str, Any] = {"resume" if known else "session_id": SESSION}
        options = ClaudeAgentOptions(
            cwd=self.folder,
            env={"CLAUDE_CONFIG_DIR": str(self.folder / "config")},
            session_store=self.store,
            session_store_flush=self.flush,
            mcp_servers={"shop": create_sdk_mcp_server("shop", tools=self.tools)},
            hooks={"PreToolUse": [HookMatcher(hooks=[hook])]} if hook else None,
            **named,
        )
        with (
            patch("claude_agent_sdk._internal.client.SubprocessCLITransport", Program),
            patch.object(session_resume, "_read_keychain_credentials", lambda: None),
        ):
            return [message async for message in query(prompt=prompt, options=options)]

    async def next_request(self) -> list[Line]:
        """What the model is asked with when the user goes on."""
        await self.ask("Hello?", says("Yes"))
        return Program.sent[-1]

    async def kept(self, said: str) -> None:
        """Waits until the store has an entry that holds a text."""
        while said not in json.dumps(await self.store.load(self.key)):
            await asyncio.sleep(0.01)


def shape(messages: Sequence[Line]) -> str:
    """A request in the words of the table: `u`, `a`, `c:` call, `r:` its result."""
    told = []
    for message in messages:
        for block in message["content"]:
            if block["type"] == "tool_use":
                told.append(f"c:{block['id']}")
            elif block["type"] == "tool_result":
                content = block.get("content")
                text = content if isinstance(content, str) else content[0]["text"]
                told.append(f"r:{block['tool_use_id']} {text}")
            else:
                told.append("u" if message["role"] == "user" else "a")
    return " ".join(told)


async def killed(store: Any, folder: Path) -> None:
    @tool("die", "Ends the process", {})  # type: ignore[untyped-decorator]
    async def die(arguments: Any) -> Any:
        await shop.kept("tool_use")
        os.kill(os.getpid(), signal.SIGKILL)

    shop = Shop(store, folder, die)
    await shop.ask("Where is my parcel?", calls("die"))


async def paused(store: Any, folder: Path) -> None:
    """A human must answer first: the call is deferred, and what was made until then is held."""

    async def ask_first(given: Any, tool_use_id: str | None, context: Any) -> Any:
        if isinstance(store, TurnledgerSessionStore):
            store.store.hold(conversation_of(shop.key), "run-1", [LINK])
        return {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "defer"}}

    shop = Shop(store, folder)
    messages = await shop.ask("A label, please", calls("label"), hook=ask_first)
    if messages[-1].deferred_tool_use is None:
        raise RuntimeError("the run did not pause")


SCENES = {"killed": killed, "paused": paused}

if __name__ == "__main__":
    database = Path(sys.argv[2])
    store = TurnledgerSessionStore(ConversationStore(database), execution_id="run-1")
    asyncio.run(SCENES[sys.argv[1]](store, database.parent))
