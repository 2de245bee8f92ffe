"""Spans and metrics of a store's calls, through opentelemetry-api (extra `otel`).

`observed(store)` has every call of a store make a span, with the conversation as `gen_ai.conversation.id` and
what the call did: entries, calls healed and answered late, artifacts delivered. What is said is in none of
them. What a call records carries the trace that it was recorded in: its `context` has `traceparent`, which
`recorded_in` reads back from an event. Without an SDK all of that costs next to nothing and goes nowhere.

    store = observed(ConversationStore("chats.db"))
    with tracer.start_as_current_span("turn"):
        store.append("support-7", {"role": "user", "content": "Where is my parcel?"})
"""

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from functools import wraps
from importlib.metadata import version
from inspect import iscoroutinefunction, signature
from time import perf_counter
from typing import Any, TypeVar

from turnledger.adapters.extras import extra
from turnledger.aio import AsyncConversationStore
from turnledger.domain.events import DomainEvent
from turnledger.domain.identifiers import ID_CHARACTERS_MAX
from turnledger.domain.values import scrubbed
from turnledger.store import ConversationStore

with extra("otel"):
    from opentelemetry import metrics, trace
    from opentelemetry.context import Context
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

S = TypeVar("S", ConversationStore, AsyncConversationStore)
Attributes = dict[str, Any]

WRITINGS = (
    *("append", "hold", "write_back", "take", "confirm", "put_back", "discard"),
    *("retract", "clear", "compact", "fork", "record_request"),
)
READINGS = (
    *("buffer", "entries", "sendable", "wire", "held", "records", "requests", "request_messages"),
    *("open_calls", "open_takes", "turn_artifacts", "diff", "version", "head", "verify"),
)
NAME = "turnledger"
_ASKED = {
    "conversation_id": "gen_ai.conversation.id",
    "model": "gen_ai.request.model",
    "provider": "gen_ai.provider.name",
    "execution_id": "turnledger.execution.id",
    "turn_id": "turnledger.turn.id",
    "into": "turnledger.fork.conversation.id",
}
_PROVIDERS = {
    "openai-chat": "openai",
    "openai-responses": "openai",
    "gemini": "gcp.gemini",
    "bedrock-converse": "aws.bedrock",
    "mistral": "mistral_ai",
}
"""What the semantic conventions call a provider, where it is not what a rendering is called."""

_NUMBERS = ("version", "count", "appended", "cleared")
_LISTS = ("healed", "replaced", "duplicates", "renamed", "evicted", "delivered", "dropped")
_COUNTED = {
    "appended": ("{entry}", "entries appended to buffers"),
    "healed": ("{call}", "calls that got a placeholder, since nothing had answered them"),
    "replaced": ("{placeholder}", "placeholders that a late result replaced"),
    "duplicates": ("{message}", "messages dropped, since they repeat what is known"),
    "delivered": ("{artifact}", "artifacts delivered with an answer"),
}
_BOUNDARIES_S = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10)  # the conventions'
_TRACE = TraceContextTextMapPropagator()


def observed(store: S, *, tracer_provider: Any = None, meter_provider: Any = None) -> S:
    """The store itself, its calls observed from now on; the providers are the global ones if not given.

    A store that is observed already is so by these providers from now on.
    """
    observer = _Observer(tracer_provider, meter_provider)
    for name in (*WRITINGS, *READINGS):
        method = getattr(type(store), name).__get__(store)  # and not what an earlier observer put there
        around = observer.awaited if iscoroutinefunction(method) else observer.called
        setattr(store, name, around(name, method))
    if isinstance(store, AsyncConversationStore):  # the other kind's makes calls that are observed
        store.taking = observer.entered(type(store).taking.__get__(store))  # type: ignore[method-assign]
    return store


def recorded_in(event: DomainEvent) -> trace.SpanContext | None:
    """The span in which an event was recorded, to link to; None where its context has no `traceparent`."""
    context = event.envelope.context or {}
    given = trace.get_current_span(_TRACE.extract(dict(context), context=Context())).get_span_context()
    return given if given.is_valid else None


