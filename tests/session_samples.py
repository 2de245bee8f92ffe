"""A session of Claude Code, built line by line."""

from typing import Any

SESSION = "0205f437"
Event = dict[str, Any]


def line(uuid: str, before: str | None, kind: str, content: Any, **more: Any) -> Event:
    """One line of a session; `answer` is the id of the message that the line is a part of."""
    answer = {"id": more.pop("answer", f"msg_{uuid}"), "model": "m"} if kind == "assistant" else {}
    message = {"role": kind, "content": content, **answer}
    head = {"parentUuid": before, "isSidechain": False, "sessionId": SESSION, "uuid": uuid}
    return {**head, "type": kind, "message": message, **more}


def text(words: str) -> list[Any]:
    return [{"type": "text", "text": words}]


def use(call_id: str) -> list[Any]:
    return [{"type": "tool_use", "id": call_id, "name": "Bash", "input": {"command": "ls"}}]


def result(call_id: str, words: str = "ok") -> list[Any]:
    return [{"type": "tool_result", "tool_use_id": call_id, "content": words}]


PARALLEL = [
    line("u1", None, "user", "fix it"),
    line("a1", "u1", "assistant", [{"type": "thinking", "thinking": "hm", "signature": "c2ln"}], answer="m1"),
    line("a2", "a1", "assistant", text("I look."), answer="m1"),
    line("a3", "a2", "assistant", use("c1"), answer="m1"),
    line("a4", "a3", "assistant", use("c2"), answer="m1"),
    line("r1", "a3", "user", result("c1", "one"), toolUseResult={"stdout": "one"}),
    line("r2", "a4", "user", result("c2", "two")),
    line("a5", "r2", "assistant", text("Done.")),
]
