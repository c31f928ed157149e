"""When a job was due and whose run it is: carried along, and measured, wherever it waits."""

from __future__ import annotations

import re
from datetime import timedelta
from importlib.resources import files

import pytest

from cronledger.adapters.postgres.controls import PostgresControls
from cronledger.adapters.postgres.snapshot import PostgresMeasured
from cronledger.core.audit import By
from cronledger.core.lifecycle import Failure
from cronledger.core.snapshot import ScheduleFacts
from workbench import EPOCH, WRONG_COPIES, SessionFor, Workbench

BY = By("mia", "it has to run")
BOOM = Failure("Boom", "it broke")


def measured(bench: Workbench) -> ScheduleFacts:
    (facts,) = PostgresMeasured(bench.session).snapshot().schedules
    return facts


def test_the_due_time_goes_with_a_job_through_every_state(
    database: str, session_for: SessionFor
) -> None:
    bench = Workbench(database, session_for)
    controls = PostgresControls(bench.session)
    (id_,) = bench.enqueue(max_attempts=2)

    def waits_as(state: str) -> None:
        assert bench.states([id_]) == [state]
        assert bench.rows(WRONG_COPIES) == []
        assert measured(bench).oldest_unfinished == EPOCH

    waits_as("eligible")
    (lease,) = bench.claim()
    waits_as("leased")
    bench.queue.release([lease])
    waits_as("eligible")
    (lease,) = bench.claim()
    assert bench.queue.fail(lease, BOOM) == "retrying"
    waits_as("retrying")
    assert controls.retry_now(id_, BY) == "eligible"
    waits_as("eligible")
    (lease,) = bench.claim()
    assert bench.queue.fail(lease, BOOM) == "dead"
    assert measured(bench).oldest_unfinished is None
    assert controls.replay(id_, None, BY) == "eligible"
    waits_as("eligible")
    assert bench.another(timedelta(hours=2)).claim(["default"], ["work"], 1, "gone")
    assert bench.another(timedelta(days=2)).rescue(10) == 1
    assert bench.rows(WRONG_COPIES) == []


def test_a_run_by_hand_and_a_job_of_no_schedule_are_due_when_they_may_run(
    database: str, session_for: SessionFor
) -> None:
    bench = Workbench(database, session_for)
    bench.rows(
        "select cronledger.enqueue_by_hand(s.id, 'bench!1', 'default', 'work', '{}', 0, null, null,"
        " 1, null) from cronledger.schedule s"
    )
    bench.rows(
        "select * from cronledger.enqueue_once('default', 'work', '{now,later}', '{\"{}\",\"{}\"}',"
        " array[null, now() + interval '1 hour'])"
    )
    assert bench.rows(WRONG_COPIES) == []
    found = measured(bench)
    assert found.oldest_unfinished is not None, "whoever waits for a run by hand sees it age"
    assert found.last_recorded is None, "but it is no occurrence"


def test_the_newest_record_is_the_newest_whatever_was_recorded_last(
    database: str, session_for: SessionFor
) -> None:
    bench = Workbench(database, session_for)
    folder = PostgresMeasured(bench.session)
    assert measured(bench).last_recorded is None
    bench.enqueue(jobs=3)
    newest = EPOCH + timedelta(minutes=2)
    assert measured(bench).last_recorded == newest, "before it is folded"
    folder.fold_counters()
    assert bench.rows("select * from cronledger.newest_delta") == []
    assert measured(bench).last_recorded == newest
    # What is filled in afterwards is older: unfolded and folded, it takes nothing back.
    bench.rows("insert into cronledger.newest_delta select id, %(at)s from cronledger.schedule"
               " returning 1", at=EPOCH)  # fmt: skip
    assert measured(bench).last_recorded == newest
    folder.fold_counters()
    assert measured(bench).last_recorded == newest


def test_who_reads_again_and_again_sees_what_has_changed(
    database: str, session_for: SessionFor
) -> None:
    bench = Workbench(database, session_for)
    reader = PostgresMeasured(bench.session)
    bench.enqueue(jobs=2)
    for finished in range(2):
        (facts,) = reader.snapshot().schedules
        assert facts.oldest_unfinished == EPOCH + timedelta(minutes=finished)
        assert (facts.last_success is None) == (finished == 0)
        bench.queue.complete(bench.claim())
        assert reader.snapshot().schedules == PostgresMeasured(bench.session).snapshot().schedules
    bench.rows(
        "insert into cronledger.schedule (name, loaded_at, decided_to)"
        " values ('another', now(), now()) returning 1"
    )
    assert [facts.schedule for facts in reader.snapshot().schedules] == ["bench", "another"]
    assert reader.snapshot().schedules[0].oldest_unfinished is None


HOT = {"ready", "deferred", "lease", "dead", "queue", "schedule", "retry_window", "ledger"}
SUMS = {"newest", "newest_delta", "success", "success_delta", "stat", "stat_delta"}


@pytest.mark.parametrize("name", ["queues", "schedules", "counters", "kinds", "ledger"])
def test_a_reading_looks_at_no_table_that_grows_with_history(
    database: str, session_for: SessionFor, name: str
) -> None:
    bench = Workbench(database, session_for)
    asked = {"now": EPOCH, "by_kind": ["m"], "kinds": ["k"], "other": "o", "limit": 9}
    text = files("cronledger.adapters.postgres").joinpath("sql", f"snapshot_{name}.sql").read_text()
    ((plan,),) = (row.values() for row in bench.rows("explain (format json)\n" + text, **asked))
    read = set(re.findall(r"'Relation Name': '(\w+)'", str(plan)))
    assert read
    assert read <= HOT | SUMS
