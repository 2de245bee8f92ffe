"""The shapes of kept blocks are those of the official libraries: kinds, keys, what has to be there."""

import types
from collections.abc import Iterator
from typing import Annotated, Any, Literal, NotRequired, Required, Union, get_args, get_origin

import pytest
from typing_extensions import TypeAliasType, get_type_hints, is_typeddict

from tests.judges.official import judge, library
from turnledger.projections.providers import anthropic_shapes, mistral_chunks, openai_chat_parts
from turnledger.projections.providers.shapes import Either, Keys, Kinds, OrNone, fitting


def alternatives(declared: Any) -> list[Any]:
    """The types that a declared one may be."""
    if isinstance(declared, TypeAliasType):
        return alternatives(declared.__value__)
    if isinstance(get_origin(declared), TypeAliasType):  # Mistral's `Nullable[...]`
        return [*alternatives(get_args(declared)[0]), type(None)]
    origin: Any = get_origin(declared)
    if origin is Annotated:
        return alternatives(get_args(declared)[0])
    if origin in (Union, types.UnionType):
        return [inner for one in get_args(declared) for inner in alternatives(one)]
    return [declared]


def literals(declared: Any) -> list[Any]:
    """The values that a type names, none where it names none."""
    return list(get_args(declared)) if get_origin(declared) is Literal else []


def needed_in(declared: Any) -> set[str]:
    """The keys that a typed map has to have; what it says of that itself is lost in types written as text."""
    hints = get_type_hints(declared, include_extras=True)
    marked: dict[str, Any] = {key: get_origin(hint) for key, hint in hints.items()}
    return {
        key
        for key, mark in marked.items()
        if mark is Required or (declared.__total__ and mark is not NotRequired)
    }


def kinds_in(declared: Any) -> dict[str, Any]:
    """The typed maps that a type may be, by what stands under their `type`."""
    maps = [one for one in alternatives(declared) if is_typeddict(one)]
    return {kind: one for one in maps for kind in literals(get_type_hints(one)["type"])}


def differences(shape: Any, declared: Any, place: str) -> Iterator[str]:
    """Where a shape and a type are two things."""
    kinds = [one for one in alternatives(declared) if one is not type(None)]
    if isinstance(shape, OrNone):
        yield from [] if type(None) in alternatives(declared) else [f"{place} is never nothing"]
        yield from differences(shape.shape, declared, place)
    elif isinstance(shape, Either):
        for one in shape.shapes:
            yield from differences(one, declared, place)
    elif isinstance(shape, Kinds):
        yield from _of_kinds(shape, kinds_in(declared), place)
    elif isinstance(shape, Keys):
        (only,) = (one for one in kinds if is_typeddict(one))
        yield from _of_keys(shape, only, place)
    elif isinstance(shape, list):
        (only,) = (one for one in kinds if get_args(one) and get_origin(one) not in (dict, Literal))
        yield from differences(shape[0], get_args(only)[0], place)
    else:
        yield from (f"{place} may be {one!r}" for kind in kinds for one in literals(kind) if not shape(one))


def _of_kinds(shape: Kinds, named: dict[str, Any], place: str) -> Iterator[str]:
    for kind in named.keys() ^ (shape.shapes.keys() - anthropic_shapes.BETA.keys()):
        yield f"{place}: {kind} stands on one side alone"
    for kind in named.keys() & shape.shapes.keys():
        yield from _of_keys(shape.shapes[kind], named[kind], f"{place}.{kind}")


def _of_keys(shape: Keys, declared: Any, place: str) -> Iterator[str]:
    hints = get_type_hints(declared)
    for key in hints.keys() ^ shape.shapes.keys():
        yield f"{place}: {key} stands on one side alone"
    for key in needed_in(declared) - set(shape.needed):
        yield f"{place} needs {key}"
    for key in (hints.keys() & shape.shapes.keys()) - {"type"}:
        yield from differences(shape.shapes[key], hints[key], f"{place}.{key}")


def test_the_blocks_of_anthropic_are_those_of_its_library() -> None:
    every = {**anthropic_shapes.GIVEN.shapes, **anthropic_shapes.SAID.shapes}
    shape = Kinds({**every, "tool_result": anthropic_shapes.RESULT})
    assert list(differences(shape, library("anthropic.types").ContentBlockParam, "block")) == []


def test_the_parts_of_openai_chat_are_those_of_its_library() -> None:
    chat = library("openai.types.chat")
    parts = [chat.ChatCompletionContentPartParam, chat.ChatCompletionContentPartRefusalParam]
    named = {kind: one for part in parts for kind, one in kinds_in(part).items()}
    assert list(_of_kinds(openai_chat_parts.CHAT_PARTS, named, "part")) == []


def test_the_chunks_of_mistral_are_those_of_its_library() -> None:
    models = library("mistralai.client.models")
    for shape, declared in [
        (mistral_chunks.CHUNKS, models.ContentChunkTypedDict),
        (mistral_chunks.SYSTEM_CHUNKS, models.SystemMessageContentChunksTypedDict),
    ]:
        assert list(differences(shape, declared, "chunk")) == []


why_not_beta = judge(lambda: library("anthropic.types.beta").BetaContentBlockParam)

BETA: list[dict[str, Any]] = [
    {"type": "mcp_tool_use", "id": "mcptoolu_1", "name": "look", "server_name": "cats", "input": {"at": 1}},
    {
        "type": "mcp_tool_result",
        "tool_use_id": "mcptoolu_1",
        "is_error": False,
        "content": [{"type": "text", "text": "red"}],
    },
    {"type": "compaction", "content": "so far", "signature": None},
]


@pytest.mark.parametrize("block", BETA, ids=lambda block: block["type"])
def test_blocks_of_the_beta_client_are_kept_whole_and_are_of_its_types(block: dict[str, Any]) -> None:
    assert why_not_beta(block) is None
    assert fitting(block, anthropic_shapes.SAID) == block


def test_every_block_of_the_beta_client_alone_has_its_keys() -> None:
    named = kinds_in(library("anthropic.types.beta").BetaContentBlockParam)
    for kind, shape in anthropic_shapes.BETA.items():
        assert get_type_hints(named[kind]).keys() == shape.shapes.keys(), kind
        assert needed_in(named[kind]) == set(shape.needed), kind
