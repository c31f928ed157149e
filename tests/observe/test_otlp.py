"""What the environment asks for, and how samples and handlers are told."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from math import nan
from typing import Any, cast

import pytest
from opentelemetry.sdk.metrics.export import AggregationTemporality, Gauge, Histogram, Sum

from cronledger.adapters.observe.otel_metrics import metrics_of, name_of
from cronledger.adapters.observe.telemetry import Asked, asked
from cronledger.core.catalogue import CATALOGUE, MetricType
from cronledger.core.distribution import OF_PASSES, Distribution
from cronledger.core.samples import Sample
from cronledger.errors import ConfigError
from cronledger.worker.context import JobContext
from cronledger.worker.handlers import Handler, is_async
from cronledger.worker.traced import within_each

ENDPOINT = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"}
NOON = datetime(2026, 8, 7, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("environ", "wanted"),
    [
        ({}, Asked()),
        ({"OTEL_SERVICE_NAME": "x", "OTEL_TRACES_SAMPLER": "always_on"}, Asked()),
        (ENDPOINT, Asked(True, True)),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://x/v1/traces"}, Asked(True, False)),
        ({"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "http://x/m"}, Asked(False, True)),
        ({"OTEL_TRACES_EXPORTER": "otlp"}, Asked(True, False)),
        ({"OTEL_METRICS_EXPORTER": "console,otlp"}, Asked(False, True)),
        (ENDPOINT | {"OTEL_TRACES_EXPORTER": "none"}, Asked(False, True)),
        (ENDPOINT | {"OTEL_METRICS_EXPORTER": "prometheus"}, Asked(True, False)),
        (ENDPOINT | {"OTEL_SDK_DISABLED": "True"}, Asked()),
        (ENDPOINT | {"OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}, Asked(True, True)),
        (
            ENDPOINT | {"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/json"},
            Asked(problem="OTLP over http/json is not offered; use http/protobuf"),
        ),
    ],
)
def test_the_standards_variables_and_no_others_say_what_is_sent(
    environ: dict[str, str], wanted: Asked
) -> None:
    assert asked(environ) == wanted


def test_prometheus_gives_every_name_back_as_it_was() -> None:
    names = set()
    for metric in CATALOGUE.values():
        name = name_of(metric)
        unit = f"_{metric.unit}" if metric.unit else ""
        total = "_total" if metric.type is MetricType.COUNTER else ""
        assert name.replace(".", "_") + unit + total == metric.name
        assert name.startswith("cronledger.")
        names.add(name)
    assert len(names) == len(CATALOGUE)


def test_counters_are_sums_the_rest_are_gauges_and_the_unknown_is_left_out() -> None:
    samples = [
        Sample("cronledger_database_errors_total", ("08",), 3),
        Sample("cronledger_queue_oldest_lease_timestamp_seconds", ("mail",), nan),
        Sample("cronledger_queue_oldest_lease_timestamp_seconds", ("sms",), 7.5),
    ]
    errors, oldest = metrics_of(samples, NOON, NOON)
    assert isinstance(errors.data, Sum)
    assert errors.data.is_monotonic
    assert [point.value for point in errors.data.data_points] == [3]
    assert isinstance(oldest.data, Gauge)
    assert oldest.unit == "s"
    [point] = oldest.data.data_points
    assert (point.value, point.attributes) == (7.5, {"queue": "sms"})


def test_a_histogram_goes_with_its_buckets_its_count_and_its_sum() -> None:
    spent = Distribution.empty(OF_PASSES).observed(0.01).observed(0.2).observed(100)
    [metric] = metrics_of(
        [Sample("cronledger_reconcile_duration_seconds", ("expand",), spent)], NOON, NOON
    )
    assert (metric.name, metric.unit) == ("cronledger.reconcile_duration", "s")
    assert isinstance(metric.data, Histogram)
    assert metric.data.aggregation_temporality is AggregationTemporality.CUMULATIVE
    [point] = metric.data.data_points
    assert point.attributes == {"phase": "expand"}
    assert tuple(point.explicit_bounds) == OF_PASSES
    assert list(point.bucket_counts) == [1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1]
    assert point.count == 3
    assert point.sum == pytest.approx(100.21)


def test_handlers_run_within_and_stay_what_they_are() -> None:
    entered: list[Any] = []

    @contextmanager
    def within(job: JobContext) -> Iterator[None]:
        entered.append(job)
        yield
        entered.append("left")

    async def later(job: JobContext) -> None:
        await asyncio.sleep(0)
        entered.append("ran")

    def now(job: JobContext) -> str:
        return "made"

    made = within_each({"later": later, "now": now}, within)
    job = cast(JobContext, "job")
    assert is_async(made["later"])
    assert not is_async(made["now"])
    asyncio.run(cast(Any, made["later"](job)))
    assert entered == ["job", "ran", "left"]
    assert made["now"](job) == "made"

    def generator(job: JobContext) -> Iterator[int]:
        yield 1

    with pytest.raises(ConfigError, match="is a generator"):
        within_each({"bad": cast(Handler, generator)}, within)
