"""A store observed through OpenTelemetry: what its spans and counts tell, and what its events carry."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from tests.judges.official import library
from turnledger import AsyncConversationStore, ConversationStore, InvalidId, InvalidMessage

library("opentelemetry.sdk")

from opentelemetry.sdk.metrics import MeterProvider  # noqa: E402
from opentelemetry.sdk.metrics.export import InMemoryMetricReader  # noqa: E402
from opentelemetry.sdk.trace import TracerProvider  # noqa: E402
from opentelemetry.sdk.trace.export import SimpleSpanProcessor  # noqa: E402
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter  # noqa: E402
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF  # noqa: E402
from opentelemetry.semconv.attributes.db_attributes import DB_OPERATION_NAME, DB_SYSTEM_NAME  # noqa: E402
from opentelemetry.semconv.metrics.db_metrics import DB_CLIENT_OPERATION_DURATION  # noqa: E402
from opentelemetry.trace import SpanKind, StatusCode, format_trace_id  # noqa: E402

from turnledger.adapters.otel import READINGS, WRITINGS, observed, recorded_in  # noqa: E402
from turnledger.projections.providers import PROVIDERS  # noqa: E402

USER = {"role": "user", "content": "a secret"}
TURN = {"role": "assistant", "content": "", "tool_calls": [{"tool_call_id": "c1", "name": "track"}]}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "depot"}
LINK = {"type": "link", "payload": {"n": 1}}


class Watch:
    """Providers of a test's own, and what was exported to them."""

    def __init__(self, sampler: Any = None) -> None:
        self._exporter, self._reader = InMemorySpanExporter(), InMemoryMetricReader()
        self.tracers = TracerProvider(sampler=sampler)
        self.tracers.add_span_processor(SimpleSpanProcessor(self._exporter))
        self.meters = MeterProvider([self._reader])

    @property
    def spans(self) -> dict[str, Any]:
        return {span.name: span for span in self._exporter.get_finished_spans()}

    @property
    def metrics(self) -> dict[str, Any]:
        data = self._reader.get_metrics_data()
        scopes = [
            scope for resource in (data.resource_metrics if data else ()) for scope in resource.scope_metrics
        ]
        return {metric.name: metric for scope in scopes for metric in scope.metrics}

    @property
    def counts(self) -> dict[str, Any]:
        return {
            name: sum(getattr(p, "value", getattr(p, "count", 0)) for p in metric.data.data_points)
            for name, metric in self.metrics.items()
        }

    def over(self, store: Any) -> Any:
        return observed(store, tracer_provider=self.tracers, meter_provider=self.meters)


@pytest.fixture
def watch() -> Watch:
    return Watch()


@pytest.fixture
def store(watch: Watch) -> Iterator[ConversationStore]:
    with ConversationStore(":memory:") as made:
        yield watch.over(made)


def test_a_call_is_a_span_with_its_conversation_and_what_it_did(
    watch: Watch, store: ConversationStore
) -> None:
    store.append("c", [USER, TURN], turn_id="t1", execution_id="e1")
    store.append("c", USER)
    span = watch.spans["turnledger append"]
    assert dict(span.attributes) == {
        "db.system.name": "turnledger",
        "db.operation.name": "append",
        "gen_ai.conversation.id": "c",
        "turnledger.version": 5,
        "turnledger.count": 4,
        "turnledger.appended": 1,
        "turnledger.healed": 1,
        "turnledger.replaced": 0,
        "turnledger.duplicates": 0,
        "turnledger.renamed": 0,
        "turnledger.evicted": 0,
    }
    assert [(event.name, dict(event.attributes)) for event in span.events] == [
        ("turnledger.call.healed", {"gen_ai.tool.call.id": "c1"})
    ]


