"""Gemini contents: every spelling read, ids made and paired, signatures on their part, the client."""

from typing import Any

import pytest

from tests.judges import JUDGES
from tests.judges.official import library
from tests.listening import listening
from tests.samples import GEMINI
from turnledger import ConversationStore
from turnledger.importing import FORMATS, guessed_format, import_transcript, read_messages

USER = {"role": "user", "parts": [{"text": "go"}]}


def call(name: str, **more: Any) -> dict[str, Any]:
    return {"functionCall": {"name": name, "args": {}, **more}}


def answer(name: str, said: Any = "ok", **more: Any) -> dict[str, Any]:
    return {"functionResponse": {"name": name, "response": {"result": said}, **more}}


def model(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"role": "model", "parts": list(parts)}


def user(*parts: dict[str, Any], role: str = "user") -> dict[str, Any]:
    return {"role": role, "parts": list(parts)}


def sent_after(messages: list[Any], format: str = "gemini", provider: str = "gemini") -> dict[str, Any]:
    with ConversationStore(":memory:") as store:
        import_transcript(store, "c", messages, format)
        request = store.sendable("c", provider=provider).request
        assert request
        assert JUDGES[provider](request) is None
        return request


def answered(messages: list[Any]) -> list[tuple[str, Any]]:
    """Of each result what it says, and the arguments of the call that it answers."""
    read = read_messages(messages, "gemini")
    calls = {one["id"]: one["arguments"] for message in read for one in message.get("tool_calls", ())}
    return [
        (message["content"], calls[message["tool_call_id"]]) for message in read if message["role"] == "tool"
    ]


def test_what_the_library_dumps_reads_as_what_the_service_sends() -> None:
    content = library("google.genai.types").Content
    contents = [content.model_validate(message) for message in GEMINI]
    with ConversationStore(":memory:") as store:
        for number, dumped in enumerate(
            (
                contents,
                [one.model_dump() for one in contents],
                [one.model_dump(mode="json") for one in contents],
                [one.model_dump(mode="json", by_alias=True, exclude_none=True) for one in contents],
            )
        ):
            store.append(str(number), read_messages(dumped, "gemini"), reused_ids="distinct")
            sent = store.sendable(str(number), provider="gemini").messages
            assert [content.model_validate(message) for message in sent] == contents


@pytest.mark.parametrize("service", ["gemini", "vertex"])
def test_the_official_client_sends_what_was_rendered_signatures_and_bytes_unchanged(service: str) -> None:
    genai, credentials = library("google.genai"), library("google.oauth2.credentials")
    which: dict[str, Any] = {"api_key": "none"}
    if service == "vertex":
        held = credentials.Credentials("none")
        which = {"vertexai": True, "project": "p", "location": "l", "credentials": held}
    request = sent_after([{"role": "system", "parts": [{"text": "Be brief."}]}, *GEMINI])
    with listening() as (address, heard):
        client = genai.Client(**which, http_options={"base_url": address})
        with pytest.raises(library("google.genai.errors").ClientError):
            client.models.generate_content(model="gemini-3-pro", **request)
    (body,) = heard
    assert read_messages(body, "gemini") == read_messages(request, "gemini")
    assert body["contents"][1]["parts"][3]["thoughtSignature"] == "c2lnMg=="
    assert body["contents"][0]["parts"][1]["inlineData"]["data"] == "eA=="
    assert body["systemInstruction"] == {"parts": [{"text": "Be brief."}]}


def test_a_request_with_its_system_instruction_comes_back() -> None:
    for prompt in ({"parts": [{"text": "Be brief."}]}, {"parts": [{"text": "a"}, {"text": "b"}]}):
        request = {"contents": [USER], "config": {"system_instruction": prompt}}
        with ConversationStore(":memory:") as store:
            store.append("c", read_messages(request))
            assert store.sendable("c", provider="gemini").request == request
    for given in ("Be brief.", ["Be brief."], [{"text": "Be brief."}], {"parts": {"text": "Be brief."}}):
        spelled = {"contents": [USER], "systemInstruction": given}
        assert read_messages(spelled)[0] == {"role": "system", "content": "Be brief."}


