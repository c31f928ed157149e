"""`doctor` names what is wrong around the queue, and is silent about what is not."""

from __future__ import annotations

from datetime import timedelta

import psycopg
import pytest

from commands import Answer, Cli
from cronledger.adapters.postgres.session import statement
from cronledger.core.doctor import of_skew
from workbench import SessionFor, Workbench


@pytest.fixture
def bench(any_database: str, session_for: SessionFor) -> Workbench:
    return Workbench(any_database, session_for)


class Doctor:
    """The command, on one database."""

    def __init__(self, cli: Cli, dsn: str) -> None:
        self._cli, self._dsn = cli, dsn

    def __call__(self, *more: str) -> Answer:
        return self._cli("doctor", "--database", self._dsn, *more)

    def found(self) -> dict[str, str]:
        """Findings of the ledger itself: subject by finding. The server is others' as well."""
        rows = self("-o", "json").json["findings"]
        servers = ("long_transaction", "prepared_transaction", "replication_slot", "vacuum_off")
        return {r["finding"]: r["subject"] for r in rows if r["finding"] not in servers}


@pytest.fixture
def doctor(bench: Workbench, cli: Cli) -> Doctor:
    return Doctor(cli, bench.dsn)


def test_a_healthy_database_has_no_finding(bench: Workbench, doctor: Doctor) -> None:
    bench.enqueue(jobs=3)
    bench.claim()
    assert doctor.found() == {}


def test_q022_a_job_whose_executor_is_gone_is_named_with_worker_and_age(
    bench: Workbench, doctor: Doctor, cli: Cli
) -> None:
    (id_,) = bench.enqueue()
    bench.claim(1, "web-3:811")
    bench.rows(
        "update cronledger.lease set claimed_at = claimed_at - interval '1 hour',"
        " expires_at = cronledger.now() - interval '4 min' returning 1"
    )
    ran = doctor()
    assert ran.code == 1
    line = next(line for line in ran.out.splitlines() if line.startswith("lease_expired"))
    assert str(id_) in line
    assert "work of worker web-3:811: its lease ended 00:04:0" in line
    why = ("--actor", "mia", "--reason", "its machine is gone", "--database", bench.dsn)
    assert cli("jobs", "release", str(id_), *why).code == 0
    assert doctor.found() == {}


def test_a_version_that_no_worker_takes_is_named(bench: Workbench, doctor: Doctor) -> None:
    bench.enqueue(schema_version=2)
    bench.rows("update cronledger.ready set eligible_at = eligible_at - interval '2 h' returning 1")
    assert doctor.found() == {"never_claimed": "default"}
    assert "1 jobs of kind work, version 2" in doctor().out
    bench.rows(
        "select cronledger.pause_queue('default', null, 'mia', 'the new worker comes tomorrow')"
    )
    assert doctor.found() == {"queue_paused": "default"}


def test_who_pins_the_horizon_is_named(bench: Workbench) -> None:
    with psycopg.connect(bench.dsn, application_name="monthly-report") as reader:
        reader.execute("set transaction isolation level repeatable read")
        reader.execute("select count(*) from cronledger.job")
        pid = reader.info.backend_pid
        # Ten minutes do not pass here: the test looks through the statement with a nearer limit.
        text = statement("doctor").as_string().replace("interval '10 min'", "interval '0 s'")
        with psycopg.connect(bench.dsn) as looker:
            rows = {row[1]: row[2] for row in looker.execute(text.encode(), {})}
    assert rows[f"pid {pid}"].startswith("monthly-report of ")


def test_settings_that_somebody_removed_are_named(bench: Workbench, doctor: Doctor) -> None:
    bench.session.script("alter table cronledger.lease reset (autovacuum_vacuum_scale_factor)")
    assert doctor.found() == {"vacuum_settings": "lease"}
    said = doctor("-o", "json").json["findings"][0]["detail"]
    bench.session.script(said.split("`")[1])
    assert doctor.found() == {}


def test_a_ledger_that_nobody_keeps_is_named(bench: Workbench, doctor: Doctor, cli: Cli) -> None:
    bench.session.script(
        "update cronledger.ledger set reconciled_at = cronledger.now() - interval '1 day'"
    )
    bench.session.script(
        "do $$ declare one text; begin for one in select relname from pg_class"
        " where relname ~ '^job_[0-9]{6}$' loop execute 'drop table cronledger.' || one;"
        " end loop; end $$"
    )
    assert set(doctor.found()) == {"no_reconcile", "no_day_ahead"}
    assert cli("prune", "--apply", "--database", bench.dsn).code == 0
    assert set(doctor.found()) == {"no_reconcile"}


@pytest.mark.parametrize(("seconds", "said"), [(-6, "6.0 s behind"), (7.25, "7.2 s ahead of")])
def test_q081_a_clock_that_differs_is_named(seconds: float, said: str) -> None:
    (ailment,) = of_skew(timedelta(seconds=seconds))
    assert said in ailment.detail
    assert of_skew(timedelta(seconds=4)) == of_skew(timedelta(seconds=-4)) == []
