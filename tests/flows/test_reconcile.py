"""Reconcile against a brute-force walk over raw rows, on ledgers damaged at random."""

from __future__ import annotations

from datetime import datetime, timedelta
from random import Random

import pytest

from cronledger.core.diff import OccurrenceClass
from cronledger.core.instants import format_instant, from_epoch, to_epoch
from ledgers import World, minutes, time

HOURLY = "h: cron: '0 * * * *', catchup: {policy: all, window: P30D, max: 10000}"
START, END = "2026-03-01T00:00:01", "2026-03-02T00:00:30"


def ticked(world: World, *lines: str) -> World:
    """Loaded at START, ticked at END, so that everything due in between is recorded."""
    world.at(START).load(*(lines or (HOURLY,)))
    world.at(END).tick()
    return world


def test_an_intact_ledger_has_nothing_missing(world: World) -> None:
    ticked(world)
    drifts = world.drifts("2026-02-01", "2026-04-01", details=False)
    assert [(d.schedule, d.expected, d.recorded, d.findings) for d in drifts] == [("h", 24, 24, ())]


def test_it_writes_nothing(world: World) -> None:
    ticked(world).lose("h:2026-03-01T05:00:00Z")
    counts = (
        "select (select count(*) from cronledger.occurrence) as o,"
        " (select count(*) from cronledger.left_out) as l, (select count(*) from cronledger.job)"
        " as j, (select sum(n) from cronledger.stat_delta) as s, (select max(decided_to)"
        " from cronledger.schedule) as d"
    )
    before = world.sql(counts)
    world.drifts("2026-02-01", "2026-04-01")
    world.drifts("2026-02-01", "2026-04-01", details=False)
    assert world.sql(counts) == before


@pytest.mark.parametrize("details", [True, False])
def test_a_lost_key_is_missing_only_past_its_grace(world: World, details: bool) -> None:
    ticked(world).lose("h:2026-03-02T00:00:00Z", "h:2026-03-01T23:00:00Z")
    found = world.classes("2026-03-01", "2026-03-03", details=details)
    missing = [key for key, name in found.items() if name == "missing"]
    assert missing == ["h:2026-03-01T23:00:00Z"]
    world.at(time("2026-03-02T00:05:00") + timedelta(milliseconds=1))
    found = world.classes("2026-03-01", "2026-03-03", details=details)
    assert [k for k, n in found.items() if n == "missing"] == minutes(
        "h", "2026-03-01T23:00", 2, 3600
    )


def test_a_window_is_half_open(world: World) -> None:
    ticked(world).lose(*minutes("h", "2026-03-01T05:00", 3, 3600))
    assert world.classes("2026-03-01T05:00", "2026-03-01T07:00", details=False) == {
        "h:2026-03-01T05:00:00Z": "missing",
        "h:2026-03-01T06:00:00Z": "missing",
    }


@pytest.mark.parametrize("details", [True, False])
def test_a_job_that_is_gone_leaves_its_key_orphaned(world: World, details: bool) -> None:
    ticked(world)
    world.sql("delete from cronledger.job where key = 'h:2026-03-01T05:00:00Z'")
    world.sql(
        "delete from cronledger.ready where job_id ="
        " (select id from cronledger.job where key = 'h:2026-03-01T06:00:00Z')"
    )
    found = world.classes("2026-03-01", "2026-03-02", details=details)
    assert [key for key, name in found.items() if name == "orphaned"] == minutes(
        "h", "2026-03-01T05:00", 2, 3600
    )


@pytest.mark.parametrize("details", [True, False])
def test_a_key_that_no_version_owed_is_unexpected(world: World, details: bool) -> None:
    ticked(world)
    world.sql(
        "update cronledger.occurrence set logical_time = logical_time + interval '7 s'"
        " where logical_time = '2026-03-01T05:00:00Z'"
    )
    found = world.classes("2026-03-01", "2026-03-02", details=details)
    assert found["h:2026-03-01T05:00:00Z"] == "missing"
    assert found["h:2026-03-01T05:00:07Z"] == "unexpected"


def test_recorded_past_grace_is_late(world: World) -> None:
    world.at(START).load(HOURLY)
    world.at("2026-03-01T01:05:00").tick()
    world.at("2026-03-01T02:05:01").tick()
    assert world.classes("2026-03-01", "2026-03-02") == {
        "h:2026-03-01T01:00:00Z": "running",
        "h:2026-03-01T02:00:00Z": "late",
    }


