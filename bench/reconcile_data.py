"""The ledger of bench/reconcile.py: hourly schedules, rows written by SQL, and what is planted."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random

from cronledger.adapters.postgres.session import Session
from cronledger.core.instants import Window

SCHEDULES = 1000
PLANTED = 1000
HOURS = (1000, 3000, 10_000)
ZONES = ("UTC", "America/New_York", "Europe/Berlin", "Asia/Tokyo", "Australia/Sydney")
FILL = """
    insert into cronledger.occurrence
           (logical_time, recorded_at, enqueued_at, job_id, claimed_at, finished_at, schedule_id,
            version, utc_offset, collapsed, fold, moved, via, final_state)
    select k.at, k.at + interval '1 s', k.at + interval '1 s', 1, k.at + interval '2 s',
           k.at + interval '3 s', k.id, 1, 0, 1, false, false, 'tick', 'completed'
      from (select s.id, h.hour + make_interval(mins => right(s.name, 4)::int %% 60) as at
              from generate_series(%(start)s::timestamptz, %(last)s, interval '1 hour') as h(hour),
                   cronledger.schedule s) k
"""
LOSE = """
    delete from cronledger.occurrence o
     using unnest(%(names)s::text[], %(times)s::timestamptz[]) as u(name, at), cronledger.schedule s
     where s.name = u.name and o.schedule_id = s.id and o.logical_time = u.at
"""
ADD = """
    insert into cronledger.occurrence
           (logical_time, recorded_at, enqueued_at, job_id, claimed_at, finished_at, schedule_id,
            version, utc_offset, collapsed, fold, moved, via, final_state)
    select u.at, u.at, u.at, 1, u.at, u.at, s.id, 1, 0, 1, false, false, 'tick', 'completed'
      from unnest(%(names)s::text[], %(times)s::timestamptz[]) as u(name, at)
      join cronledger.schedule s on s.name = u.name
"""
Key = tuple[str, datetime]


@dataclass(frozen=True)
class Planted:
    """Keys that are lost, and keys that nobody owes."""

    lost: list[Key]
    strange: list[Key]

    def within(self, window: Window) -> tuple[int, int]:
        """How many of each lie in a window."""
        gone, come = (len(_in(window, keys)) for keys in (self.lost, self.strange))
        return gone, come


def _in(window: Window, keys: list[Key]) -> list[Key]:
    return [key for key in keys if window.start <= key[1] < window.end]


def file_text() -> str:
    """A file of hourly schedules, their minutes and zones in turns."""
    lines = ["version: 1", "schedules:"]
    for number in range(SCHEDULES):
        zone = ZONES[number % len(ZONES)]
        lines.append(f'  s{number:04d}: {{cron: "{number % 60} * * * *", timezone: {zone}}}')
    return "\n".join(lines) + "\n"


def plant(draw: Random, end: datetime) -> Planted:
    """So many of each, anywhere in the longest window; all in other places."""
    places = draw.sample(range(SCHEDULES * max(HOURS)), 2 * PLANTED)
    keys = []
    for place in places:
        number, hour = place % SCHEDULES, place // SCHEDULES
        at = end - timedelta(hours=hour + 1) + timedelta(minutes=number % 60)
        keys.append((f"s{number:04d}", at))
    strange = [(name, at + timedelta(seconds=7)) for name, at in keys[PLANTED:]]
    return Planted(keys[:PLANTED], strange)


def fill(session: Session, span: Window, planted: Planted) -> None:
    """Write a span that is not written yet, as a ledger is whose jobs have been let go."""
    last = span.end - timedelta(hours=1)
    session.script(FILL, {"start": span.start, "last": last})
    for text, keys in ((LOSE, planted.lost), (ADD, planted.strange)):
        chosen = _in(span, keys)
        names, times = [name for name, _ in chosen], [at for _, at in chosen]
        session.script(text, {"names": names, "times": times})
    session.script("vacuum (analyze) cronledger.occurrence")
    session.script("checkpoint")
