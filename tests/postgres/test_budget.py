"""The retry budget: exact under concurrency, for a queue and for all of them, in both modes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from threading import Barrier, Thread

from cronledger.adapters.postgres.session import Session
from cronledger.core.lifecycle import Failure, Settlement
from cronledger.core.schedule import BudgetMode
from ledgers import World
from workbench import Workbench

DENIED = "cronledger_retry_budget_denied_total"


def still(bench: Workbench) -> None:
    """Let the clock of this session stand in the middle of a minute."""
    bench.rows("select set_config('cronledger.test_now', '2030-03-01T12:00:30Z', false)")


def fail_all(bench: Workbench, jobs: int) -> list[str]:
    bench.enqueue(jobs=jobs)
    leases = bench.claim(jobs)
    return [bench.queue.fail(lease, Failure("Boom", "it broke")) for lease in leases]


def test_retries_beyond_the_budget_wait_for_the_next_minute(bench: Workbench) -> None:
    still(bench)
    bench.line(retry_budget=3)
    assert fail_all(bench, 5) == ["retrying"] * 5
    rows = bench.rows(
        "select eligible_at >= '2030-03-01T12:01:00Z' and eligible_at < '2030-03-01T12:02:00Z'"
        " as later from cronledger.deferred order by eligible_at"
    )
    assert [row["later"] for row in rows] == [False] * 3 + [True] * 2
    assert bench.counted(DENIED) == {("default",): 2}


def test_in_the_other_mode_a_retry_beyond_the_budget_is_dead(bench: Workbench) -> None:
    still(bench)
    bench.line(retry_budget=3, budget_mode=BudgetMode.DEAD)
    assert sorted(fail_all(bench, 5)) == ["dead"] * 2 + ["retrying"] * 3
    rows = bench.rows("select error_class, error from cronledger.dead")
    assert {tuple(row.values()) for row in rows} == {("retry_budget_exhausted", "Boom: it broke")}


def test_the_budget_is_new_with_each_minute(bench: Workbench) -> None:
    still(bench)
    bench.line(retry_budget=1, budget_mode=BudgetMode.DEAD)
    assert fail_all(bench, 2).count("dead") == 1
    bench.rows("select set_config('cronledger.test_now', '2030-03-01T12:01:00Z', false)")
    assert fail_all(bench, 1) == ["retrying"]


def test_a_failure_that_is_no_retry_costs_nothing(bench: Workbench) -> None:
    still(bench)
    bench.line(retry_budget=0, budget_mode=BudgetMode.DEAD)
    bench.enqueue(jobs=2)
    first, second = bench.claim(2)
    assert bench.queue.fail(first, Failure("Boom", "never", retryable=False)) == "dead"
    assert bench.queue.complete([second]) == {second.token}
    assert bench.counted(DENIED) == {}


def test_q018_a_crash_loop_is_charged_like_any_retry_and_ends(bench: Workbench) -> None:
    bench.line(max_attempts=2, retry_budget=1, budget_mode=BudgetMode.DEAD)
    (id_,) = bench.enqueue(max_attempts=2)
    for state in ("retrying", "dead"):
        bench.claim()
        assert bench.another(timedelta(hours=2)).rescue(10) == 1
        assert bench.states([id_]) == [state]
        bench.rows("update cronledger.deferred set eligible_at = cronledger.now() returning 1")
    (row,) = bench.rows("select sum(used)::int as used from cronledger.retry_window")
    assert row["used"] == 1


def test_the_budget_of_all_queues_bounds_them_together(world: World) -> None:
    job = "job: {{kind: k, queue: {0}}}"
    lines = [f"{name}: cron: '* * * * *', {job.format(name)}" for name in ("a", "b")]
    top = "retry_budget: 3\nbudget_mode: dead\n"
    queues = "queues: {a: {retry_budget: 2, budget_mode: dead}}\n"
    world.at("2030-03-01T12:00:30").load(*lines, queues=top + queues)
    settled = []
    for queue in ("a", "b"):
        for number in range(3):
            made = world.sql(
                "select e.job_id from cronledger.enqueue_once(%(q)s, 'k', array[%(key)s],"
                " array['{}']::jsonb[], array[null]::timestamptz[]) e",
                q=queue,
                key=f"{queue}-{number}",
            )
            assert len(made) == 1
        for lease in world.sql(
            "select * from cronledger.claim(array[%(q)s], array['k'], 9, 'w')", q=queue
        ):
            (row,) = world.sql(
                "select cronledger.fail(%(id)s, %(t)s, 'Boom', 'it broke') as settled",
                id=lease["job_id"],
                t=lease["token"],
            )
            settled.append(f"{queue} {row['settled']}")
    assert settled == ["a retrying"] * 2 + ["a dead"] + ["b retrying"] + ["b dead"] * 2


def test_workers_that_fail_at_once_get_exactly_the_budget(
    bench: Workbench, session_for: Callable[..., Session]
) -> None:
    workers, each, budget = 6, 20, 25
    bench.line(retry_budget=budget, budget_mode=BudgetMode.DEAD)
    bench.enqueue(jobs=workers * each)
    now = "2030-03-01T12:00:30Z"
    leases = bench.claim(workers * each)
    # Each on a connection of its own, in the same minute.
    sessions = [session_for(bench.dsn, test_now=now) for _ in range(workers)]
    start, settled = Barrier(workers), list[str]()

    def fail(mine: int) -> None:
        start.wait()
        for lease in leases[mine::workers]:
            (row,) = sessions[mine].script(
                "select cronledger.fail(%(id)s, %(token)s, 'Boom', 'it broke') as settled",
                {"id": lease.job_id, "token": lease.token},
            )
            settled.append(row["settled"])

    threads = [Thread(target=fail, args=(n,)) for n in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert settled.count(Settlement.RETRYING) == budget
    assert settled.count(Settlement.DEAD) == workers * each - budget
    (row,) = bench.rows("select used, denied from cronledger.retry_window")
    assert tuple(row.values()) == (budget, workers * each - budget)