def test_a_schedule_that_ended_is_compared_over_the_time_it_was_in_force(world: World) -> None:
    ticked(world)
    world.at("2026-03-02T00:10").load("other: cron: '0 0 1 1 *'")
    world.lose("h:2026-03-01T05:00:00Z")
    world.at("2026-03-02T09:00")
    found = world.classes("2026-03-01", "2026-03-03", details=False)
    assert found == {"h:2026-03-01T05:00:00Z": "missing"}


def test_only_what_is_named_is_compared(world: World) -> None:
    ticked(world, HOURLY, "a: cron: '0 0 * * *'")
    assert [d.schedule for d in world.drifts("2026-03-01", "2026-03-02", only=["a"])] == ["a"]
    assert world.drifts("2026-03-01", "2026-03-02", only=["x"]) == []


def test_a_pause_of_the_file_suppresses_what_was_lost_in_it(world: World) -> None:
    ticked(world).lose("h:2026-03-01T05:00:00Z", "h:2026-03-01T06:00:00Z")
    world.load(
        f"{HOURLY}, pause: [{{from: '2026-03-01T05:00:00Z', to: '2026-03-01T06:00:00Z',"
        " reason: works}]"
    )
    found = world.classes("2026-03-01", "2026-03-02", details=False)
    assert found == {
        "h:2026-03-01T05:00:00Z": "suppressed paused",
        "h:2026-03-01T06:00:00Z": "missing",
    }


def test_a_recorded_key_within_a_range_left_out_counts_as_recorded(world: World) -> None:
    ticked(world)
    world.sql(
        "insert into cronledger.left_out select id, '2026-03-01T04:00:00Z',"
        " '2026-03-01T07:00:00Z', 'over_limit', 3, now() from cronledger.schedule"
    )
    assert set(world.classes("2026-03-01", "2026-03-02").values()) == {"late"}
    assert world.classes("2026-03-01", "2026-03-02", details=False) == {}


# --- the oracle ---


class Damage:
    """A ledger of one hourly schedule per example, damaged at random; and what it should show."""

    def __init__(self, world: World, draw: Random, name: str) -> None:
        self.world, self.draw, self.name = world, draw, name
        (row,) = world.sql("select id from cronledger.schedule where name = %(n)s", n=name)
        self.id = row["id"]

    def inflict(self) -> None:
        """Each key meets one of several fates."""
        rows = self.world.sql(
            "select job_id, logical_time from cronledger.occurrence where schedule_id = %(id)s",
            id=self.id,
        )
        for row in rows:
            fate = self.draw.choice(["fine"] * 4 + ["lost", "orphan", "moved", "done", "dead"])
            getattr(self, f"_{fate}")(row["job_id"], row["logical_time"])
        for _ in range(3):
            self._range()

    def _fine(self, job: int, at: datetime) -> None:
        late = timedelta(seconds=self.draw.choice([0, 300, 301, 9000]))
        self._set_recorded(job, at + late)

    def _lost(self, job: int, at: datetime) -> None:
        self.world.lose(f"{self.name}:{format_instant(at)}")

    def _orphan(self, job: int, at: datetime) -> None:
        table = self.draw.choice(["job where id", "ready where job_id"])
        self.world.sql(f"delete from cronledger.{table} = {job}")

    def _moved(self, job: int, at: datetime) -> None:
        self.world.sql(
            "update cronledger.occurrence set logical_time = logical_time + interval '9 min'"
            f" where job_id = {job}"
        )

    def _done(self, job: int, at: datetime) -> None:
        self._finish(job, "completed")

    def _dead(self, job: int, at: datetime) -> None:
        self._finish(job, "dead")

    def _finish(self, job: int, state: str) -> None:
        self.world.sql(
            f"with gone as (delete from cronledger.ready where job_id = {job} returning *)"
            " insert into cronledger.outcome select job_id, now(), now(), now(), queue_id, 1,"
            f" '{state}' from gone"
        )

    def _set_recorded(self, job: int, at: datetime) -> None:
        self.world.sql(
            "update cronledger.occurrence set recorded_at = %(at)s, enqueued_at = %(at)s"
            f" where job_id = {job}",
            at=at,
        )

    def _range(self) -> None:
        start = time(START) + timedelta(hours=self.draw.randrange(23), minutes=30)
        self.world.sql(
            "insert into cronledger.left_out values (%(id)s, %(start)s, %(end)s, %(why)s, 1,"
            " now()) on conflict do nothing",
            id=self.id,
            start=start,
            end=start + timedelta(hours=self.draw.randrange(1, 4)),
            why=self.draw.choice(["over_limit", "paused"]),
        )

    def truth(self, now: datetime) -> dict[str, str]:
        """Every key's class, by a walk over every minute and raw rows."""
        occurrences = {
            to_epoch(row["logical_time"]): row
            for row in self.world.sql(
                "select o.logical_time, o.recorded_at, j.id is not null as has_job,"
                "  (select x.state from cronledger.outcome x where x.job_id = o.job_id) as ended,"
                "  exists (select from cronledger.ready r where r.job_id = o.job_id) as waits"
                " from cronledger.occurrence o left join cronledger.job j on j.id = o.job_id"
                " where o.schedule_id = %(id)s",
                id=self.id,
            )
        }
        ranges = self.world.sql(
            "select from_time, to_time, reason from cronledger.left_out"
            " where schedule_id = %(id)s order by from_time",
            id=self.id,
        )
        found = {}
        for epoch in range(to_epoch(time(START)), to_epoch(now) + 1):
            word = _class(epoch, occurrences.get(epoch), ranges, now)
            if word:
                found[f"{self.name}:{format_instant(from_epoch(epoch))}"] = word
        return found