def test_an_id_is_sent_but_for_calls_that_gemini_made_without_one() -> None:
    contents = sent_after([USER, model(call("f"), call("g", id="x")), user(answer("f"), answer("g", id="x"))])
    functions = [part["functionCall"] for part in contents["contents"][1]["parts"]]
    responses = [part["functionResponse"] for part in contents["contents"][2]["parts"]]
    assert [one.get("id") for one in functions] == [one.get("id") for one in responses] == [None, "x"]


def test_a_placeholder_answers_a_call_without_an_id_without_one() -> None:
    contents = sent_after([USER, model(call("f")), user({"text": "and?"})])["contents"]
    assert set(contents[2]["parts"][0]["functionResponse"]) == {"name", "response"}


def test_responses_are_sent_in_the_order_of_the_calls() -> None:
    turn = model(call("f", id="a"), call("f", id="b"))
    contents = sent_after([USER, turn, user(answer("f", 2, id="b")), user(answer("f", 1, id="a"))])
    assert [part["functionResponse"]["id"] for part in contents["contents"][2]["parts"]] == ["a", "b"]


def test_a_response_without_an_id_answers_the_newest_turn() -> None:
    old, new = model(call("f", args={"n": 1})), model(call("f", args={"n": 2}))
    told = [USER, old, USER, new, user(answer("f", "two")), user(answer("f", "one"))]
    assert answered(told) == [("two", {"n": 2}), ("one", {"n": 1})]


def test_a_response_under_an_id_that_no_call_had_answers_one_of_its_name() -> None:
    assert answered([USER, model(call("f")), user(answer("f", id="made-by-the-client"))]) == [("ok", {})]


def test_a_result_of_nothing_is_kept_and_not_sent() -> None:
    (message,) = read_messages([user(answer("f", "lost"))], "gemini")
    assert (message["content"], message["tool_call_id"]) == ("lost", None)
    assert "lost" not in str(sent_after([USER, user(answer("f", "lost"))]))


@pytest.mark.parametrize("role", ["function", "tool", None])
def test_responses_may_come_in_another_role_or_none(role: str | None) -> None:
    result = {"role": role, "parts": [answer("f")]}
    assert [one["role"] for one in read_messages([USER, model(call("f")), result], "gemini")] == [
        "user",
        "assistant",
        "tool",
    ]


def test_a_content_without_a_role_is_the_users_or_with_calls_the_models() -> None:
    said, called = read_messages([{"parts": [{"text": "hi"}]}, {"parts": [call("f")]}], "gemini")
    assert (said["role"], called["role"]) == ("user", "assistant")


@pytest.mark.parametrize(
    ("response", "content"),
    [
        ({"result": "22"}, "22"),
        ({"output": "22"}, "22"),
        ({"error": "none"}, "none"),
        ({"result": {"c": 22}}, '{"c":22}'),
        ({"c": 22, "sun": True}, '{"c":22,"sun":true}'),
        ({"snake_case": None}, '{"snake_case":null}'),
        ({}, "{}"),
        (None, ""),
    ],
)
def test_a_response_is_read_as_text_and_comes_back_as_it_was(response: Any, content: str) -> None:
    result = {"functionResponse": {"name": "f", "response": response}}
    messages = [USER, model(call("f")), user(result)]
    assert read_messages(messages, "gemini")[2]["content"] == content
    sent = sent_after(messages)["contents"][2]["parts"][0]["functionResponse"]["response"]
    assert sent == (response if response is not None else {"result": ""})


def test_a_failed_result_says_so_in_gemini_and_beyond() -> None:
    failed = user({"functionResponse": {"name": "f", "response": {"error": "no"}}})
    to_anthropic = sent_after([USER, model(call("f")), failed], provider="anthropic")["messages"]
    assert to_anthropic[2]["content"][0]["is_error"] is True
    back = sent_after(to_anthropic, "anthropic")["contents"]
    assert back[2]["parts"][0]["functionResponse"]["response"] == {"error": "no"}


def test_a_signature_that_is_no_base64_is_left_out_and_its_part_stays() -> None:
    turn = model({**call("f"), "thoughtSignature": "(redacted)"}, {"text": "hm", "thought": True})
    (sent, _) = sent_after([USER, turn])["contents"][1]["parts"]
    assert sent == call("f")


