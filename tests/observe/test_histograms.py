"""Histograms in the exposition, and what of them is there before anything was observed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.core import Metric as Family
from prometheus_client.openmetrics import parser as openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse_text
from sample_facts import FILE, FULL, LEDGER, NOON, PROCESS, declared

from cronledger.adapters.observe.metrics import Renderer, render
from cronledger.core.catalogue import CATALOGUE, KINDS_MAX, MetricType
from cronledger.core.distribution import OF_PASSES, OF_SPANS, Distribution
from cronledger.core.exposition import Form
from cronledger.core.samples import Sample, samples_of
from cronledger.core.snapshot import (
    CounterReading,
    Facts,
    HistogramReading,
    LedgerSnapshot,
)

WAIT = "cronledger_job_wait_seconds"
RAN = "cronledger_job_execution_seconds"

# The library left this one function untyped.
read_open: Callable[[str], Iterable[Family]] = openmetrics.text_string_to_metric_families


def parts_of(families: Iterable[Family], name: str) -> dict[tuple[str, str], float]:
    """The values of the only series of a histogram, by the part and the bound of the bucket."""
    [family] = [family for family in families if family.name == name]
    return {(s.name.removeprefix(name), s.labels.get("le", "")): s.value for s in family.samples}


def test_buckets_hold_all_that_is_below_and_the_sum_is_that_of_all() -> None:
    spent = Distribution.empty(OF_PASSES)
    for value in (0.01, 0.01, 0.4, 61.0):
        spent = spent.observed(value)
    name = "cronledger_reconcile_duration_seconds"
    exposition = render([Sample(name, ("expand",), spent)])
    texts = (
        parse_text(exposition.body(Form.TEXT).decode()),
        read_open(exposition.body(Form.OPENMETRICS).decode()),
    )
    for families in texts:
        found = parts_of(families, name)
        assert found["_bucket", "0.01"] == found["_bucket", "0.25"] == 2
        assert found["_bucket", "0.5"] == found["_bucket", "60.0"] == 3
        assert found["_bucket", "+Inf"] == found["_count", ""] == 4
        assert math.isclose(found["_sum", ""], 61.42)
        assert len(found) == len(OF_PASSES) + 3


@given(st.lists(st.floats(0, 1e6)))
def test_every_value_is_in_the_first_bucket_whose_bound_is_not_below_it(
    values: list[float],
) -> None:
    spent = Distribution.empty(OF_SPANS)
    for value in values:
        spent = spent.observed(value)
    bounds = (*OF_SPANS, math.inf)
    lower = (-math.inf, *OF_SPANS)
    assert spent.counts == tuple(
        sum(low < value <= high for value in values)
        for low, high in zip(lower, bounds, strict=True)
    )
    assert math.isclose(spent.total, math.fsum(values), rel_tol=1e-9)


def readings(facts: Facts) -> dict[tuple[str, tuple[str, ...]], Distribution]:
    return {
        (sample.metric, sample.labels): sample.value
        for sample in samples_of(facts)
        if isinstance(sample.value, Distribution)
    }


def test_what_a_declared_job_will_need_is_there_before_it_runs() -> None:
    found = readings(Facts(PROCESS, FILE, LedgerSnapshot(NOON)))
    assert found[WAIT, ("billing", "cleanup")].count == 0
    assert found[RAN, ("billing", "cleanup", "completed")].count == 0
    assert found["cronledger_enqueue_lag_seconds", ("default",)].count == 0
    # Nineteen series each: what most jobs never meet waits until one does.
    assert (RAN, ("billing", "cleanup", "dead")) not in found


def test_a_histogram_that_is_met_later_is_born_at_0() -> None:
    renderer = Renderer()
    renderer.render(FULL).body(Form.TEXT)
    late = Distribution.empty(OF_SPANS).observed(7.0, 3)
    reading = HistogramReading(RAN, ("billing", "cleanup", "dead"), late)
    facts = replace(FULL, ledger=replace(LEDGER, histograms=(reading,)))
    counts = []
    for _ in range(2):
        text = renderer.render(facts).body(Form.TEXT).decode()
        [count] = [
            sample.value
            for family in parse_text(text)
            for sample in family.samples
            if sample.name == f"{RAN}_count" and sample.labels.get("outcome") == "dead"
        ]
        counts.append(count)
    assert counts == [0, 3]


def test_obs39_kinds_beyond_the_limit_get_no_series_of_zeros() -> None:
    many = tuple(declared(f"s{n}", kind=f"k{n}") for n in range(KINDS_MAX + 50))
    file = replace(FILE, schedules=many)
    empty = readings(Facts(PROCESS, file, LedgerSnapshot(NOON)))
    assert len([labels for metric, labels in empty if metric == WAIT]) == KINDS_MAX
    # Those that the ledger names come first, and the ones they push out are not shown as 0.
    counted = tuple(
        CounterReading("cronledger_jobs_created_total", ("billing", f"x{n}"), 1)
        for n in range(KINDS_MAX - 1)
    )
    some = readings(Facts(PROCESS, file, LedgerSnapshot(NOON, counters=counted)))
    assert [labels for metric, labels in some if metric == WAIT] == [("billing", "k0")]


def test_a_class_of_the_file_has_its_counters_from_the_first_snapshot() -> None:
    file = replace(FILE, schedules=(replace(declared("report"), schedule_class="nightly"),))
    found = {
        sample.labels: sample.value
        for sample in samples_of(Facts(PROCESS, file, LedgerSnapshot(NOON)))
        if sample.metric == "cronledger_deliveries_total"
    }
    results = CATALOGUE["cronledger_deliveries_total"].values["result"]
    assert found == {(name, r): 0 for name in ("default", "nightly") for r in results}


def test_every_histogram_has_buckets_and_nothing_else_has() -> None:
    for metric in CATALOGUE.values():
        assert bool(metric.bounds) == (metric.type is MetricType.HISTOGRAM), metric.name
        assert list(metric.bounds) == sorted(set(metric.bounds))
