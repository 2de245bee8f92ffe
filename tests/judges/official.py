"""The types of an official library as a judge: extra keys are refused, iterators are read to their end."""

import json
import os
from collections.abc import Callable, Mapping
from importlib import import_module
from types import GenericAlias
from typing import Any

import pytest
from pydantic import ConfigDict, TypeAdapter, ValidationError


def library(name: str) -> Any:
    """The module, or a skip where it is not installed; in CI its absence is a failure."""
    if os.environ.get("CI"):
        return import_module(name)
    return pytest.importorskip(name, reason=f"this needs {name}: pip install -e '.[dev]'")


def list_of(shape: Any) -> Any:
    """The type of a list of these."""
    return GenericAlias(list, (shape,))


def judge(shape: Callable[[], Any]) -> Callable[[Any], str | None]:
    """Why a value is not of the shape, None where it is; `shape` is asked for once, when first needed."""
    adapters: list[TypeAdapter[Any]] = []

    def why_not(value: Any) -> str | None:
        if not adapters:
            config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)
            adapters.append(TypeAdapter(shape(), config=config))
        try:
            _exhausted(adapters[0].validate_python(value))
        except ValidationError as error:
            return f"the official types refuse it: {error}"
        return None

    return why_not


def _exhausted(value: Any) -> None:
    """Reads iterators to their end: pydantic checks their items only then."""
    if isinstance(value, Mapping):
        for inner in value.values():
            _exhausted(inner)
    elif not isinstance(value, str | bytes | int | float | None):
        for inner in value:
            _exhausted(inner)


def why_not_json(request: Any) -> str | None:
    """Why a request cannot be written as JSON in UTF-8."""
    try:
        json.dumps(request, allow_nan=False, ensure_ascii=False).encode("utf-8")
    except (ValueError, TypeError) as error:
        return f"the request does not encode: {error}"
    return None


def first(*reasons: str | None) -> str | None:
    """The first reason that there is."""
    return next((reason for reason in reasons if reason), None)
