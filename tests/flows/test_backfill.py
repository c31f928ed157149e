"""Backfill fills exactly the gaps of a window, once, and says who did it."""

from __future__ import annotations

import pytest

from cronledger.core.audit import By
from cronledger.core.diff import OccurrenceClass
from cronledger.errors import StoreError
from cronledger.flows import backfill
from cronledger.flows.backfill import Order, fill, order
from ledgers import World, minutes

BY = By("mira", "INC-204 restore went wrong")
DAY = ("2026-03-01", "2026-03-02")
LINE = "h: cron: '0 * * * *', catchup: {policy: none, window: P30D}"
LOST = minutes("h", "2026-03-01T05:00", 3, 3600)
MISSING, OMITTED = OccurrenceClass.MISSING, OccurrenceClass.OMITTED


@pytest.fixture
def gap(world: World) -> World:
    """00:00 omitted ones until 12:00, then recorded hourly; three of them lost."""
    world.at("2026-03-01T00:00:01").load(LINE)
    for hour in range(1, 13):
        if hour != 10:
            world.at(f"2026-03-01T{hour:02d}:00:01").tick()
    world.lose(*LOST)
    return world.at("2026-03-01T12:30")


def ordered(world: World, *include: OccurrenceClass, limit: int | None = None) -> Order:
    drifts = world.drifts(*DAY)
    return order(drifts, world.file.schedules, include or {MISSING}, limit)


def filled(world: World, what: Order) -> list[int]:
    done = fill(what, BY, world.ledger, world.zones, world.events.append)
    return [len(f.epochs) for f in done]


def test_asking_writes_nothing(gap: World) -> None:
    before = gap.recorded()
    assert ordered(gap).total == 3
    assert gap.recorded() == before
    assert gap.sql("select * from cronledger.audit") == []


def test_it_fills_what_is_missing_and_a_second_order_finds_nothing(gap: World) -> None:
    assert filled(gap, ordered(gap)) == [3]
    assert set(LOST) <= set(gap.recorded())
    rows = gap.sql("select key, via from cronledger.occurrences where via = 'backfill' order by 1")
    assert [row["key"] for row in rows] == LOST
    assert ordered(gap) == Order((), 0)


def test_the_same_order_twice_writes_once_and_audits_once(gap: World) -> None:
    what = ordered(gap)
    assert filled(gap, what) == [3]
    assert filled(gap, what) == [0]
    (row,) = gap.sql("select actor, reason, action, subject, detail from cronledger.audit")
    assert tuple(row.values()) == ("mira", BY.reason, "backfill", "h", {"keys": LOST})
    assert len(gap.recorded()) == 11


def test_omitted_keys_are_filled_only_when_asked_for(gap: World) -> None:
    assert ordered(gap, MISSING).total == 3
    assert filled(gap, ordered(gap, MISSING, OMITTED)) == [4]
    assert "h:2026-03-01T10:00:00Z" in gap.recorded()
    assert "omitted policy_none" not in gap.classes(*DAY).values()


def test_a_limit_takes_the_oldest_and_counts_the_rest(gap: World) -> None:
    what = ordered(gap, limit=2)
    assert (what.total, what.left) == (2, 1)
    filled(gap, what)
    assert ordered(gap).total == 1
    assert [key for key in LOST if key not in gap.recorded()] == LOST[2:]


def test_a_limit_holds_over_all_schedules(world: World) -> None:
    lines = [LINE.replace("h:", f"{name}:", 1) for name in "abc"]
    world.at("2026-03-01T00:00:01").load(*lines)
    world.at("2026-03-01T01:00:01").tick()
    world.lose(*(f"{name}:2026-03-01T01:00:00Z" for name in "abc"))
    what = ordered(world.at("2026-03-01T02:00"), limit=2)
    assert [f.schedule.id for f in what.fillings] == ["a", "b"]
    assert what.left == 1


def test_what_was_suppressed_is_not_filled(gap: World) -> None:
    gap.load(
        f"{LINE}, pause: [{{from: '2026-03-01T05:00:00Z', to: '2026-03-01T09:00:00Z',"
        " reason: works}]"
    )
    assert ordered(gap).total == 0


def test_a_schedule_that_the_file_does_not_know_is_left_alone(gap: World) -> None:
    gap.load("other: cron: '0 0 1 1 *'")
    assert ordered(gap).total == 0


def test_an_audit_row_that_cannot_be_written_undoes_the_keys(gap: World) -> None:
    gap.sql("alter table cronledger.audit add check (action <> 'backfill')")
    before = gap.recorded()
    with pytest.raises(StoreError):
        filled(gap, ordered(gap))
    assert gap.recorded() == before


def test_an_interrupted_order_keeps_its_finished_chunks(
    gap: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backfill, "CHUNK", 1)
    heard: list[int] = []

    def stop_after_two(count: int) -> None:
        heard.append(count)
        if len(heard) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fill(ordered(gap), BY, gap.ledger, gap.zones, gap.events.append, stop_after_two)
    assert [key for key in LOST if key in gap.recorded()] == LOST[:2]
    assert filled(gap, ordered(gap)) == [1]
    assert len(gap.sql("select * from cronledger.audit")) == 3


@pytest.mark.parametrize(("actor", "reason"), [("", "long enough"), (" ", "long enough"),
                                               ("mira", ""), ("mira", "  short ")])  # fmt: skip
def test_an_actor_and_a_reason_that_helps_are_required(actor: str, reason: str) -> None:
    with pytest.raises(ValueError, match="required"):
        By(actor, reason)