def test_nothing_that_is_said_is_in_a_span(watch: Watch, store: ConversationStore) -> None:
    store.append("c", [USER, TURN, RESULT])
    store.sendable("c")
    store.buffer(conversation_id="c")
    told = "".join(span.to_json() for span in watch.spans.values())
    assert "a secret" not in told
    assert "depot" not in told
    assert watch.spans["turnledger buffer"].attributes["gen_ai.conversation.id"] == "c"


def test_a_request_is_told_with_its_model_and_provider(watch: Watch, store: ConversationStore) -> None:
    store.append("c", USER)
    store.record_request("c", model="m-1", provider="anthropic")
    attributes = watch.spans["turnledger record_request"].attributes
    assert (attributes["gen_ai.request.model"], attributes["gen_ai.provider.name"]) == ("m-1", "anthropic")
    inner, outer = watch.spans["turnledger sendable"], watch.spans["turnledger record_request"]
    assert inner.parent.span_id == outer.context.span_id


def test_a_provider_is_told_by_the_name_that_the_conventions_have_for_it(
    watch: Watch, store: ConversationStore
) -> None:
    conventions = pytest.importorskip("opentelemetry.semconv._incubating.attributes.gen_ai_attributes")
    known = {value.value for value in conventions.GenAiProviderNameValues}
    store.append("c", USER)
    for provider in PROVIDERS:
        store.record_request("c", provider=provider)
        name = watch.spans["turnledger record_request"].attributes["gen_ai.provider.name"]
        assert name in known, provider


def test_names_and_units_are_those_of_the_conventions(watch: Watch, store: ConversationStore) -> None:
    store.append("c", [USER, TURN])
    metric = watch.metrics[DB_CLIENT_OPERATION_DURATION]
    assert metric.unit == "s"
    [point] = metric.data.data_points
    assert point.explicit_bounds == (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10)
    assert set(point.attributes) == {DB_SYSTEM_NAME, DB_OPERATION_NAME}
    assert watch.metrics["turnledger.appended"].unit == "{entry}"
    span = watch.spans["turnledger append"]
    assert span.kind is SpanKind.CLIENT
    assert span.attributes["gen_ai.conversation.id"] == "c"


def test_an_id_that_is_none_is_told_no_longer_than_an_id_may_be(
    watch: Watch, store: ConversationStore
) -> None:
    with pytest.raises(InvalidId):
        store.append("c\ud800" * 10_000, USER)
    told = watch.spans["turnledger append"].attributes["gen_ai.conversation.id"]
    assert (len(told), told[:2]) == (255, "c\ufffd")
    told.encode()


def test_a_store_that_is_observed_twice_tells_each_call_once(watch: Watch, store: ConversationStore) -> None:
    watch.over(store).append("c", USER)
    assert watch.counts["turnledger.appended"] == 1
    assert watch.counts["db.client.operation.duration"] == 1


def test_a_take_of_a_block_is_observed_on_either_kind_of_store(
    watch: Watch, store: ConversationStore
) -> None:
    store.hold("c", "e", [LINK])
    with store.taking("c", "e"):
        pass
    assert {"turnledger take", "turnledger confirm"} <= watch.spans.keys()

    async def main() -> None:
        other = Watch()
        async with other.over(AsyncConversationStore(":memory:")) as aio:
            await aio.hold("c", "e", [LINK])
            with pytest.raises(ValueError, match="in the block"):
                async with aio.taking("c", "e") as take:
                    assert len(take.artifacts) == 1
                    raise ValueError("in the block")
            assert len(await aio.held("c")) == 1
            async with aio.taking("c", "e", context={"actor": "a"}):
                pass
            assert await aio.held("c") == []
            names = {"turnledger take", "turnledger put_back", "turnledger confirm"}
            assert names <= other.spans.keys()
            async for event in aio.events("c", after=2):
                assert "traceparent" in (event.envelope.context or {})

    asyncio.run(main())


def test_what_is_sampled_out_makes_no_span_and_its_events_say_that_it_was() -> None:
    watch = Watch(ALWAYS_OFF)
    with watch.over(ConversationStore(":memory:")) as store:
        store.append("c", USER)
        assert watch.spans == {}
        assert watch.counts["turnledger.appended"] == 1
        origin = recorded_in(next(iter(store.events("c"))))
        assert origin is not None
        assert not origin.trace_flags.sampled


