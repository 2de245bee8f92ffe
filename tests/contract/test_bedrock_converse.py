"""Bedrock's Converse: bytes for boto3, text for JSON, documents' names, a server's tools, the client."""

import json
from typing import Any

import pytest

from tests.contract.command_line import run
from tests.judges import JUDGES
from tests.judges.bedrock_converse import names
from tests.judges.official import library
from tests.listening import listening
from tests.samples import BEDROCK
from turnledger import ConversationStore
from turnledger.importing import guessed_format, import_transcript, read_messages
from turnledger.projections.media import in_json
from turnledger.projections.providers.bedrock_blocks import FORMATS

IN_JSON = json.loads(json.dumps(BEDROCK, default=in_json))


def user(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def document(name: str, data: bytes = b"x", ending: str = "pdf") -> dict[str, Any]:
    return {"document": {"format": ending, "name": name, "source": {"bytes": data}}}


def call(call_id: str = "c1") -> dict[str, Any]:
    return {"toolUse": {"toolUseId": call_id, "name": "f", "input": {}}}


def result(*content: dict[str, Any], call_id: str = "c1", **more: Any) -> dict[str, Any]:
    return {"toolResult": {"toolUseId": call_id, "content": list(content), **more}}


def sent_after(messages: list[Any], format: str = "bedrock-converse") -> list[dict[str, Any]]:
    with ConversationStore(":memory:") as store:
        import_transcript(store, "c", messages, format)
        sendable = store.sendable("c", provider="bedrock-converse")
        assert sendable.request
        assert JUDGES["bedrock-converse"](sendable.request) is None
        return sendable.messages


def test_bytes_and_their_base64_text_read_as_one() -> None:
    assert read_messages(BEDROCK, "bedrock") == read_messages(IN_JSON, "bedrock")
    assert sent_after(IN_JSON) == BEDROCK


def test_botocore_sends_what_was_rendered_with_bytes_encoded_once() -> None:
    session = library("botocore.session").get_session()
    keys = {"aws_access_key_id": "none", "aws_secret_access_key": "none", "region_name": "us-east-1"}
    with listening() as (address, heard):
        client = session.create_client("bedrock-runtime", endpoint_url=address, **keys)
        with pytest.raises(library("botocore.exceptions").ClientError):
            client.converse(modelId="any", messages=sent_after(BEDROCK))
        client.close()
    assert heard == [{"messages": IN_JSON}]


def test_the_choices_are_those_of_the_services_model() -> None:
    model = library("botocore.loaders").Loader().load_service_model("bedrock-runtime", "service-2")
    official = {kind: model["shapes"][f"{kind.title()}Format"]["enum"] for kind in FORMATS}
    assert {kind: list(formats) for kind, formats in FORMATS.items()} == official


def test_a_recorded_request_with_bytes_is_checked_when_it_is_rebuilt() -> None:
    with ConversationStore(":memory:") as store:
        import_transcript(store, "c", BEDROCK, "bedrock")
        store.record_request("c", provider="bedrock-converse")
        rebuilt = store.request_messages("c", 1)
        assert rebuilt.messages == BEDROCK
        assert not rebuilt.rendered_differently


def test_an_export_holds_base64_text_and_is_read_again(tmp_path: Any) -> None:
    path, store, file = tmp_path / "in.json", tmp_path / "store.db", tmp_path / "out.jsonl"
    path.write_text(json.dumps({"id": "c", "messages": IN_JSON}))
    assert run("import", path, store=store).code == 0
    assert run("export", "--format", "bedrock-converse", "--output", file, store=store).code == 0
    assert json.loads(file.read_text()) == {"id": "c", "messages": IN_JSON}


def test_a_request_with_its_system_list_comes_back() -> None:
    system = [{"text": "Be brief."}, {"cachePoint": {"type": "default"}}, {"text": "Be kind."}]
    request = {"system": system, "messages": [user({"text": "go"})]}
    with ConversationStore(":memory:") as store:
        store.append("c", read_messages(request))
        assert store.buffer("c")[0]["content"] == "Be brief.\nBe kind."
        assert store.sendable("c", provider="bedrock-converse").request == request


def test_documents_have_names_of_their_own_that_do_not_change_as_the_conversation_grows() -> None:
    given = ["a/b_c.pdf", "a  b", "a b", "", "é" * 300, "a b (2)"]
    turns = [user({"text": "see"}, document(name)) for name in given]
    grown = [[*names(sent_after(turns[:length])[0]["content"])] for length in (3, 6)]
    assert grown[0] == ["a-b-c-pdf", "a b", "a b (2)"]
    assert grown[1][:3] == grown[0]
    assert len(set(grown[1])) == 6


def test_a_document_alone_is_given_its_name_beside_it() -> None:
    (message,) = sent_after([user(document("cats"))])
    assert message["content"][0] == {"text": "[document: cats]"}


def test_a_document_of_text_goes_as_a_text_file() -> None:
    source = {"type": "text", "media_type": "text/plain", "data": "words"}
    shown = {"role": "user", "content": [{"type": "document", "title": "d", "source": source}]}
    (message,) = sent_after([shown], "anthropic")
    assert message["content"][1] == document("d", b"words", "txt")


def test_data_that_is_no_base64_is_a_note() -> None:
    shown = {"image": {"format": "png", "source": {"bytes": "[omitted]"}}}
    (message,) = sent_after([user({"text": "see"}, shown)])
    assert message["content"] == [{"text": "see"}, {"text": "[image: image/png]"}]


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ([{"text": "a"}], "a"),
        ([{"text": "a"}, {"text": "b"}], "a\nb"),
        ([{"json": {"a": [1]}}], '{"a":[1]}'),
        ([], ""),
        ([{"searchResult": {"source": "s", "title": "t", "content": [{"text": "found"}]}}], "found"),
    ],
)
def test_a_result_is_read_as_text_and_comes_back_as_it_was(content: list[Any], text: str) -> None:
    messages = [user({"text": "go"}), assistant(call()), user(result(*content))]
    assert read_messages(messages, "bedrock")[2]["content"] == text
    assert sent_after(messages) == messages


