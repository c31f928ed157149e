"""The exposition: what a scraper reads, and what it is spared."""

from __future__ import annotations

import gzip
import math
import subprocess
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.core import Metric as Family
from prometheus_client.openmetrics import parser as openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse_text
from promtool import promtool
from sample_facts import DRIFT, FILE, FULL, LEDGER, MINUTE, NOON, PROCESS, declared

from cronledger.adapters.observe.metrics import REMEMBERED, Renderer, render
from cronledger.core.catalogue import CATALOGUE, Source
from cronledger.core.exposition import Exposition, Form
from cronledger.core.samples import Sample, samples_of
from cronledger.core.snapshot import CounterReading, Facts, LedgerSnapshot, QueueFacts

Series = dict[tuple[str, tuple[tuple[str, str], ...]], float]

# The library left this one function untyped.
read_open: Callable[[str], Iterable[Family]] = openmetrics.text_string_to_metric_families


def read(exposition: Exposition) -> Series:
    """Every series of the text format by name and sorted labels."""
    return series_in(parse_text(exposition.body(Form.TEXT).decode()))


def series_in(families: Iterable[Family]) -> Series:
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in families
        for sample in family.samples
    }


def rendered(facts: Facts) -> Series:
    return read(Renderer().render(facts))


def names(series: Series) -> set[str]:
    """The families; a part of a histogram is the histogram."""
    return {family_of(name) for name, _ in series}


def family_of(name: str) -> str:
    whole = name.removesuffix("_bucket").removesuffix("_sum").removesuffix("_count")
    return whole if name not in CATALOGUE else name


def of(series: Series, name: str, **labels: str) -> float:
    return series[name, tuple(sorted(labels.items()))]


def test_every_family_of_the_catalogue_is_rendered_and_no_other() -> None:
    assert names(rendered(FULL)) == set(CATALOGUE)


def test_every_series_has_exactly_the_labels_of_the_catalogue() -> None:
    for name, labels in rendered(FULL):
        of_bucket = {"le"} if name.endswith("_bucket") else set()
        assert {label for label, _ in labels} - of_bucket == set(CATALOGUE[family_of(name)].labels)


def test_openmetrics_holds_the_same_series_as_the_text_format() -> None:
    exposition = Renderer().render(FULL)
    found = series_in(read_open(exposition.body(Form.OPENMETRICS).decode()))
    expected = read(exposition)
    assert found.keys() == expected.keys()
    assert all(
        found[key] == expected[key] or (math.isnan(found[key]) and math.isnan(expected[key]))
        for key in expected
    )


