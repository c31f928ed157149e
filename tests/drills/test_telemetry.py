"""Traces and metrics over OTLP from real processes to a collector that is there, or is not."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from time import monotonic

import jsonschema
import psycopg
import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from collectors import Collector, attributes, collecting
from commands import PROGRAM, Answer, environment, process, until
from cronledger import JobSpec, enqueue_once
from cronledger.adapters.observe.log_schema import log_schema
from cronledger.core.catalogue import CATALOGUE
from ledgers import file_text
from sidecars import Running

SECONDLY = "s: cron: {expr: '* * * * * *', fields: 6s}, job: {kind: child, payload: {c: canary-1}}"
CREATOR = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.fixture
def collector() -> Iterator[Collector]:
    with collecting() as made:
        yield made


@pytest.fixture
def nobody() -> str:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{taken.getsockname()[1]}"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "schedules.yaml"
    path.write_text(file_text(SECONDLY), encoding="utf-8")
    return path


def work(database: str, **variables: str) -> Answer:
    """A real worker over what is eligible, to its end."""
    folder = str(Path(__file__).parent)
    arguments = ("work", "--app", "telemetry_app:app", "--until-idle", "--database", database)
    return process(*arguments, PYTHONPATH=folder, DRILL_DSN=database, **variables)


def enqueue(database: str, kind: str, headers: dict[str, str] | None = None) -> int:
    with psycopg.connect(database) as connection:
        connection.execute(
            "insert into cronledger.queue (name) values ('default') on conflict do nothing"
        )
        payload = {"card": "canary-payload"}
        return enqueue_once(
            connection, "key-1", JobSpec(kind, payload=payload), headers=headers
        ).job_id


def hexes(span: Span) -> tuple[str, str]:
    return span.trace_id.hex(), span.span_id.hex()


def test_obs62_each_attempt_is_a_root_of_its_own_linked_to_the_creator_in_the_headers(
    database: str, collector: Collector
) -> None:
    job_id = enqueue(database, "fragile", {"traceparent": CREATOR})
    answer = work(database, **collector.variables)
    assert answer.code == 0, answer.err
    first, second = collector.named("process default", 2)
    for number, span in enumerate((first, second), 1):
        assert span.parent_span_id == b""
        assert [(link.trace_id.hex(), link.span_id.hex()) for link in span.links] == [
            ("0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331")
        ]
        assert span.kind == Span.SPAN_KIND_CONSUMER
        said = attributes(span)
        assert said.pop("cronledger.outcome") == ("retrying", "completed")[number - 1]
        assert said.pop("error.type", None) == ("retry", None)[number - 1]
        assert said == {
            "messaging.system": "cronledger",
            "messaging.operation.name": "process",
            "messaging.operation.type": "process",
            "messaging.destination.name": "default",
            "messaging.message.id": str(job_id),
            "cronledger.key": "key-1",
            "cronledger.kind": "fragile",
            "cronledger.attempt": number,
        }
    assert first.trace_id != second.trace_id
    assert first.status.code == Status.STATUS_CODE_ERROR
    assert first.status.message == ""
    assert second.status.code == Status.STATUS_CODE_UNSET
    assert b"canary" not in collector.bodies
    lines = [json.loads(line) for line in answer.err.splitlines()]
    for line in lines:
        jsonschema.validate(line, log_schema())
    assert len({x["worker"] for x in lines}) == 1
    ids = [(x["trace_id"], x["span_id"]) for x in lines if x["event"] == "attempt"]
    assert ids == [hexes(first), hexes(second)]


def test_a_handlers_own_spans_and_jobs_belong_to_its_attempt(
    database: str, collector: Collector
) -> None:
    enqueue(database, "parent")
    assert work(database, **collector.variables).code == 0
    attempts = collector.named("process default", 2)
    parent, child = sorted(attempts, key=lambda span: span.start_time_unix_nano)
    [theirs] = collector.named("their own work")
    assert (theirs.trace_id, theirs.parent_span_id) == (parent.trace_id, parent.span_id)
    assert parent.links == []
    assert [(link.trace_id, link.span_id) for link in child.links] == [
        (theirs.trace_id, theirs.span_id)
    ]
    [resource] = {tuple(sorted(r.items())) for r in collector.resources}
    assert dict(resource)["service.name"] == "cronledger"


def test_a_sidecars_jobs_are_linked_to_the_tick_that_enqueued_them(
    database: str, collector: Collector, file: Path
) -> None:
    running = Running(file, database, trusting=True, **collector.variables)
    try:
        running.serves()
        sent = collector.wait(lambda: [s for s in collector.spans if s.name == "send default"])[0]
        [reconcile, *_] = collector.named("reconcile")
        ticks = collector.named("tick")
        until(lambda: work(database, **collector.variables).code == 0, "one worked")
        linked = collector.wait(
            lambda: [s for s in collector.spans if s.links and s.name == "process default"]
        )
    finally:
        assert running.end() == 0
    ticks = collector.named("tick")
    sends = {hexes(span): span for span in collector.named("send default")}
    assert hexes(sent)[0] in {hexes(tick)[0] for tick in ticks}
    assert sent.parent_span_id in {tick.span_id for tick in ticks}
    assert sent.kind == Span.SPAN_KIND_PRODUCER
    assert attributes(sent)["messaging.batch.message_count"] == 1
    assert all(
        (link.trace_id.hex(), link.span_id.hex()) in sends for s in linked for link in s.links
    )
    assert attributes(reconcile) == {
        "cronledger.missing": 0,
        "cronledger.unexpected": 0,
        "cronledger.orphaned": 0,
    }
    assert collector.paths == {"/v1/traces", "/v1/metrics"}  # OBS60
    assert b"canary" not in collector.bodies
    lines = [json.loads(line) for line in running.said if line.startswith("{")]
    for line in lines:
        jsonschema.validate(line, log_schema())
    assert {"sidecar_started", "enqueued", "reconciled"} <= {line["event"] for line in lines}


def test_a_run_by_hand_carries_the_context_of_its_command(
    database: str, collector: Collector, file: Path
) -> None:
    words = ("--reason", "a drill of traces", "--database", database)
    assert process("tick", file, "--database", database).code == 0
    answer = process("trigger", file, "s", *words, **collector.variables)
    assert answer.code == 0, answer.err
    [sent] = collector.named("send default")
    [command] = collector.named("trigger")
    assert sent.parent_span_id == command.span_id
    with psycopg.connect(database) as connection:
        found = connection.execute("select headers from cronledger.job where headers is not null")
        [(headers,)] = found.fetchall()
    assert headers.keys() == {"traceparent"}
    assert headers["traceparent"].rpartition("-")[0] == "-".join(("00", *hexes(sent)))


def whole(name: str) -> str:
    """The family that a part of a histogram belongs to."""
    family = re.sub("_(bucket|sum|count)$", "", name)
    return family if family in CATALOGUE and CATALOGUE[family].bounds else name


def test_metrics_are_those_that_the_endpoint_serves(
    database: str, collector: Collector, file: Path
) -> None:
    only_metrics = {"OTEL_TRACES_EXPORTER": "none"}
    running = Running(file, database, trusting=True, **collector.variables, **only_metrics)
    try:
        running.serves()
        collector.wait(lambda: any(m.name == "cronledger.queue_jobs" for m in collector.metrics))
        text = running.get("/metrics").text
    finally:
        assert running.end() == 0
    sent = {}
    for metric in collector.metrics:
        kind = metric.WhichOneof("data")
        suffix = ("_seconds" if metric.unit == "s" else "") + ("_total" if kind == "sum" else "")
        sent[metric.name.replace(".", "_") + suffix] = metric
    served = [
        (whole(name), value)
        for name, value in re.findall(r"^(\w+?)(?:{.*})? (\S+)$", text, re.MULTILINE)
    ]
    # What is unknown (NaN) is not sent; what became known since the scrape is.
    assert {name for name, value in served if value != "NaN"} <= set(sent)
    assert set(sent) <= {name for name, _ in served}
    jobs = sent["cronledger_queue_jobs"].gauge.data_points
    assert {tuple(a.value.string_value for a in p.attributes) for p in jobs} >= {
        ("default", "eligible"),
        ("default", "leased"),
    }
    [measured] = [
        point
        for point in sent["cronledger_reconcile_duration_seconds"].histogram.data_points
        if {a.value.string_value for a in point.attributes} == {"measure"}
    ]
    assert len(measured.bucket_counts) == len(measured.explicit_bounds) + 1
    assert sum(measured.bucket_counts) == measured.count
    assert not measured.HasField("max")
    durable = sent["cronledger_jobs_created_total"].sum
    assert durable.is_monotonic
    assert durable.data_points[0].start_time_unix_nano == 0
    assert sent["cronledger_reconcile_runs_total"].sum.data_points[0].start_time_unix_nano > 0
    assert collector.paths == {"/v1/metrics"}


def test_obs61_a_command_ends_as_ever_when_the_collector_does_not_answer(
    database: str, collector: Collector, file: Path
) -> None:
    collector.silent = True
    plain = process("tick", file, "--database", database)
    began = monotonic()
    traced = process("tick", file, "--database", database, **collector.variables)
    assert monotonic() - began < 5 + 10  # the flush, and a start on a busy machine
    assert collector.asked
    assert plain.err == "opened a version of s\n"
    assert (traced.code, traced.err) == (plain.code, "")
    assert re.match(r"enqueued \d+ occurrences?$", traced.out.splitlines()[0])


def test_obs61_attempts_go_on_when_there_is_no_collector(database: str, nobody: str) -> None:
    enqueue(database, "fragile")
    variables = {"OTEL_EXPORTER_OTLP_ENDPOINT": nobody, "OTEL_BSP_SCHEDULE_DELAY": "50"}
    began = monotonic()
    answer = work(database, **variables)
    assert monotonic() - began < 5 + 10
    assert answer.code == 0, answer.err
    lines = [json.loads(line) for line in answer.err.splitlines()]
    ended = [x["outcome"] for x in lines if x["event"] == "attempt"]
    assert ended == ["retrying", "completed"]


def test_refusals_are_said_once_with_a_reason_and_so_is_their_end(
    database: str, collector: Collector, file: Path
) -> None:
    collector.refusing = True
    secret = {"OTEL_EXPORTER_OTLP_HEADERS": "api-key=canary-secret"}
    running = Running(file, database, trusting=True, **collector.variables, **secret)
    try:
        running.serves()
        collector.wait(lambda: collector.refused > 8)
        collector.refusing = False
        running.hears('"event": "telemetry_sent"')
        running.hears('"event": "telemetry_sent"')
        assert "cronledger_" in running.get("/metrics").text
    finally:
        assert running.end() == 0
    lines = [json.loads(line) for line in running.said if '"telemetry_' in line]
    failed = [line for line in lines if line["event"] == "telemetry_failed"]
    assert sorted(line["signal"] for line in failed) == ["metrics", "traces"]
    assert {line["reason"] for line in failed} == {"the answer was status 400"}
    sent = [line for line in lines if line["event"] == "telemetry_sent"]
    assert sum(line["failures_before"] for line in sent) == collector.refused
    assert "canary" not in "".join(running.said)


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, "OTLP over grpc is not offered"),
        ({"OTEL_METRIC_EXPORT_INTERVAL": "soon"}, "cannot be used"),
        ({"OTEL_SDK_DISABLED": "true"}, ""),
        ({"OTEL_TRACES_EXPORTER": "none", "OTEL_METRICS_EXPORTER": "none"}, ""),
    ],
)
def test_what_cannot_be_told_is_said_and_the_work_is_done(
    variables: dict[str, str], said: str, database: str, collector: Collector
) -> None:
    enqueue(database, "child")
    answer = work(database, **collector.variables | variables)
    assert answer.code == 0, answer.err
    lines = [json.loads(line) for line in answer.err.splitlines()]
    assert [x["outcome"] for x in lines if x["event"] == "attempt"] == ["completed"]
    reasons = [x["reason"] for x in lines if x["event"] == "telemetry_failed"]
    assert (said in reasons[0]) if said else reasons == []
    assert collector.spans == []


def test_without_the_extra_that_is_said_and_the_work_is_done(
    database: str, collector: Collector, file: Path, tmp_path: Path
) -> None:
    (tmp_path / "opentelemetry.py").write_text("raise ImportError", encoding="utf-8")
    words = ("tick", file, "--database", database)
    answer = process(*words, PYTHONPATH=str(tmp_path), **collector.variables)
    assert answer.code == 0, answer.err
    assert answer.out.startswith("enqueued ")
    [line] = [json.loads(line) for line in answer.err.splitlines() if line.startswith("{")]
    assert line["reason"] == "opentelemetry is not installed; install cronledger[otel]"


def test_a_stop_signal_is_heard_by_the_worker_and_not_by_a_thread_of_the_sdk(
    database: str, collector: Collector
) -> None:
    enqueue(database, "child")
    folder = str(Path(__file__).parent)
    running = subprocess.Popen(
        [*PROGRAM, "work", "--app", "telemetry_app:app", "--database", database],
        stderr=subprocess.PIPE,
        text=True,
        env=environment(PYTHONPATH=folder, **collector.variables),
    )
    try:
        collector.named("process default")
    finally:
        running.send_signal(signal.SIGTERM)
        _, said = running.communicate(timeout=20)
    assert running.returncode == 0, said


WITHOUT = """
import sys
from cronledger import processes
from cronledger.cli.app import run
code = run(sys.argv[1:])
print([m for m in sys.modules if m.startswith(("opentelemetry", "requests", "google"))], code)
"""


@pytest.mark.parametrize("arguments", [("--help",), ("tick", "FILE", "--database", "DB")])
def test_nothing_of_opentelemetry_is_imported_unless_it_is_asked_for(
    arguments: tuple[str, ...], database: str, file: Path
) -> None:
    words = [{"FILE": str(file), "DB": database}.get(word, word) for word in arguments]
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, *words],
        capture_output=True,
        text=True,
        check=True,
        env=environment(),
    )
    assert done.stdout.splitlines()[-1] == "[] 0"