class _Observer:
    """What makes the spans and counts: one a store."""

    def __init__(self, tracer_provider: Any, meter_provider: Any) -> None:
        self._tracer = trace.get_tracer(NAME, version(NAME), tracer_provider)
        meter = metrics.get_meter(NAME, version(NAME), meter_provider)
        self._duration = meter.create_histogram(
            "db.client.operation.duration",
            unit="s",
            description="How long a call of a store took",
            explicit_bucket_boundaries_advisory=_BOUNDARIES_S,
        )
        self._counters = {
            key: meter.create_counter(f"turnledger.{key}", unit, told)
            for key, (unit, told) in _COUNTED.items()
        }

    def called(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        bound = signature(method)

        @wraps(method)
        def call(*args: Any, **kwargs: Any) -> Any:
            with self._span(name, bound, args, kwargs) as told:
                return told(method(*args, **_carrying(name, bound, kwargs)))

        return call

    def awaited(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        bound = signature(method)

        @wraps(method)
        async def call(*args: Any, **kwargs: Any) -> Any:
            with self._span(name, bound, args, kwargs) as told:
                return told(await method(*args, **_carrying(name, bound, kwargs)))

        return call

    def entered(self, method: Callable[..., Any]) -> Callable[..., Any]:
        """`taking` where it is awaited: what begins it and what ends it are calls like others."""
        bound = signature(method)

        @wraps(method)
        @asynccontextmanager
        async def taking(*args: Any, **kwargs: Any) -> AsyncIterator[Any]:
            with self._span("take", bound, args, kwargs) as told:
                block = method(*args, **_carrying("take", bound, kwargs))
                take = told(await block.__aenter__())
            try:
                yield take
            except BaseException as error:
                with self._span("put_back", bound, args, kwargs):
                    await block.__aexit__(type(error), error, error.__traceback__)
                raise
            with self._span("confirm", bound, args, kwargs):
                await block.__aexit__(None, None, None)

        return taking

    @contextmanager
    def _span(
        self, name: str, bound: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> Iterator[Callable[[Any], Any]]:
        """A span around a call; what it yields is to be told the result. An error is the span's, too."""
        common: Attributes = {"db.system.name": NAME, "db.operation.name": name}
        asked = common | _asked(bound, args, kwargs)
        begun = perf_counter()
        # an error's text may quote a message: its class alone is told
        quiet: Any = {"record_exception": False, "set_status_on_exception": False}
        kind = trace.SpanKind.CLIENT
        with self._tracer.start_as_current_span(f"{NAME} {name}", None, kind, asked, **quiet) as span:
            try:
                yield lambda result: self._told(span, name, result)
            except BaseException as error:
                common["error.type"] = type(error).__qualname__
                span.set_attribute("error.type", common["error.type"])
                span.set_status(trace.StatusCode.ERROR)
                raise
            finally:
                self._duration.record(perf_counter() - begun, common)

    def _told(self, span: trace.Span, name: str, result: Any) -> Any:
        did = _did(result)
        span.set_attributes(did)
        for call_id in getattr(result, "healed", ()):
            span.add_event("turnledger.call.healed", {"gen_ai.tool.call.id": str(call_id)})
        for key, counter in self._counters.items():
            if name in WRITINGS and (number := did.get(f"turnledger.{key}", 0)):
                counter.add(number)
        return result


def _asked(bound: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Attributes:
    """What a call was asked, of what may be told: ids and names, none longer than an id may be."""
    given = {**dict(zip(bound.parameters, args, strict=False)), **kwargs}
    asked = {attribute: given[key] for key, attribute in _ASKED.items() if isinstance(given.get(key), str)}
    told = {attribute: scrubbed(value)[:ID_CHARACTERS_MAX] for attribute, value in asked.items()}
    if provider := told.get("gen_ai.provider.name"):
        told["gen_ai.provider.name"] = _PROVIDERS.get(provider, provider)
    return told


def _did(result: Any) -> Attributes:
    """What a result tells, in numbers."""
    did = {key: getattr(result, key, None) for key in _NUMBERS}
    for key in _LISTS:
        found = getattr(result, key, None)
        did[key] = len(found) if isinstance(found, list | tuple) else found
    if getattr(result, "repeated", False) is True:
        did |= {"repeated": True, "delivered": 0}  # the first use delivered
    numbers = {key: value for key, value in did.items() if isinstance(value, int) and not callable(value)}
    return {f"turnledger.{key}": value for key, value in numbers.items()}


def _carrying(name: str, bound: Any, kwargs: Mapping[str, Any]) -> Mapping[str, Any]:
    """The arguments of a writing call, its context with the current trace beside what the caller gave."""
    if name not in WRITINGS or "context" not in bound.parameters:
        return kwargs
    carrier: dict[str, str] = {}
    _TRACE.inject(carrier)
    context = kwargs.get("context")
    both = {**carrier, **context} if isinstance(context, Mapping) else context or carrier
    return {**kwargs, "context": both}