def test_promtool_finds_nothing_to_say_about_the_exposition() -> None:
    done = subprocess.run(
        [promtool(), "check", "metrics"],
        input=Renderer().render(FULL).body(Form.TEXT),
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_the_gzipped_form_is_the_plain_one() -> None:
    exposition = Renderer().render(FULL)
    for plain, gzipped in (
        (Form.TEXT, Form.TEXT_GZIP),
        (Form.OPENMETRICS, Form.OPENMETRICS_GZIP),
    ):
        assert gzip.decompress(exposition.body(gzipped)) == exposition.body(plain)


def test_the_same_facts_are_the_same_bytes() -> None:
    for form in Form:
        assert Renderer().render(FULL).body(form) == Renderer().render(FULL).body(form)


def test_obs50_no_created_series_doubles_the_counters() -> None:
    found = names(series_in(read_open(Renderer().render(FULL).body(Form.OPENMETRICS).decode())))
    assert "cronledger_jobs_created_total" in found
    assert not [name for name in found if name.endswith("_created")]


def test_instants_are_exported_as_timestamps_and_none_as_nan() -> None:
    series = rendered(FULL)
    eligible = of(series, "cronledger_queue_oldest_eligible_timestamp_seconds", queue="billing")
    assert eligible == (NOON - 7 * MINUTE).timestamp()
    assert math.isnan(
        of(series, "cronledger_queue_oldest_lease_timestamp_seconds", queue="billing")
    )


def test_a_missing_key_ages_as_the_oldest_unfinished() -> None:
    name = "cronledger_schedule_oldest_unfinished_timestamp_seconds"
    assert of(rendered(FULL), name, schedule="report") == (NOON - 180 * MINUTE).timestamp()
    without = rendered(replace(FULL, drift=()))
    assert of(without, name, schedule="report") == (NOON - 60 * MINUTE).timestamp()
    assert math.isnan(of(without, name, schedule="cleanup"))


def test_obs43_declared_label_sets_are_there_at_0_from_the_first_snapshot() -> None:
    series = rendered(Facts(PROCESS, FILE, LedgerSnapshot(NOON)))
    for state in CATALOGUE["cronledger_queue_jobs"].values["state"]:
        assert of(series, "cronledger_queue_jobs", queue="billing", state=state) == 0
    for kind in ("report.build", "cleanup"):
        for outcome in ("completed", "retry", "dead", "lease_expired"):
            labels = {"queue": "billing", "kind": kind, "outcome": outcome}
            assert of(series, "cronledger_attempts_total", **labels) == 0
    assert of(series, "cronledger_occurrences_expected_total", **{"class": "default"}) == 0
    labels = {"class": "default", "reason": "dst_gap"}
    assert of(series, "cronledger_occurrences_skipped_total", **labels) == 0


def test_ledger_counters_are_absent_until_the_ledger_was_read() -> None:
    found = names(rendered(Facts(PROCESS, FILE)))
    durable = {name for name, m in CATALOGUE.items() if m.source in {Source.LEDGER, Source.DB}}
    assert not durable & found


def test_a_counter_that_was_always_there_is_not_reset_by_a_restart() -> None:
    labels = {"queue": "billing", "kind": "report.build", "outcome": "retry"}
    assert of(rendered(FULL), "cronledger_attempts_total", **labels) == 7


def test_a_counter_met_later_is_born_at_0() -> None:
    renderer = Renderer()
    read(renderer.render(Facts(PROCESS, FILE)))
    read(renderer.render(FULL))
    late = CounterReading("cronledger_jobs_created_total", ("adhoc", "mail"), 5)
    facts = replace(FULL, ledger=replace(LEDGER, counters=(*LEDGER.counters, late)))
    labels = {"queue": "adhoc", "kind": "mail"}
    renderer.render(facts)  # nobody scrapes this one
    assert of(read(renderer.render(facts)), late.metric, **labels) == 0
    assert of(read(renderer.render(facts)), late.metric, **labels) == 5


def test_a_form_is_made_for_those_who_ask_and_prepared_if_they_did_lately() -> None:
    renderer, written = Renderer(), []
    first = renderer.render(FULL)
    assert first.asked == set()
    first.body(Form.OPENMETRICS_GZIP)
    for _ in range(REMEMBERED):
        exposition = renderer.render(FULL)
        written.append(set(exposition.prepared))
    assert written == [{Form.OPENMETRICS_GZIP}] * REMEMBERED
    assert renderer.render(FULL).prepared == set()


def test_obs41_a_schedule_that_left_the_file_vanishes_at_the_next_snapshot() -> None:
    renderer = Renderer()
    renderer.render(FULL)
    left = replace(FULL, file=replace(FILE, schedules=(declared("cleanup"),)))
    assert 'schedule="report"' in Renderer().render(FULL).body(Form.TEXT).decode()
    assert 'schedule="report"' not in renderer.render(left).body(Form.TEXT).decode()


def test_a_queue_that_only_the_ledger_knows_is_shown() -> None:
    ledger = replace(LEDGER, queues=(QueueFacts("adhoc", {}, claims_paused=True),))
    series = rendered(replace(FULL, ledger=ledger))
    assert of(series, "cronledger_queue_claims_paused", queue="adhoc") == 1
    assert of(series, "cronledger_queue_claims_paused", queue="billing") == 0


def test_a_database_that_was_not_asked_yet_is_neither_up_nor_down() -> None:
    for up, expected in ((True, 1.0), (False, 0.0)):
        series = rendered(replace(FULL, process=replace(PROCESS, database_up=up)))
        assert of(series, "cronledger_database_up") == expected
    unknown = rendered(replace(FULL, process=replace(PROCESS, database_up=None)))
    assert "cronledger_database_up" not in names(unknown)


def test_schedules_are_counted_by_state() -> None:
    series = rendered(FULL)
    counts = {s: of(series, "cronledger_schedules", state=s) for s in ("active", "paused", "ended")}
    assert counts == {"active": 1, "paused": 1, "ended": 1}
    assert of(series, "cronledger_schedule_paused", schedule="cleanup") == 1


def test_drift_of_a_schedule_that_is_not_in_the_file_is_left_out() -> None:
    stray = replace(DRIFT[0], schedule="gone")
    assert (
        'schedule="gone"'
        not in Renderer().render(replace(FULL, drift=(stray,))).body(Form.TEXT).decode()
    )


def test_a_family_that_is_not_catalogued_is_refused() -> None:
    with pytest.raises(AssertionError, match="cronledger_surprise is not in the catalogue"):
        render([Sample("cronledger_surprise", (), 1)])


def test_a_label_too_many_is_refused() -> None:
    with pytest.raises(AssertionError, match="cronledger_database_up takes"):
        render([Sample("cronledger_database_up", ("host",), 1)])


def test_a_series_that_comes_twice_is_refused() -> None:
    with pytest.raises(AssertionError, match="is there twice"):
        render([Sample("cronledger_database_up", (), 1)] * 2)


# The text is UTF-8: a lone surrogate cannot be written, and no database can hold one either.
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=40))
def test_any_label_value_comes_back_as_it_went_in(value: str) -> None:
    exposition = render([Sample("cronledger_jobs_created_total", ("q", value), 1)])
    text = exposition.body(Form.TEXT).decode()
    (sample,) = [s for f in parse_text(text) for s in f.samples]
    assert sample.labels == {"queue": "q", "kind": value}
    assert all(line.startswith(("#", "cronledger_")) for line in text.strip().split("\n"))


@pytest.mark.parametrize("span", [timedelta(0), timedelta(days=400), timedelta(milliseconds=1)])
def test_spans_are_exported_in_seconds(span: timedelta) -> None:
    series = rendered(replace(FULL, process=replace(PROCESS, reconcile_interval=span)))
    assert of(series, "cronledger_reconcile_interval_seconds") == span.total_seconds()


def test_samples_need_no_clock_and_come_once_each() -> None:
    keys = [(s.metric, s.labels) for s in samples_of(FULL)]
    assert len(keys) == len(set(keys))


@given(st.floats())
def test_any_value_comes_back_as_it_went_in(value: float) -> None:
    exposition = render([Sample("cronledger_clock_skew_seconds", (), value)])
    for families in (
        parse_text(exposition.body(Form.TEXT).decode()),
        read_open(exposition.body(Form.OPENMETRICS).decode()),
    ):
        (found,) = [s.value for f in families for s in f.samples]
        assert found == value or (math.isnan(found) and math.isnan(value))
