"""A real Prometheus over two sidecars and a worker, through what goes wrong at night.

Time in rules and alerts goes thirty times as fast, throughout: their 30 s are one second.
"""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from commands import PROGRAM, environment, process, until
from cronledger.adapters.postgres import migrate
from cronledger.adapters.postgres.embedded import EmbeddedServer
from cronledger.adapters.postgres.session import Session
from prometheus import ROOT, Prometheus, expression, prometheus
from sidecars import Running

BY = 30
# The objective is longer than nobody leads after a kill (five times the measuring, at worst):
# meanwhile what waited at the last reading seems to go on waiting.
FILE = """\
version: 1
queues:
  default: {objective: PT8S, backoff: {base: PT1S, cap: PT1S}}
schedules:
  often: {cron: {expr: '* * * * * *', fields: 6s}, catchup: {policy: all}, job: {kind: k}}
  once:
    cron: {expr: '*/5 * * * * *', fields: 6s}
    deadline: PT2S
    grace: PT3S
    catchup: {policy: none}
    job: {kind: k}
"""
# The defaults of `run`, as much faster; no option takes the half second of measuring.
PACE = ("--reconcile-every", "2s", "--measure-every", "1s")
TOO_OLD, MISSING = "CronledgerQueueOldestEligibleTooOld", "CronledgerOccurrenceMissing"
UNREACHABLE = "CronledgerDatabaseUnreachable"
# Panels of what does not happen in this night.
NEVER = {
    "queues: Lease past its end and not taken back": "whoever claims next takes it back",
    "queues: Oldest dead letter that nobody dealt with": "every job succeeds in the end",
    "reconcile: Unexpected records": "nobody records what is not owed",
}
# Panels of what is there by turns while all is well.
SELDOM = {
    "overview: Oldest unfinished age by schedule": "all is finished in between",
    "overview: Schedules by objective used": "all is finished in between",
    "schedule: Age of the oldest unfinished occurrence, against its objective": "likewise",
    "schedule: Objective used": "likewise",
    "overview: Oldest eligible age by queue, against its objective": "nothing waits in between",
    "queues: Oldest eligible job, against its objective": "likewise",
    "overview: Schedules with missing occurrences": "nothing is missing",
    "reconcile: Oldest gap by schedule": "nothing is missing",
}


@dataclass
class Night:
    """Everything that runs, and what is done to it."""

    server: EmbeddedServer
    file: Path
    sidecars: list[Running] = field(default_factory=list)
    worker: subprocess.Popen[bytes] | None = None

    @property
    def database(self) -> str:
        return self.server.dsn()

    def work(self) -> None:
        """Start a worker."""
        self.worker = subprocess.Popen(
            [*PROGRAM, "work", "--app", "live_app:app", "--poll", "1s",
             "--database", self.database],
            cwd=Path(__file__).parent, env=environment(), stderr=subprocess.DEVNULL,
        )  # fmt: skip

    def stop_work(self) -> None:
        """Kill it."""
        if self.worker is not None:
            self.worker.kill()
            self.worker.wait()

    def sql(self, text: str) -> list[dict[str, Any]]:
        """Rows, on a connection that is closed again."""
        session = Session(self.database, "tests")
        try:
            return session.script(text)
        finally:
            session.close()


@pytest.fixture
def night(tmp_path: Path) -> Iterator[Night]:
    """Two sidecars and a worker over a server of their own."""
    with TemporaryDirectory(prefix="cl-live-") as name, ExitStack() as ending:
        Path(name).chmod(0o755)
        server = EmbeddedServer(Path(name) / "pg")
        server.start()
        ending.callback(server.leave)
        session = Session(server.dsn(), "tests")
        migrate.migrate(session)
        session.close()
        file = tmp_path / "schedules.yaml"
        file.write_text(FILE, encoding="utf-8")
        made = Night(server, file)
        ending.callback(made.stop_work)
        for _ in range(2):
            made.sidecars.append(Running(file, made.database, *PACE))
            ending.callback(made.sidecars[-1].end, signal.SIGKILL)
            made.sidecars[-1].serves()
        made.work()
        yield made


def test_a_night(night: Night, tmp_path: Path) -> None:
    targets = [sidecar.address.removeprefix("http://") for sidecar in night.sidecars]
    with prometheus(tmp_path, targets, BY) as seen:
        all_is_well(seen)
        workers_stop_and_return(night, seen)
        an_occurrence_is_lost(night, seen)
        a_sidecar_is_killed(night, seen)
        the_gap_is_filled(night, seen)
        # What shows trouble has data while there is some.
        assert without_data(seen, "count_over_time(({})[3m:1s])") == set(NEVER)


@pytest.mark.slow  # with the other one, over 90 s of wall time
def test_a_night_without_a_database(night: Night, tmp_path: Path) -> None:
    targets = [sidecar.address.removeprefix("http://") for sidecar in night.sidecars]
    with prometheus(tmp_path, targets, BY) as seen:
        all_is_well(seen)
        an_occurrence_is_lost(night, seen)
        the_database_stops_and_starts(night, seen)
        the_gap_is_filled(night, seen)