def test_a_signature_goes_with_its_call_when_another_is_dropped() -> None:
    parts = [
        {**call("f", id="a"), "thoughtSignature": "c2ln"},
        {**call("f", id="0"), "thoughtSignature": "eA=="},
    ]
    with ConversationStore(":memory:") as store:
        turn, result = model(*parts), user(answer("f", id="a"))
        store.append("c", read_messages([USER, turn, result, turn, result], "gemini"), reused_ids="distinct")
        sent = store.sendable("c", provider="gemini").messages
        first, second = (sent[place]["parts"][0] for place in (1, 3))
        assert (first["functionCall"]["id"], second["functionCall"]["id"]) == ("a", "a-2")
        assert first["thoughtSignature"] == second["thoughtSignature"] == "c2ln"


def test_a_call_that_another_model_made_bears_the_mark_of_such_on_the_first_of_a_turn() -> None:
    calls: list[Any] = [{"type": "tool_use", "id": name, "name": name, "input": {}} for name in ("f", "g")]
    sent = sent_after([{"role": "assistant", "content": calls}], "anthropic")["contents"][1]["parts"]
    assert [part.get("thoughtSignature") for part in sent] == ["skip_thought_signature_validator", None]
    with ConversationStore(":memory:") as store:
        store.append("c", read_messages([{"role": "model", "parts": sent}], "gemini"))
        assert "gemini" not in store.buffer("c")[0]["metadata"]


def test_data_in_the_alphabet_of_urls_reaches_others_in_the_standard_one() -> None:
    shown = user({"text": "see"}, {"inlineData": {"mimeType": "image/png", "data": "-_8"}})
    (_, image) = sent_after([shown], provider="anthropic")["messages"][0]["content"]
    assert image["source"]["data"] == "+/8="


def test_a_thought_in_a_picture_is_a_thought() -> None:
    shown = model({"inlineData": {"mimeType": "image/png", "data": "eA=="}, "thought": True}, {"text": "hi"})
    (message,) = read_messages([shown], "gemini")
    assert message["content"] == "hi"


def test_a_file_that_gemini_keeps_is_a_note_for_others() -> None:
    kept = "https://generativelanguage.googleapis.com/v1beta/files/abc"
    for uri in (kept, "gs://pets/cat.png"):
        shown = user({"fileData": {"mimeType": "image/png", "fileUri": uri}})
        (note,) = sent_after([shown], provider="anthropic")["messages"][0]["content"]
        assert note == {"type": "text", "text": "[image: image/png]"}


def test_a_name_is_made_to_fit_with_its_response() -> None:
    turn = {"type": "tool_use", "id": "a", "name": "1 look!", "input": {}}
    (part,) = sent_after([{"role": "assistant", "content": [turn]}], "anthropic")["contents"][1]["parts"]
    assert part["functionCall"]["name"] == "_1_look_"


@pytest.mark.parametrize(
    "message",
    [
        {"role": "user", "parts": [{"type": "text", "text": "hi"}]},
        {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "hi"}]},
        {"role": "user", "parts": []},
        {"role": "user", "parts": "hi"},
    ],
)
def test_parts_of_other_formats_are_not_taken_for_geminis(message: dict[str, Any]) -> None:
    assert not FORMATS["gemini"].marks(message)
    assert guessed_format([{"role": "model", "parts": [{"function_call": {}}]}]) == "gemini"


@pytest.mark.parametrize("cut_off", [{}, {"parts": None}, {"parts": []}])
def test_a_content_in_which_the_model_was_cut_off_before_it_spoke_is_an_empty_turn(cut_off: Any) -> None:
    read = read_messages([USER, {"role": "model", **cut_off}, USER], "gemini")
    assert [message["role"] for message in read] == ["user", "assistant", "user"]
    with ConversationStore(":memory:") as store:
        assert import_transcript(store, "c", [USER, {"role": "model", **cut_off}, USER]).messages == 3
        assert store.verify().ok


def test_parts_may_be_one_text_as_in_the_older_library() -> None:
    read = read_messages([{"role": "user", "parts": "hi"}, {"role": "model", "parts": "hello"}])
    assert [message["content"] for message in read] == ["hi", "hello"]
