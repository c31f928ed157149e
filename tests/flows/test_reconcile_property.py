"""Random ledgers, with edits, pauses, catch-up limits, damage and pruned spans: the report says of
every key what a brute-force walk says."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from random import Random

import pytest
from brute_force import RANGES, ROWS, Edition, Truth, Verdict

from cronledger.adapters.postgres.prune import PostgresPrune
from cronledger.core.diff import OccurrenceClass
from cronledger.core.instants import from_epoch
from cronledger.flows import reconcile as flow
from cronledger.flows.reconcile import Drift, reconcile
from cronledger.flows.slicing import Rest
from ledgers import World, time, window

START = (
    "2026-03-27T00:00:00"  # on the hour, as slices end; the clocks of London go forward on the 29th
)
CRONS = ("7 * * * *", "*/20 * * * *", "30 1 * * *", "0 0-5 * * *", "15 */3 * * *")
ZONES = ("UTC", "Europe/London", "America/New_York", "Asia/Kolkata")
OBJECTIVE = timedelta(hours=1)
SEEDS = range(14)
PLAIN = frozenset({"missing", "omitted", "suppressed", "unexpected", "orphaned"})


class Story:
    """Four days of one schedule, as chance has it; `truth` keeps what was told."""

    def __init__(self, world: World, draw: Random) -> None:
        self.world, self.draw = world, draw
        self.grace = draw.choice([timedelta(minutes=5), timedelta(hours=2)])
        policy = draw.choice(["none", "latest", "earliest", "all"])
        reach = draw.choice(["PT3H", "P1D", "P29D"])
        self.catchup = f"{{policy: {policy}, window: {reach}, max: {draw.randrange(1, 6)}}}"
        self.cron, self.zone = draw.choice(CRONS), draw.choice(ZONES)
        self.truth = Truth(self.grace, OBJECTIVE)
        self.now = time(START)

    def tell(self) -> None:
        """From the first load to the last tick."""
        self._load()
        while self.now < time("2026-03-31T00:00:00"):
            minutes = self.draw.choice([1, 20, 60, 120, 400])
            self.now += timedelta(minutes=minutes, seconds=self.draw.randrange(60))
            step = self.draw.choices(("tick", "edit", "pause"), (12, 2, 1))[0]
            if step == "edit":
                both = self.draw.random()
                self.cron = self.draw.choice(CRONS) if both < 0.7 else self.cron
                self.zone = self.draw.choice(ZONES) if both > 0.4 else self.zone
            if step == "pause":
                end = self.now + timedelta(hours=self.draw.randrange(1, 12))
                self.truth.pauses.append((self.now.replace(microsecond=0), end))
            self._load() if step != "tick" else self._tick()

    def damage(self) -> None:
        """What happens to rows and jobs, each to some."""
        rows = self.world.sql("select job_id, logical_time from cronledger.occurrence")
        claim = "select job_id, token from cronledger.claim('{}', array['k'], 4, 'w')"
        for place, lease in enumerate(self.world.sql(claim)):
            if place < 2:
                self.world.sql("select cronledger.fail(%(job_id)s, %(token)s, 'E', 'e')", **lease)
        for row in rows:
            fate = self.draw.choice(
                ["end"] * 4 + ["fine", "lost", "orphan", "moved", "edited", "foreign"]
            )
            getattr(self, f"_{fate}")(**row)

    def prune(self) -> None:
        """Two days are kept of what has ended."""
        self.world.sql(
            "update cronledger.ledger set keep_jobs = '1 day', keep_keys = '1 day',"
            " keep_receipts = '1 day', keep_occurrences = '2 days'"
        )
        before = self._held()
        PostgresPrune(self.world.session).prune(lambda: True)
        gone = before - self._held()
        if gone:
            self.truth.dropped_to = max(gone) + timedelta(seconds=1)

    def after(self) -> None:
        """Later, and a tick again."""
        self.now += timedelta(hours=self.draw.randrange(12, 48))
        self.world.at(self.now)
        self.prune()
        self._tick()

    def expected(self) -> dict[int, Verdict]:
        rows, ranges = self.world.sql(ROWS), self.world.sql(RANGES)
        return self.truth.verdicts(rows, ranges, time(START), self.now)

    def _load(self) -> None:
        pauses = ", ".join(
            f"{{from: '{start:%Y-%m-%dT%H:%M:%SZ}', to: '{end:%Y-%m-%dT%H:%M:%SZ}', reason: r}}"
            for start, end in self.truth.pauses
        )
        # The end of a pause is written in whole seconds.
        self.truth.pauses = [(s, e.replace(microsecond=0)) for s, e in self.truth.pauses]
        noted = self.world.at(self.now).load(
            f"s: cron: '{self.cron}', timezone: {self.zone}, grace: {self.grace.seconds}s,"
            f" catchup: {self.catchup}, pause: [{pauses}]"
        )
        if noted.opened:
            self.truth.editions.append(Edition(noted.now, self.cron, self.zone))

    def _tick(self) -> None:
        self.world.at(self.now).tick()

    def _held(self) -> set[datetime]:
        rows = self.world.sql("select logical_time from cronledger.occurrence")
        return {row["logical_time"] for row in rows}

    def _fine(self, job_id: int, logical_time: datetime) -> None:
        """Nothing happens to it."""

    def _end(self, job_id: int, logical_time: datetime) -> None:
        state = self.draw.choice(["completed"] * 4 + ["dead", "cancelled"])
        at = logical_time + timedelta(minutes=self.draw.choice([1, 60, 61, 600]))
        self.world.sql(
            f"with gone as (delete from cronledger.ready where job_id = {job_id} returning *)"
            " insert into cronledger.outcome select job_id, %(at)s, %(at)s, %(at)s, queue_id, 1,"
            f" '{state}' from gone",
            at=at,
        )

    def _lost(self, job_id: int, logical_time: datetime) -> None:
        self.world.sql(f"delete from cronledger.occurrence where job_id = {job_id}")

    def _orphan(self, job_id: int, logical_time: datetime) -> None:
        self.world.sql(f"delete from cronledger.job where id = {job_id}")

    def _moved(self, job_id: int, logical_time: datetime) -> None:
        seconds = self.draw.choice([7, 3600, -3600, 19_800])
        self._move(job_id, max(logical_time + timedelta(seconds=seconds), time(START)))

    def _edited(self, job_id: int, logical_time: datetime) -> None:
        """To where some edition would have had it, in force or not."""
        owed = self.draw.choice(self.truth.editions).owed(time(START), self.now)
        if owed:
            self._move(job_id, from_epoch(self.draw.choice(sorted(owed))))

    def _move(self, job_id: int, to: datetime) -> None:
        self.world.sql(
            "update cronledger.occurrence o set logical_time = %(to)s"
            f" where job_id = {job_id} and not exists (select from cronledger.occurrence x"
            "   where x.logical_time = %(to)s)",
            to=to,
        )

    def _foreign(self, job_id: int, logical_time: datetime) -> None:
        self.world.sql(
            "update cronledger.occurrence set via = 'external', job_id = null, enqueued_at = null"
            f" where job_id = {job_id}"
        )


def told(drifts: list[Drift]) -> dict[int, Verdict]:
    """What the report says; of each key once."""
    found = [finding.epoch for drift in drifts for finding in drift.findings]
    assert found == sorted(set(found))
    return {
        finding.epoch: (
            str(finding.occurrence_class),
            str(finding.reason) if finding.reason else None,
            str(finding.fate),
            str(finding.cause) if finding.cause else None,
        )
        for drift in drifts
        for finding in drift.findings
    }


def compare(story: Story, monkeypatch: pytest.MonkeyPatch) -> dict[int, Verdict]:
    """Key by key, with and without details, in slices of any size, and interrupted anywhere."""
    world, truth = story.world, story.expected()
    for name in ("SLICE_KEYS", "DETAILED_KEYS", "ROUND_KEYS"):
        monkeypatch.setattr(flow, name, story.draw.choice([1, 50, 10_000]))
    span = (START, "2026-04-10")
    drifts = world.drifts(*span)
    assert told(drifts) == truth
    stop = story.draw.randrange(len(drifts))
    rest = Rest(window(*span), drifts[stop].reached)
    going_on = reconcile(world.file.schedules, world.ledger, world.zones, rest)
    assert told([*drifts[: stop + 1], *going_on]) == truth
    notable = [word for word in OccurrenceClass if word is not OccurrenceClass.COMPLETED]
    wanted = [word for word in notable if story.draw.random() < 0.8] or notable
    some = world.drifts(*span, details=wanted)
    assert told(some) == {
        epoch: verdict for epoch, verdict in truth.items() if verdict[0] in wanted
    }
    for found in (drifts, some):
        counts = sum((Counter(drift.counts) for drift in found), Counter[OccurrenceClass]())
        assert counts == Counter(verdict[0] for verdict in truth.values())
    plain = world.drifts(*span, details=False)
    assert {epoch: verdict[:3] for epoch, verdict in told(plain).items()} == {
        epoch: verdict[:3] for epoch, verdict in truth.items() if verdict[0] in PLAIN
    }
    for count in ("expected", "recorded"):
        sums = {sum(getattr(d, count) for d in found) for found in (drifts, plain, some)}
        assert len(sums) == 1
    return truth


# A property that never meets a case says nothing about it.
EVERYTHING = {
    "missing", "unexpected", "orphaned", "dead", "cancelled", "late", "omitted", "suppressed",
    "pruned", "running", "completed", "completed_on_time", "completed_late", "eligible",
    "retrying", "paused", "outside_window", "over_limit", "policy_none", "coalesced",
    "zone_edit", "expression_edit", "second_producer",
}  # fmt: skip
FORGET = """
    truncate cronledger.schedule, cronledger.schedule_version, cronledger.occurrence,
             cronledger.left_out, cronledger.job, cronledger.outcome, cronledger.ready,
             cronledger.deferred, cronledger.lease, cronledger.dead, cronledger.history
"""


def test_every_key_is_what_a_brute_force_walk_says(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: Counter[str] = Counter()
    for seed in SEEDS:
        world.sql(FORGET)
        story = Story(world, Random(seed))
        for happens in (story.tell, story.damage, story.after):
            happens()
            try:
                verdicts = compare(story, monkeypatch)
            except AssertionError as error:
                error.add_note(f"seed {seed}, after {happens.__name__}")
                raise
            seen.update(word for verdict in verdicts.values() for word in verdict if word)
    assert set(seen) >= EVERYTHING, EVERYTHING - set(seen)
