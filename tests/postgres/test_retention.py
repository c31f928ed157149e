"""Retention: a day of history goes whole, and what somebody waits for stays."""

from __future__ import annotations

from datetime import timedelta

import psycopg
import pytest

from cronledger.adapters.postgres.prune import PostgresPrune
from cronledger.adapters.zones import PinnedZones
from cronledger.core.retention import Pruned
from cronledger.errors import StoreError
from ledgers import World
from workbench import SessionFor

MINUTELY = "m: cron: '* * * * *', catchup: {policy: all}"


@pytest.fixture
def old(any_database: str, session_for: SessionFor, zones: PinnedZones) -> World:
    """A day with tables of its own, and five jobs that are due on it."""
    world = World(session_for(any_database), zones).at("2026-12-01T00:00:30")
    PostgresPrune(world.session).make_days()
    world.load(MINUTELY, queues="queues: {default: {max_attempts: 1}}\n")
    world.at("2026-12-01T00:05:00").tick()
    return world


def settle(world: World) -> dict[str, int]:
    """Bring the first four jobs to an end, each to another; the fifth waits."""
    rows = world.sql("select job_id, token from cronledger.claim('{}', array['k'], 3, 'w')")
    ids, tokens = [r["job_id"] for r in rows], [r["token"] for r in rows]
    world.sql("select cronledger.complete(%(i)s, %(t)s)", i=ids[:1], t=tokens[:1])
    for place in (1, 2):
        world.sql("select cronledger.fail(%(i)s, %(t)s, 'E', 'e')", i=ids[place], t=tokens[place])
    world.sql("select cronledger.discard(%(i)s, 'me', 'known and mended')", i=ids[2])
    waiting = [row["job_id"] for row in world.sql("select job_id from cronledger.ready order by 1")]
    world.sql("select cronledger.cancel(%(i)s, 'me', 'not needed today')", i=waiting[0])
    names = ("completed", "dead", "discarded", "cancelled", "waiting")
    return dict(zip(names, [*ids, *waiting], strict=True))


def tables(world: World) -> set[str]:
    rows = world.sql(
        "select relname from pg_class where relname ~ '^(job|outcome)_[0-9]+$' and relkind = 'r'"
    )
    return {row["relname"] for row in rows}


def prune(world: World) -> Pruned:
    return PostgresPrune(world.session).prune(lambda: True)


def test_jobs_lie_in_the_tables_of_their_day(old: World) -> None:
    rows = old.sql("select distinct tableoid::regclass::text as place from cronledger.job")
    assert rows == [{"place": "cronledger.job_261201"}]
    assert PostgresPrune(old.session).make_days() == 0
    assert {"job_261202", "outcome_261204"} <= tables(old)


def test_a_day_goes_whole_but_for_what_somebody_waits_for(old: World) -> None:
    ids = settle(old)
    old.at("2026-12-15T00:00:00")
    assert prune(old).days == 0  # to the last job of that day two weeks have not passed
    old.at("2026-12-16T00:00:00")
    assert prune(old).days == 1
    assert not {"job_261201", "outcome_261201"} & tables(old)
    left = {row["id"]: row["state"] for row in old.sql("select id, state from cronledger.jobs")}
    assert left == {ids["dead"]: "dead", ids["waiting"]: "eligible"}


def test_occurrences_remember_how_their_jobs_ended(old: World) -> None:
    settle(old)
    before = old.sql(
        "select key, state, claimed_at, committed_at from cronledger.occurrences order by key"
    )
    old.at("2026-12-16T00:00:00")
    prune(old)
    after = old.sql(
        "select key, state, claimed_at, committed_at from cronledger.occurrences order by key"
    )
    assert after == before
    assert [row["state"] for row in after] == ["completed", "dead", "dead", "cancelled", "eligible"]
    classes = old.classes("2026-12-01T00:00:30", "2026-12-01T00:05:30")
    assert not {"missing", "orphaned"} & set(classes.values())


def test_what_is_kept_goes_on_as_if_nothing_had_happened(old: World) -> None:
    ids = settle(old)
    old.at("2026-12-16T00:00:00")
    prune(old)
    (row,) = old.sql("select job_id, key, payload from cronledger.claim('{}', array['k'], 9, 'w')")
    assert (row["job_id"], row["key"]) == (ids["waiting"], "m:2026-12-01T00:05:00Z")
    assert old.sql(
        "select cronledger.replay(%(i)s, null, 'me', 'it is mended now') as state", i=ids["dead"]
    ) == [{"state": "eligible"}]
    (again,) = old.sql("select job_id, token from cronledger.claim('{}', array['k'], 9, 'w')")
    old.sql(
        "select cronledger.complete(array[%(i)s]::bigint[], array[%(t)s]::bigint[])",
        i=again["job_id"],
        t=again["token"],
    )
    # Its outcome lies in no day of its own now, and goes by itself.
    assert prune(old).jobs == 1
    assert [row["id"] for row in old.sql("select id from cronledger.jobs")] == [ids["waiting"]]
    states = old.sql("select state from cronledger.occurrences order by key")
    assert states[1] == {"state": "completed"}


