"""Generated messages of every shape, with ids that clash, and whole histories of calls on a store."""

from typing import Any

from hypothesis import strategies as st

from turnledger import Record

ODD_CHARACTERS = [
    "\ud800",
    "\udc8d",
    "\0",
    "\u2028",
    "\ufffd",
    "\u0301",
    "\U0001f468",
    "\u200d",
    "\u05e9",
    "\x85",
]

odd_texts = st.text(
    st.one_of(st.sampled_from(ODD_CHARACTERS), st.characters(exclude_categories=())), max_size=6
)
short_texts = st.one_of(st.sampled_from(["", "a", "b", " ", "0", "[]"]), odd_texts)
numbers = st.one_of(st.integers(-3, 3), st.sampled_from([1.0, 0.5, -0.0, 1e300, 2**63, 10**25]))
json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), numbers, short_texts),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(["a", "b", "\ud800", "é"]), inner, max_size=3),
    ),
    max_leaves=6,
)
"""What JSON can hold, lone surrogates besides."""

unkeepable = st.sampled_from([float("nan"), float("inf"), b"ok \xff", object(), {1, 2}, 1j, {"x": object()}])
garbage = st.one_of(
    json_values,
    unkeepable,
    st.lists(st.one_of(json_values, unkeepable), max_size=2),
    st.dictionaries(
        st.one_of(st.integers(-1, 1), st.sampled_from(["role", "x"]), st.none()),
        st.one_of(json_values, unkeepable),
        max_size=2,
    ),
)

usable_ids: st.SearchStrategy[Any] = st.sampled_from(
    ["c1", "c2", "c3", "c1-2", " c1", "c2\n", 7, "7", -1, 10**30, "é"]
)
unusable_ids: st.SearchStrategy[Any] = st.sampled_from(
    ["", "  ", "0", " 0 ", 0, None, True, False, 1.5, ["c1"], {}]
)
call_ids = st.one_of(usable_ids, usable_ids, usable_ids, unusable_ids)

call_names = st.sampled_from(["search", "book"])
arguments = st.one_of(
    st.sampled_from(
        [None, "", "{}", {}, '{"a": 1}', {"a": 1}, {"a": 1.0}, {"a": True}, '{"a": ', "NaN", "[1]", 3]
    ),
    json_values,
)


@st.composite
def calls(draw: st.DrawFn, ids: st.SearchStrategy[Any] = call_ids) -> dict[str, Any]:
    """A call in one of its spellings."""
    call_id, name, given = draw(ids), draw(call_names), draw(arguments)
    spelling = draw(st.integers(0, 3))
    if spelling == 0:
        function = {"name": name, "arguments": given}
        return {"id": call_id, "type": "function", "function": function}
    call = {"tool_call_id": call_id, "name": name}
    if spelling == 1:
        call = {"id": call_id, "name": name}
    if spelling == 2:
        call["id"] = draw(ids)
    if draw(st.booleans()):
        call["arguments"] = given
    return call


ROLES = st.sampled_from(["user", "assistant", "assistant", "tool", "tool", "tool", "system", "developer"])


@st.composite
def messages(
    draw: st.DrawFn,
    ids: st.SearchStrategy[Any] = call_ids,
    contents: st.SearchStrategy[Any] = short_texts,
    roles: st.SearchStrategy[Any] = ROLES,
) -> dict[str, Any]:
    """A message in the stored, the flat or the OpenAI shape."""
    role = draw(roles)
    message: dict[str, Any] = {"role": role, "content": draw(contents)}
    pairing: dict[str, Any] = {}
    if role == "assistant" and draw(st.integers(0, 3)):
        pairing["tool_calls"] = draw(st.lists(calls(ids), min_size=1, max_size=3))
    if role == "tool":
        pairing["tool_call_id"] = draw(ids)
        if draw(st.integers(0, 4)) == 0:
            pairing["healed"] = draw(st.sampled_from([True, True, 1, "true", False]))
    if draw(st.integers(0, 5)) == 0:
        pairing["name"] = draw(short_texts)
    if draw(st.booleans()):
        return {**message, **pairing}
    message["metadata"] = pairing
    return message


@st.composite
def odd_messages(draw: st.DrawFn) -> Any:
    """What is nearly a message: odd roles, wrong types in known places."""
    message = draw(messages(contents=st.one_of(json_values, garbage)))
    for key, odd in (
        ("role", st.sampled_from(["function", "", " ", None, 3, " user", "User"])),
        ("tool_calls", st.one_of(garbage, st.lists(garbage, max_size=2), st.just("[]"))),
        ("tool_call_id", garbage),
        (
            "metadata",
            st.one_of(garbage, st.fixed_dictionaries({"tool_calls": garbage, "tool_call_id": garbage})),
        ),
        ("name", garbage),
    ):
        if draw(st.integers(0, 5)) == 0:
            message[key] = draw(odd)
    return message


