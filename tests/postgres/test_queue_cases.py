"""Public faults of other queues, each with the right answer, on the protocol; by their ids."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path
from threading import Barrier, Thread

import psycopg
import pytest
import yaml

from commands import until
from cronledger.adapters.postgres.queue import PostgresQueue
from cronledger.adapters.postgres.session import Session
from cronledger.core.lifecycle import Failure, Settlement
from cronledger.errors import StoreError
from ledgers import World, time
from workbench import Workbench

CASES_FILE = Path(__file__).parent.parent / "cases" / "queue.yaml"
CASES = yaml.safe_load(CASES_FILE.read_text(encoding="utf-8"))["cases"]
OURS = {"queue", "worker", "ops", "scheduler", "migrate", "metrics"}


def expire_all(bench: Workbench) -> None:
    """Let every lease end now."""
    bench.rows(
        "update cronledger.lease set claimed_at = claimed_at - interval '1 day',"
        " expires_at = cronledger.now() returning 1"
    )


def due_all(bench: Workbench) -> None:
    bench.rows("update cronledger.deferred set eligible_at = cronledger.now() returning 1")


def together(*calls: Callable[[], object]) -> None:
    """Run them at once, each on a thread of its own."""
    start, failures = Barrier(len(calls)), list[BaseException]()

    def run(call: Callable[[], object]) -> None:
        start.wait()
        try:
            call()
        except BaseException as error:  # told below, by the test's own thread
            failures.append(error)

    threads = [Thread(target=run, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_every_case_of_ours_has_a_test_under_its_id() -> None:
    text = "\n".join(
        file.read_text(encoding="utf-8") for file in CASES_FILE.parents[1].rglob("test_*.py")
    )
    tested = {found.upper() for found in re.findall(r"def test_(q\d{3})_", text)}
    asked = {case["id"] for case in CASES if case["target"] in OURS}
    assert asked - tested == set()


def test_q002_a_lease_ends_though_a_worker_of_the_same_name_lives(bench: Workbench) -> None:
    (id_,) = bench.enqueue(jobs=1)
    bench.claim(1, "host-1")
    bench.enqueue()
    assert len(bench.claim(1, "host-1")) == 1  # alive, under the same name
    bench.rows(
        "update cronledger.lease set claimed_at = claimed_at - interval '1 day',"
        " expires_at = cronledger.now() where job_id = %(id)s returning 1",
        id=id_,
    )
    assert bench.queue.rescue(10) == 1
    assert bench.states([id_]) == ["retrying"]


def test_q003_a_job_that_is_put_back_collides_with_no_key(world: World) -> None:
    world.at("2026-03-01T00:00:30").load("m: cron: '* * * * *'")
    world.at("2026-03-01T00:01:00").tick()
    claim = "select * from cronledger.claim(array['default'], array['k'], 9, 'w')"
    assert len(world.sql(claim)) == 1
    assert world.tick() == {}  # the key is taken while its job is leased
    world.at("2026-03-01T01:01:00")
    assert world.sql("select cronledger.rescue(10) as n") == [{"n": 1}]
    assert world.recorded()[0] == "m:2026-03-01T00:01:00Z"


def test_q006_thousands_of_leases_come_back_at_once_and_each_once(bench: Workbench) -> None:
    bench.line("slow", lease=timedelta(hours=1))
    bench.enqueue(jobs=5000)
    bench.enqueue(jobs=3, queue="slow")
    assert len(bench.claim(5000)) == 5000
    assert len(bench.queue.claim(["slow"], ["work"], 9, "a")) == 3
    later = [bench.another(timedelta(minutes=2)) for _ in range(2)]
    counts = list[int]()

    def rescue(queue: PostgresQueue) -> None:
        while count := queue.rescue(500):
            counts.append(count)

    together(*[partial(rescue, queue) for queue in later])
    assert sum(counts) == 5000
    (row,) = bench.rows("select count(*) as n from cronledger.lease")
    assert row["n"] == 3  # the other queue's own span
    assert bench.counted("cronledger_leases_expired_total") == {("default", "work"): 5000}


def test_q007_rows_whose_body_is_gone_keep_nobody_from_coming_back(bench: Workbench) -> None:
    bad = bench.enqueue(jobs=100, max_attempts=1)
    bench.claim(100)
    good = bench.enqueue(jobs=10)
    bench.claim(10)
    bench.rows("delete from cronledger.job where id = any (%(ids)s) returning 1", ids=bad)
    expire_all(bench)
    while bench.queue.rescue(100):
        pass
    assert bench.states(good) == ["retrying"] * 10
    (row,) = bench.rows("select count(*) as n from cronledger.dead")
    assert row["n"] == 100


def test_q008_a_completion_after_the_end_and_before_any_rescue_counts(bench: Workbench) -> None:
    (id_,) = bench.enqueue()
    (lease,) = bench.claim()
    expire_all(bench)
    assert bench.queue.complete([lease]) == {lease.token}
    assert bench.queue.rescue(10) == 0
    assert bench.states([id_]) == ["completed"]


def test_q009_whoever_rescues_needs_to_know_no_kind(bench: Workbench) -> None:
    (id_,) = bench.enqueue("nobody-here-knows-it")
    bench.claim(1, "a", "nobody-here-knows-it")
    expire_all(bench)
    assert bench.queue.rescue(10) == 1
    assert bench.states([id_]) == ["retrying"]


def test_q012_q023_of_a_completion_and_two_rescues_at_once_one_decides(bench: Workbench) -> None:
    rounds = 60
    second, third = bench.another(), bench.another()
    for _ in range(rounds):
        (id_,) = bench.enqueue(max_attempts=1)
        (lease,) = bench.claim()
        expire_all(bench)
        together(
            partial(bench.queue.complete, [lease]),
            partial(second.rescue, 10),
            partial(third.rescue, 10),
        )
        (row,) = bench.rows(
            "select count(*) as n from cronledger.outcome where job_id = %(id)s", id=id_
        )
        assert row["n"] == 1
    ended = bench.counted("cronledger_jobs_finished_total")
    assert sum(ended.values()) == rounds
    stale = sum(bench.counted("cronledger_stale_completions_rejected_total").values())
    assert stale == ended.get(("default", "work", "dead"), 0)


def test_q023_two_rescues_of_one_lease_charge_one_attempt(bench: Workbench) -> None:
    (id_,) = bench.enqueue()
    bench.claim()
    expire_all(bench)
    rescuers = [bench.another() for _ in range(4)]
    together(*[partial(queue.rescue, 10) for queue in rescuers])
    due_all(bench)
    (lease,) = bench.claim()
    assert (lease.job_id, lease.attempt) == (id_, 2)


def test_q014_what_attempt_one_says_late_changes_nothing_of_attempt_two(bench: Workbench) -> None:
    bench.enqueue()
    (old,) = bench.claim(1, "a")
    expire_all(bench)
    bench.queue.rescue(10)
    due_all(bench)
    (new,) = bench.claim(1, "b")
    assert bench.queue.complete([old]) == frozenset()
    assert bench.queue.fail(old, Failure("Boom", "late")) is Settlement.STALE
    assert bench.queue.extend([old]) == {}
    assert bench.queue.release([old]) == frozenset()
    assert bench.queue.extend([new]) == {new.token: False}
    assert bench.queue.complete([new]) == {new.token}


def test_q030_what_waits_for_its_time_is_not_leased_meanwhile(world: World) -> None:
    world.at("2026-03-01T00:00:30").load("m: cron: '* * * * *', splay: PT50S")
    world.at("2026-03-01T00:01:00").tick()
    claim = "select * from cronledger.claim(array['default'], array['k'], 9, 'w')"
    assert world.sql(claim) == []
    (job,) = world.sql("select state, attempt from cronledger.jobs")
    assert tuple(job.values()) == ("scheduled", 0)
    assert len(world.at("2026-03-01T00:02:00").sql(claim)) == 1
    assert world.sql(claim) == []


def test_q034_keys_are_those_of_the_schedule_however_late_the_wake_up(world: World) -> None:
    begun = time("2026-03-01T00:00:00") + timedelta(milliseconds=500)
    world.at(begun).load("s: cron: {expr: '* * * * * *', fields: 6s}")
    keys = list[str]()
    for second in range(1, 61):
        due = time("2026-03-01T00:00:00") + timedelta(seconds=second)
        # A little early, and then late: neither makes a key of its own.
        for at in (due - timedelta(milliseconds=5), due + timedelta(milliseconds=400)):
            keys += world.at(at).enqueued()
    assert len(keys) == len(set(keys)) == 60
    assert keys == sorted(keys)


def test_q046_a_key_and_its_job_are_there_together_or_not_at_all(world: World) -> None:
    world.at("2026-03-01T00:00:30").load("m: cron: '* * * * *'")
    world.sql(
        "create function public.crash() returns trigger language plpgsql as"
        " $$ begin raise exception 'killed here'; end $$"
    )
    world.sql("create trigger crash before insert on cronledger.job"
              " for each row execute function public.crash()")  # fmt: skip
    with pytest.raises(StoreError, match="killed here"):
        world.at("2026-03-01T00:01:00").tick()
    assert world.recorded() == []
    world.sql("drop trigger crash on cronledger.job")
    assert world.enqueued() == ["m:2026-03-01T00:01:00Z"]


@pytest.mark.parametrize(
    "setting",
    [
        "enable_nestloop",
        "enable_hashjoin",
        "enable_mergejoin",
        "enable_indexscan",
        "enable_seqscan",
    ],
)
@pytest.mark.parametrize("mode", ["force_generic_plan", "force_custom_plan"])
def test_q055_what_a_claim_takes_leases_and_returns_is_the_same_in_every_plan(
    bench: Workbench, session_for: Callable[..., Session], setting: str, mode: str
) -> None:
    bench.enqueue(jobs=50)
    session = session_for(bench.dsn)
    session.script(f"set {setting} to off")
    session.script(f"set plan_cache_mode to {mode}")
    leases = PostgresQueue(session).claim(["default"], ["work"], 20, "a")
    (row,) = bench.rows(
        "select (select count(*) from cronledger.lease) as leased,"
        " (select count(*) from cronledger.ready) as ready,"
        " (select last_value from cronledger.lease_token) as drawn"
    )
    assert (len(leases), row["leased"], row["ready"], row["drawn"]) == (20, 20, 30, 20)


def test_q062_what_cannot_be_claimed_is_not_looked_at(bench: Workbench) -> None:
    bench.rows(
        "insert into cronledger.deferred (job_id, eligible_at, due_at, queue_id, priority, attempt,"
        " max_attempts, kind) select 10000000 + n, now() + interval '1 year', now(), q.id, 0, 0, 1,"
        " 'work' from generate_series(1, 50000) n, cronledger.queue q where q.name = 'default'"
        " returning 1"
    )
    bench.rows("select 1 from pg_stat_reset()")
    bench.enqueue(jobs=50)
    assert len(bench.claim(50)) == 50
    (plan,) = bench.rows(
        "explain (format json) select d.job_id from cronledger.deferred d"
        " where d.queue_id = 1 and d.eligible_at <= cronledger.now()"
        " order by d.eligible_at limit 1000 for update skip locked"
    )
    assert "Seq Scan" not in str(plan)


def test_q062_a_claim_of_one_job_does_not_read_the_backlog(bench: Workbench) -> None:
    bench.enqueue(jobs=5)
    (queue,) = bench.rows("select id from cronledger.queue where name = 'default'")
    bench.rows(
        "insert into cronledger.ready (job_id, eligible_at, due_at, queue_id, priority, attempt,"
        " max_attempts, kind) select 10000000 + n, now(), now(), %(q)s, 5, 0, 1, 'work'"
        " from generate_series(1, 50000) n returning 1",
        q=queue["id"],
    )
    plans = [
        bench.rows(
            "explain (analyze, buffers, format json)"
            " select * from cronledger.claim(array['default'], array['work'], 1, 'w')"
        )
        for _ in range(8)  # past the plans made for single values
    ]
    (plan,) = plans[-1][0]["QUERY PLAN"]
    # What waits fills more than four hundred blocks; one job is found in a few.
    assert plan["Plan"]["Shared Hit Blocks"] + plan["Plan"]["Shared Read Blocks"] < 150


def test_q105_the_limit_of_attempts_is_kept_and_zero_is_none(bench: Workbench) -> None:
    (id_,) = bench.enqueue(max_attempts=1)
    (lease,) = bench.claim()
    assert bench.queue.fail(lease, Failure("Boom", "it broke")) == "dead"
    assert bench.states([id_]) == ["dead"]
    for wrong in ("0", "101"):
        with pytest.raises(StoreError):
            bench.rows(f"update cronledger.queue set max_attempts = {wrong}")


def test_q043_one_bad_row_keeps_no_other_from_being_promoted_or_claimed(bench: Workbench) -> None:
    (twice,) = bench.enqueue()
    (leased,) = bench.enqueue()
    copy = "insert into cronledger.{} ({c}) select {c} from cronledger.{} where job_id = %(i)s"
    shared = "job_id, eligible_at, due_at, queue_id, priority, attempt, max_attempts, kind"
    bench.rows(copy.format("deferred", "ready", c=shared) + " returning 1", i=twice)
    assert len(bench.claim(9)) == 2
    bench.rows(copy.format("ready", "lease", c=shared) + " returning 1", i=leased)
    good = bench.enqueue(jobs=100)
    bench.rows(
        "with moved as (delete from cronledger.ready where job_id = any (%(ids)s) returning *)"
        f" insert into cronledger.deferred ({shared}) select {shared} from moved returning 1",
        ids=good,
    )
    assert sorted(lease.job_id for lease in bench.claim(200)) == good
    assert bench.claim(200) == []
    (row,) = bench.rows("select count(*) as n from cronledger.ready")
    assert row["n"] == 0


def test_q056_a_claim_whose_answer_was_lost_comes_back_once_and_charged(bench: Workbench) -> None:
    (id_,) = bench.enqueue()
    lost = psycopg.connect(bench.dsn, autocommit=True)
    lost.pgconn.send_query(b"select job_id from cronledger.claim('{default}', '{work}', 1, 'lost')")
    until(lambda: bench.states([id_]) == ["leased"], "the claim is committed")
    lost.close()  # and its answer was never read
    expire_all(bench)
    assert [bench.queue.rescue(10), bench.queue.rescue(10)] == [1, 0]
    job = bench.queue.job(id_)
    assert job is not None
    assert (job.state, job.attempt, job.error_class) == ("retrying", 1, "lease_expired")


def test_q061_the_hot_tables_do_not_grow_with_what_goes_through_them(bench: Workbench) -> None:
    sizes = list[int]()
    for _ in range(6):
        bench.enqueue(jobs=2000)
        while leases := bench.claim(200):
            bench.queue.complete(leases)
        # As autovacuum does by the settings of these tables, which a test cannot wait for.
        bench.session.script("vacuum cronledger.ready, cronledger.lease")
        (row,) = bench.rows(
            "select sum(pg_total_relation_size(c))::bigint as size"
            " from unnest(array['cronledger.ready', 'cronledger.lease']::regclass[]) c"
        )
        sizes.append(row["size"])
    assert sizes[-1] <= sizes[1] * 1.25