@pytest.mark.parametrize("status", ["success", "error"])
def test_the_status_of_a_result_comes_back(status: str) -> None:
    messages = [user({"text": "go"}), assistant(call()), user(result({"text": "x"}, status=status))]
    answer = read_messages(messages, "bedrock")[2]
    assert (answer["metadata"].get("is_error") is True) == (status == "error")
    assert "blocks" not in answer["metadata"].get("bedrock-converse", {})
    assert sent_after(messages) == messages


def test_a_servers_tool_waits_for_no_result_here() -> None:
    used = {"toolUse": {**call("s1")["toolUse"], "type": "server_tool_use"}}
    messages = [user({"text": "go"}), assistant(used, {"text": "found"})]
    (_, turn) = read_messages(messages, "bedrock")
    assert "tool_calls" not in turn
    assert sent_after(messages) == messages


def test_a_call_loses_what_only_a_servers_may_say_and_ids_are_made_to_fit() -> None:
    messages = [assistant(call("functions.f:0")), user(result(call_id="functions.f:0"))]
    (_, turn, answer) = sent_after(messages)
    assert turn["content"][0]["toolUse"]["toolUseId"] == answer["content"][0]["toolResult"]["toolUseId"]


def test_reasoning_that_leads_to_nothing_and_a_break_after_it_are_left_out() -> None:
    reasoning = {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "s"}}}
    cached = {"cachePoint": {"type": "default"}}
    sent = sent_after([user({"text": "go"}), assistant({"text": "so "}, reasoning, cached)])
    assert sent[1:] == [assistant({"text": "so"})]


def test_text_alone_is_guessed_as_converse_and_not_with_a_type() -> None:
    assert guessed_format([user({"text": "hi"})]) == "bedrock-converse"
    assert guessed_format([user({"type": "text", "text": "hi"})]) == "openai-chat"