def _class(
    epoch: int, row: dict[str, object] | None, ranges: list[dict[str, datetime]], now: datetime
) -> str:
    at = from_epoch(epoch)
    if row is None:
        return _absent_class(epoch, ranges, now)
    recorded_at = row["recorded_at"]
    assert isinstance(recorded_at, datetime)
    return "unexpected" if epoch % 3600 else _recorded_class(row, recorded_at - at)


def _absent_class(epoch: int, ranges: list[dict[str, datetime]], now: datetime) -> str:
    at = from_epoch(epoch)
    reasons = [str(r["reason"]) for r in ranges if r["from_time"] <= at < r["to_time"]]
    if epoch % 3600:
        return ""
    if reasons:
        return f"{'suppressed' if reasons[0] == 'paused' else 'omitted'} {reasons[0]}"
    return "missing" if now - at > timedelta(minutes=5) else ""


def _recorded_class(row: dict[str, object], lateness: timedelta) -> str:
    if not row["has_job"] or not (row["ended"] or row["waits"]):
        return "orphaned"
    if row["ended"] == "dead":
        return "dead"
    if lateness > timedelta(minutes=5):
        return "late"
    return "completed" if row["ended"] else "running"


def test_on_damaged_ledgers_every_class_is_that_of_a_brute_force_walk(world: World) -> None:
    names = [f"s{seed}" for seed in range(12)]
    ticked(world, *(HOURLY.replace("h:", f"{name}:", 1) for name in names))
    truth: dict[str, str] = {}
    for seed, name in enumerate(names):
        damage = Damage(world, Random(seed), name)
        damage.inflict()
        truth |= damage.truth(time(END))
    assert len(set(truth.values())) == 9, "the damage shows every class"
    assert world.classes("2026-02-01", "2026-04-01") == truth
    plain = {"missing", "unexpected", "orphaned", "omitted", "suppressed"}
    assert world.classes("2026-02-01", "2026-04-01", details=False) == {
        key: word for key, word in truth.items() if word.split()[0] in plain
    }


def test_a_windows_halves_hold_together_what_the_whole_holds(world: World) -> None:
    ticked(world)
    Damage(world, Random(99), "h").inflict()
    whole = world.classes("2026-03-01", "2026-03-02")
    middle = "2026-03-01T11:00"
    halves = [world.classes("2026-03-01", middle), world.classes(middle, "2026-03-02")]
    assert whole == halves[0] | halves[1]
    assert not halves[0].keys() & halves[1].keys()


def test_the_classes_stand_in_the_order_of_their_weight() -> None:
    assert list(OccurrenceClass)[:3] == ["missing", "unexpected", "orphaned"]