def all_is_well(seen: Prometheus) -> None:
    done = 'sum(increase(cronledger_jobs_finished_total{outcome="completed"}[10s])) > 5'
    until(lambda: seen.query(done), "jobs are completed", 40)
    until(lambda: not seen.firing(), "nothing fires", 40)
    may_be_empty = {*NEVER, *SELDOM}
    until(lambda: without_data(seen, "{}") <= may_be_empty, "panels have data", 40)


def workers_stop_and_return(night: Night, seen: Prometheus) -> None:
    night.stop_work()
    until(lambda: TOO_OLD in seen.firing(), "the age of the oldest job alerts", 40)
    night.work()
    until(lambda: TOO_OLD not in seen.firing(), "and is over", 60)


def an_occurrence_is_lost(night: Night, seen: Prometheus) -> None:
    lost = (
        "delete from cronledger.occurrence where (schedule_id, logical_time) in ("
        " select o.schedule_id, o.logical_time from cronledger.occurrence o"
        " join cronledger.schedule s on s.id = o.schedule_id"
        " where s.name = 'once' and o.logical_time < now() - interval '10 s'"
        " order by o.logical_time desc limit 1) returning logical_time"
    )
    until(lambda: night.sql(lost), "there is one to lose", 40)
    until(lambda: MISSING in seen.firing(), "what nobody recorded alerts", 40)
    assert seen.firing() == {MISSING}


def a_sidecar_is_killed(night: Night, seen: Prometheus) -> None:
    """Nothing fires, and nothing is about to once another one leads."""
    since = seen.now()
    (leader,) = [s for s in night.sidecars if s.metric("cronledger_leader") == 1]
    leader.end(signal.SIGKILL)
    night.sidecars.remove(leader)
    until(lambda: seen.query("count(up == 0) == 1"), "Prometheus misses it")
    until(lambda: night.sidecars[0].metric("cronledger_leader") == 1, "the other one leads")
    until(lambda: not seen.pending(), "no alert is waiting for its `for` to pass", 40)
    assert seen.firing() == {MISSING}
    assert seen.fired_ever(since) == {MISSING}
    assert all(seen.fired(MISSING, since, seen.now()))


def the_database_stops_and_starts(night: Night, seen: Prometheus) -> None:
    """Five minutes, thirty times as fast. Nothing resolves meanwhile, and nobody is restarted."""
    since = seen.now()
    night.server.leave()
    until(lambda: UNREACHABLE in seen.firing(), "the database is missed", 40)
    until(lambda: seen.now() > since + 300 / BY, "five minutes have passed", 40)
    assert seen.firing() >= {MISSING, UNREACHABLE}
    night.server.start()
    until(lambda: UNREACHABLE not in seen.firing(), "it is back", 60)
    assert all(seen.fired(MISSING, since, seen.now()))
    back = seen.now()
    done = 'min(increase(cronledger_jobs_finished_total{outcome="completed"}[5s])) > 0'
    until(lambda: seen.now() > back + 6 and seen.query(done), "jobs are completed again", 60)
    assert night.worker is not None
    assert night.worker.poll() is None


def the_gap_is_filled(night: Night, seen: Prometheus) -> None:
    asked = ("backfill", night.file, "once", "--since", "1h", "--database", night.database)
    done = process(*asked, "--apply", "--reason", "the night of the drill", "-o", "json")
    assert (done.code, done.json["written"]) == (0, 1), done.err
    until(lambda: not seen.firing(), "all is well again", 60)


def without_data(seen: Prometheus, asked: str) -> set[str]:
    """The panels with a query that has no data, if it is asked for within `asked`."""
    return {
        f"{board}: {title}" for board, title, expr in panels() if not seen.query(asked.format(expr))
    }


def panels() -> Iterator[tuple[str, str, str]]:
    """Board, title and query of every panel, with the variables as somebody would set them."""
    for file in sorted((ROOT / "dashboards").glob("*.json")):
        board = json.loads(file.read_text("utf-8"))
        for panel in every(board["panels"]):
            for target in panel.get("targets", ()):
                expr = target["expr"].replace("$__rate_interval", "1m").replace("$__range", "1m")
                expr = expr.replace('=~"$job"', '=~"cronledger"')
                for name in ("queue", "schedule"):
                    expr = expr.replace(f'=~"${name}"', '=~".+"').replace(f'"${name}"', '"often"')
                yield file.stem, panel["title"], expr


def every(panels: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for panel in panels:
        yield panel
        yield from every(panel.get("panels", []))


@pytest.mark.parametrize(
    ("expr", "faster"),
    [
        ("x[15m] > 300", "x[30000ms] > 10"),
        ("x > 3 * 86400 and y offset 15m", "x > 3 * 2880 and y offset 30000ms"),
        ("a + 60", "a + 2"),
        ('q:r:increase15m{c="30"} > 2', 'q:r:increase15m{c="30"} > 2'),
        ("abs(x) > 2 and y < 900", "abs(x) > 2 and y < 30"),
    ],
)
def test_time_goes_faster_and_nothing_else(expr: str, faster: str) -> None:
    assert expression(expr, BY) == faster
