"""MEM-5 from the text of SPEC section 3, step by step: slow, naive, and no code of the library."""

import json
import math
from typing import Any

FIVE = ("user", "assistant", "system", "developer", "tool")
INTERRUPTED = "Tool call was interrupted; no result."


def read_id(value: Any) -> str | None:
    """Section 1: the usable id in `value`, without white space around it; None where it is unusable."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return str(value) if value else None
    if isinstance(value, str):
        text = replaced(value).strip()
        return text if text not in ("", "0") else None
    return None


def replaced(text: str) -> str:
    """Lone surrogates become U+FFFD; the two halves of a pair become the character that they spell."""
    out, at = "", 0
    while at < len(text):
        high, low = text[at], text[at + 1 : at + 2]
        if "\ud800" <= high <= "\udbff" and low and "\udc00" <= low <= "\udfff":
            out += chr(0x10000 + (ord(high) - 0xD800) * 0x400 + ord(low) - 0xDC00)
            at += 2
        else:
            out += "\ufffd" if "\ud800" <= high <= "\udfff" else high
            at += 1
    return out


def read_arguments(value: Any) -> Any:
    """Arguments as given, as far as JSON can hold them (section 2); None where it cannot."""
    try:
        return _json_of(value)
    except (TypeError, ValueError):
        return None


def _json_of(value: Any) -> Any:
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, str):
        return replaced(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, list | tuple):
        return [_json_of(item) for item in value]
    if isinstance(value, dict):
        return {_key_of(key): _json_of(item) for key, item in value.items()}
    raise TypeError(type(value))


def _key_of(key: Any) -> str:
    return replaced(key) if isinstance(key, str) else json.dumps(key)


def read_text(content: Any) -> str:
    if isinstance(content, str):
        return replaced(content)
    if content is None:
        return ""
    if isinstance(content, float) and not math.isfinite(content):
        return ""
    try:
        text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return ""
    return replaced(text)


def reference(messages: list[Any]) -> tuple[list[dict[str, Any]], list[tuple[int, str | None]]]:
    """The normalized list, and the (index, call id) of each drop, in no particular order."""
    drops: list[tuple[int, str | None]] = []
    items = [item for index, given in enumerate(messages) if (item := coerce(index, given, drops))]
    system = [item for item in items if item["role"] in ("system", "developer")]
    rest = [item for item in items if item["role"] not in ("system", "developer")]
    rest = pair(rest, drops)
    while rest and rest[0]["role"] == "tool":
        lost = rest.pop(0)
        drops.append((lost["index"], lost["id"]))
    rest = adjoin(pair(rest, drops))
    return [flat(item) for item in system + rest], drops


def coerce(index: int, given: Any, drops: list[tuple[int, str | None]]) -> dict[str, Any] | None:
    if not isinstance(given, dict):
        drops.append((index, None))
        return None
    role = given.get("role")
    if not isinstance(role, str) or not role.strip():
        drops.append((index, None))
        return None
    metadata = given.get("metadata") if isinstance(given.get("metadata"), dict) else {}
    assert isinstance(metadata, dict)
    item: dict[str, Any] = {"index": index, "role": role if role in FIVE else "user"}
    item["content"] = read_text(given.get("content"))
    names = [name for name in (metadata.get("name"), given.get("name")) if isinstance(name, str)]
    item["name"] = next((replaced(name) for name in names if name.strip()), None)
    item["id"] = item["calls"] = None
    if role == "tool":
        item["id"] = read_id(metadata.get("tool_call_id")) or read_id(given.get("tool_call_id"))
        mark = metadata.get("healed")
        item["healed"] = (given.get("healed") if mark is None else mark) is True
    if role == "assistant":
        calls = metadata.get("tool_calls")
        if not (isinstance(calls, list) and calls):
            calls = given.get("tool_calls")
        item["calls"] = [read_call(call) for call in calls] if isinstance(calls, list) else []
    return item


def read_call(call: Any) -> dict[str, Any]:
    if not isinstance(call, dict):
        return {"id": None}
    function = call.get("function") if isinstance(call.get("function"), dict) else {}
    assert isinstance(function, dict)
    names = [name for name in (call.get("name"), function.get("name")) if isinstance(name, str)]
    name = next((replaced(name) for name in names if name.strip()), "unknown")
    given = call.get("arguments")
    if given is None or given == "":
        given = function.get("arguments")
    return {
        "id": read_id(call.get("tool_call_id")) or read_id(call.get("id")),
        "name": name,
        "arguments": read_arguments(given),
    }


def pair(items: list[dict[str, Any]], drops: list[tuple[int, str | None]]) -> list[dict[str, Any]]:
    """Step 3."""
    kept: list[dict[str, Any]] = []
    declared: list[str] = []
    for item in items:
        if not item["calls"]:
            kept.append(item)
            continue
        calls = []
        for call in item["calls"]:
            if call["id"] is None or call["id"] in declared:
                drops.append((item["index"], call["id"]))
            else:
                declared.append(call["id"])
                calls.append(call)
        if not calls and not item["content"]:
            drops.append((item["index"], None))
        else:
            kept.append({**item, "calls": calls})
    answers = [item for item in kept if item["role"] == "tool"]
    stays = {call_id: answer_of(call_id, kept) for call_id in declared}
    for answer in answers:
        if answer["id"] is None or stays.get(answer["id"]) is not answer:
            drops.append((answer["index"], answer["id"]))
    out = []
    for item in kept:
        if item["role"] == "tool" and (item["id"] is None or stays.get(item["id"]) is not item):
            continue
        out.append(item)
        for call in item["calls"] or ():
            if stays[call["id"]] is None:
                out.append(
                    {
                        "role": "tool",
                        "content": INTERRUPTED,
                        "id": call["id"],
                        "name": None,
                        "calls": None,
                        "healed": True,
                        "index": item["index"],
                    }
                )
    return out


def answer_of(call_id: str, items: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The first real result behind its call, else the first real one, else the first."""
    behind: list[dict[str, Any]] = []
    everywhere: list[dict[str, Any]] = []
    seen = False
    for item in items:
        if any(call["id"] == call_id for call in item["calls"] or ()):
            seen = True
        if item["role"] == "tool" and item["id"] == call_id:
            everywhere.append(item)
            if seen:
                behind.append(item)
    for candidates in (behind, everywhere):
        for item in candidates:
            if not item["healed"]:
                return item
    return everywhere[0] if everywhere else None


def adjoin(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Step 5: results that do not stand in the run right behind their turn go there, behind those in it."""
    out = []
    for place, item in enumerate(items):
        if item["role"] == "tool":
            continue
        out.append(item)
        ids = [call["id"] for call in item["calls"] or ()]
        end = place + 1
        while end < len(items) and items[end]["role"] == "tool":
            end += 1
        run = range(place + 1, end)
        mine = [at for at, other in enumerate(items) if other["role"] == "tool" and other["id"] in ids]
        out += [items[at] for at in mine if at in run] + [items[at] for at in mine if at not in run]
    return out


def flat(item: dict[str, Any]) -> dict[str, Any]:
    message = {"role": item["role"], "content": item["content"]}
    if item["calls"]:
        message["tool_calls"] = []
        for call in item["calls"]:
            plain = {"tool_call_id": call["id"], "name": call["name"]}
            if call["arguments"] is not None and call["arguments"] != "":
                plain["arguments"] = call["arguments"]
            message["tool_calls"].append(plain)
    if item["role"] == "tool":
        message["tool_call_id"] = item["id"]
    if item["name"]:
        message["name"] = item["name"]
    return message