def test_a_day_without_tables_goes_job_by_job(
    database: str, session_for: SessionFor, zones: PinnedZones
) -> None:
    world = World(session_for(database), zones).at("2026-03-01T00:00:30")
    world.load(MINUTELY, queues="queues: {default: {max_attempts: 1}}\n")
    world.at("2026-03-01T00:05:00").tick()
    settle(world)
    # Tables made now would not take what lies elsewhere already.
    assert PostgresPrune(world.session).make_days() == 3
    world.at("2026-03-16T00:00:00")
    pruned = prune(world)
    assert (pruned.days, pruned.jobs) == (0, 3)
    assert len(world.sql("select id from cronledger.jobs")) == 2


def test_a_lock_on_history_makes_it_wait_only_a_moment(old: World) -> None:
    settle(old)
    old.at("2026-12-16T00:00:00")
    with psycopg.connect(old.session.dsn) as other:
        other.execute("select from cronledger.job limit 1")
        with pytest.raises(StoreError) as refused:
            prune(old)
        assert refused.value.sqlstate == "55P03"
    assert prune(old).days == 1


def test_keys_outlive_jobs_and_then_go(old: World) -> None:
    enqueue = (
        "select inserted from cronledger.enqueue_once('default', 'once', array['a'],"
        " array['{}']::jsonb[], array[null]::timestamptz[])"
    )
    assert old.sql(enqueue) == [{"inserted": True}]
    (row,) = old.sql("select job_id, token from cronledger.claim('{}', array['once'], 9, 'w')")
    old.sql(
        "select cronledger.complete(array[%(i)s]::bigint[], array[%(t)s]::bigint[])",
        i=row["job_id"],
        t=row["token"],
    )
    old.at("2027-01-04T00:00:00")
    assert prune(old).keys == 0
    assert old.sql(enqueue) == [{"inserted": False}]  # its job is gone, its key is not
    old.at("2027-01-06T00:00:00")
    assert prune(old).keys == 1
    assert old.sql(enqueue) == [{"inserted": True}]


def test_receipts_outlive_keys_and_then_go(old: World) -> None:
    (row,) = old.sql("select job_id, token from cronledger.claim('{}', array['k'], 1, 'w')")
    lease = {"i": row["job_id"], "t": row["token"]}
    old.sql("select cronledger.effect_begin(%(i)s, %(t)s, 'mail', 'f', null)", **lease)
    old.sql("select cronledger.effect_commit(%(i)s, %(t)s, 'mail', '{}')", **lease)
    old.at("2027-02-28T00:00:00")
    assert prune(old).receipts == 0
    old.at("2027-03-02T00:00:00")
    assert prune(old).receipts == 1


def test_the_file_says_how_long(old: World) -> None:
    settle(old)
    old.load(MINUTELY, queues="retention: {jobs: P2D}\n")
    old.at("2026-12-03T23:59:00")
    prunable = PostgresPrune(old.session).prunable()
    assert (prunable.days, prunable.jobs) == ((), 0)
    old.at("2026-12-04T00:00:00")
    prunable = PostgresPrune(old.session).prunable()
    assert (prunable.days, prunable.jobs) == (("261201",), 3)


def test_half_a_prune_is_taken_up_where_it_stopped(old: World) -> None:
    settle(old)
    old.at("2026-12-16T00:00:00")
    calls = iter([True, False])
    assert PostgresPrune(old.session).prune(lambda: next(calls, False)).days == 0
    assert prune(old).days == 1
    states = old.sql("select state from cronledger.occurrences order by key")
    assert next(row["state"] for row in states) == "completed"


def test_a_day_is_walked_in_steps_and_refused_until_they_are_done(old: World) -> None:
    settle(old)
    first = 261201 * 10**10
    step = "select cronledger.note_final(%(after)s, %(end)s, 2) as last"
    (one,) = old.sql(step, after=first - 1, end=first + 10**10)
    with pytest.raises(StoreError, match="do not know yet") as refused:
        old.sql("select cronledger.drop_day(%(first)s)", first=first)
    assert refused.value.sqlstate == "55000"
    (two,) = old.sql(step, after=one["last"], end=first + 10**10)
    (end,) = old.sql(step, after=two["last"], end=first + 10**10)
    assert (one["last"] < two["last"], end["last"]) == (True, None)
    assert old.sql("select cronledger.drop_day(%(first)s) as done", first=first) == [{"done": True}]


def test_two_at_once_drop_each_day_once(old: World, session_for: SessionFor) -> None:
    settle(old)
    later = (old.now + timedelta(days=15)).isoformat()
    one, two = (session_for(old.session.dsn, test_now=later) for _ in range(2))
    assert PostgresPrune(one).prune(lambda: True).days == 1
    first = 261201 * 10**10
    assert two.script("select cronledger.drop_day(%(first)s) as done", {"first": first}) == [
        {"done": False}
    ]
