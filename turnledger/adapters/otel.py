"""Spans and metrics of a store's calls, through opentelemetry-api (extra `otel`).

`observed(store)` has every call of a store make a span, with the conversation as `gen_ai.conversation.id` and
what the call did: entries, calls healed and answered late, artifacts delivered. What is said is in none of
them. What a call records carries the trace that it was recorded in: its `context` has `traceparent`, which
`recorded_in` reads back from an event. Without an SDK all of that costs next to nothing and goes nowhere.

    store = observed(ConversationStore("chats.db"))
    with tracer.start_as_current_span("turn"):
        store.append("support-7", {"role": "user", "content": "Where is my parcel?"})
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from inspect import iscoroutinefunction, signature
from time import perf_counter
from typing import Any, TypeVar

from turnledger.adapters.extras import extra
from turnledger.aio import AsyncConversationStore
from turnledger.domain.events import DomainEvent
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
_NUMBERS = ("version", "count", "appended", "cleared")
_LISTS = ("healed", "replaced", "duplicates", "renamed", "evicted", "delivered", "dropped")
_COUNTED = {
    "appended": "entries appended to buffers",
    "healed": "calls that got a placeholder, since nothing had answered them",
    "replaced": "placeholders that a late result replaced",
    "duplicates": "messages dropped, since they repeat what is known",
    "delivered": "artifacts delivered with an answer",
}
_TRACE = TraceContextTextMapPropagator()


def observed(store: S, *, tracer_provider: Any = None, meter_provider: Any = None) -> S:
    """The store itself, its calls observed from now on; the providers are the global ones if not given."""
    observer = _Observer(tracer_provider, meter_provider)
    for name in (*WRITINGS, *READINGS):
        method = getattr(store, name)
        around = observer.awaited if iscoroutinefunction(method) else observer.called
        setattr(store, name, around(name, method))
    return store


def recorded_in(event: DomainEvent) -> trace.SpanContext | None:
    """The span in which an event was recorded, to link to; None where its context has no `traceparent`."""
    context = event.envelope.context or {}
    given = trace.get_current_span(_TRACE.extract(dict(context), context=Context())).get_span_context()
    return given if given.is_valid else None


class _Observer:
    """What makes the spans and counts: one a store."""

    def __init__(self, tracer_provider: Any, meter_provider: Any) -> None:
        self._tracer = trace.get_tracer(NAME, tracer_provider=tracer_provider)
        meter = metrics.get_meter(NAME, meter_provider=meter_provider)
        self._duration = meter.create_histogram(
            "db.client.operation.duration", unit="s", description="How long a call of a store took"
        )
        self._counters = {
            key: meter.create_counter(f"turnledger.{key}", description=told) for key, told in _COUNTED.items()
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
        with self._tracer.start_as_current_span(f"{NAME} {name}", attributes=asked, **quiet) as span:
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
    """What a call was asked, of what may be told: ids and names."""
    given = {**dict(zip(bound.parameters, args, strict=False)), **kwargs}
    return {
        attribute: given[key]
        for key, attribute in _ASKED.items()
        if isinstance(given.get(key), str | int | float)
    }


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