any_lists = st.lists(
    st.one_of(messages(contents=json_values), messages(), odd_messages(), garbage), max_size=9
)
"""Lists from anywhere."""

clashing_lists = st.lists(messages(ids=st.one_of(st.sampled_from(["c1", "c2"]), call_ids)), max_size=10)
"""Lists in which few ids stand often."""

storable_contents = st.one_of(
    st.sampled_from(["", "a", "b", "c"]),
    odd_texts,
    st.lists(st.fixed_dictionaries({"type": st.just("text"), "text": odd_texts}), max_size=2),
    numbers,
    st.booleans(),
    st.none(),
)
storable_messages = messages(ids=call_ids, contents=storable_contents)
"""What an append accepts."""

FEW_IDS = st.sampled_from(["a", "a", "a", "b", "b", " a", "a-2", 7, "0", ""])


@st.composite
def few_calls(draw: st.DrawFn) -> dict[str, Any]:
    call: dict[str, Any] = {"tool_call_id": draw(FEW_IDS), "name": "f"}
    given = draw(st.sampled_from([None, None, {"x": 1}, '{"x": 1.0}', {"x": 2}]))
    if given is not None:
        call["arguments"] = given
    if draw(st.integers(0, 7)) == 0:
        call["original_id"] = draw(st.sampled_from(["a", "b", "c", ""]))
    return call


@st.composite
def clashing_messages(draw: st.DrawFn) -> dict[str, Any]:
    """A message whose calls and results clash with those of others as often as may be."""
    kind = draw(
        st.sampled_from(
            ["user", "assistant", "turn", "turn", "turn", "tool", "tool", "tool", "healed", "system"]
        )
    )
    content = draw(st.sampled_from(["", "x", "y"]))
    if kind == "turn":
        found = draw(st.lists(few_calls(), min_size=1, max_size=3))
        if draw(st.booleans()):
            return {"role": "assistant", "content": content, "metadata": {"tool_calls": found}}
        return {"role": "assistant", "content": content, "tool_calls": found}
    if kind == "tool":
        return {"role": "tool", "content": content, "tool_call_id": draw(FEW_IDS)}
    if kind == "healed":
        pairing = {"tool_call_id": draw(FEW_IDS), "healed": True}
        return {"role": "tool", "content": content, "metadata": pairing}
    return {"role": kind, "content": content}


batches = st.lists(clashing_messages(), min_size=1, max_size=5)

artifacts = st.one_of(
    st.fixed_dictionaries(
        {
            "type": st.sampled_from(["link", "chart"]),
            "payload": st.sampled_from([{}, {"n": 1}, {"n": 1.0}, {"n": True}, {"text": "x" * 60}]),
            "tool_call_id": st.sampled_from([None, "a", 7]),
        }
    ),
    st.sampled_from([{"type": " ", "payload": {}}, {"type": "link", "payload": "no map"}, "no map"]),
)
artifact_lists = st.lists(artifacts, max_size=3)


@st.composite
def histories(draw: st.DrawFn) -> list[tuple[str, dict[str, Any]]]:
    """A list of calls on a store's face: the method's name, and what it is given beside the conversation.

    A call that only an existing conversation takes comes behind an append, which makes it exist.
    """
    calls_made: list[tuple[str, dict[str, Any]]] = []
    for _ in range(draw(st.integers(1, 7))):
        methods = ["append", "append", "append", "hold", "write_back"]
        if any(method == "append" for method, _ in calls_made):
            methods += ["compact", "record_request", "retract", "retract", "clear", "keep"]
        method = draw(st.sampled_from(methods))
        given: dict[str, Any] = {}
        if method == "compact":
            role = draw(st.sampled_from(["user", "assistant", "system"]))
            given = {"keep_last": draw(st.integers(0, 3)), "summary": {"role": role, "content": "so far"}}
            calls_made.append((method, given))
            continue
        if method == "record_request":
            calls_made.append((method, {"provider": draw(st.sampled_from([None, "openai-chat"]))}))
            continue
        if method == "retract":
            calls_made.append((method, {}))
            continue
        if method == "clear":
            calls_made += [(method, {})] * draw(st.sampled_from([0, 0, 1]))
            continue
        if method == "keep":
            keys = draw(st.lists(st.sampled_from([None, "1", "2"]), max_size=3))
            records = [Record("k", key, draw(artifact_lists)) for key in keys]
            calls_made.append(("append", {"messages": [], "records": records}))
            continue
        if method != "append":
            given["execution_id"] = draw(st.sampled_from(["e1", "e2"]))
            given["artifacts"] = draw(artifact_lists)
        if method != "hold":
            given["messages"] = draw(batches)
            given["reused_ids"] = draw(st.sampled_from(["compare", "compare", "drop", "distinct"]))
        given["turn_id"] = draw(st.sampled_from([None, "t1", "t2"]))
        calls_made.append((method, given))
    return calls_made