def test_what_healed_and_what_was_delivered_is_counted_and_a_repeat_counts_nothing(
    watch: Watch, store: ConversationStore
) -> None:
    store.append("c", [USER, TURN])
    store.append("c", USER)
    store.append("c", RESULT)
    store.append("c", RESULT)
    store.hold("c", "e", [LINK])
    for _ in range(2):
        store.write_back("c", "e", {"role": "assistant", "content": "There"}, idempotency_key="k")
    counts = watch.counts
    assert counts["turnledger.appended"] == 4
    assert counts["turnledger.healed"] == 1
    assert counts["turnledger.replaced"] == 1
    assert counts["turnledger.duplicates"] == 1
    assert counts["turnledger.delivered"] == 1
    assert counts["db.client.operation.duration"] == 7


def test_an_error_is_the_callers_and_its_class_the_spans(watch: Watch, store: ConversationStore) -> None:
    with pytest.raises(InvalidMessage):
        store.append("c", {"role": "nobody", "content": "x"})
    span = watch.spans["turnledger append"]
    assert span.status.status_code is StatusCode.ERROR
    assert span.attributes["error.type"] == "InvalidMessage"
    assert "nobody" not in span.to_json()


def test_what_a_call_records_carries_its_trace_beside_the_callers_context(
    watch: Watch, store: ConversationStore
) -> None:
    tracer = watch.tracers.get_tracer("test")
    with tracer.start_as_current_span("turn") as turn:
        store.append("c", USER, context={"actor": "worker-3"})
    trace_id = turn.get_span_context().trace_id
    span = watch.spans["turnledger append"]
    for event in store.events("c"):
        context = event.envelope.context or {}
        assert context["actor"] == "worker-3"
        assert context["traceparent"].split("-")[1] == format_trace_id(trace_id)
        origin = recorded_in(event)
        assert origin is not None
        assert (origin.trace_id, origin.span_id) == (trace_id, span.context.span_id)


def test_a_trace_that_the_caller_gives_stands(store: ConversationStore) -> None:
    given = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    store.append("c", USER, context={"traceparent": given})
    assert [event.envelope.context for event in store.events("c")] == [{"traceparent": given}] * 2


def test_an_event_that_was_recorded_outside_of_any_trace_has_none() -> None:
    with ConversationStore(":memory:") as store:
        store.append("c", USER)
        assert [recorded_in(event) for event in store.events("c")] == [None, None]


def test_without_an_sdk_the_store_works_as_before_and_its_context_is_empty() -> None:
    with observed(ConversationStore(":memory:")) as store:
        store.append("c", USER)
        assert [event.envelope.context for event in store.events("c")] == [None, None]


def test_the_asynchronous_store_is_observed_too_its_spans_under_the_callers(watch: Watch) -> None:
    async def main() -> None:
        async with watch.over(AsyncConversationStore(":memory:")) as store:
            with watch.tracers.get_tracer("test").start_as_current_span("turn"):
                await store.append("c", USER)
                await store.sendable("c")
            [event, *_] = [event async for event in store.events("c")]
            assert "traceparent" in (event.envelope.context or {})

    asyncio.run(main())
    spans = watch.spans
    for name in ("append", "sendable"):
        assert spans[f"turnledger {name}"].parent.span_id == spans["turn"].context.span_id


def test_every_writing_of_the_face_is_observed() -> None:
    taking_a_context = {
        name
        for name, method in vars(ConversationStore).items()
        if not name.startswith("_") and "context" in getattr(method, "__annotations__", {})
    }
    assert taking_a_context - {"taking"} == set(WRITINGS)  # which takes and confirms
    assert all(hasattr(AsyncConversationStore, name) for name in (*WRITINGS, *READINGS))
