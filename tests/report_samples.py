"""Reports made up for tests: names that break what forgets to escape, and every class of key."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta

from cronledger.core.diff import Fate, Finding, OccurrenceClass, Stages
from cronledger.core.instants import Window, to_epoch
from cronledger.core.picture import Canvas
from cronledger.core.plan import Reason
from cronledger.core.report import Filler, Report, Section, Tally, worst_first

NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
# No schedule file may have these, but a report is no place to rely on that.
HOSTILE = (
    "quote\"and'quote",
    "comma,semi;colon:",
    "pipe|pipe\\|",
    "line\nfeed\r\nand\ttab",
    "<script>alert(1)</script>",
    "</title></style><b>bold</b>",
    "<!-- comment --> &amp; &lt;",
    "`code` ``twice`` [link](http://x)",
    "``` fence",
    "%0A::error::injected %25",
    "::set-output name=x::y",
    "=1+1",
    "{{ 7*7 }}{% raw %}",
    "$(rm -rf .) `id` $HOME",
    "\u202egnirts\u2028after",
    "*bold* _em_ #1 @someone",
)


def stages(at: datetime, state: str | None) -> Stages:
    """A key recorded two seconds late, claimed at once; committed if it is completed."""
    recorded = at + timedelta(seconds=2)
    claimed = recorded + timedelta(seconds=1) if state not in ("eligible", "scheduled") else None
    done = recorded + timedelta(seconds=9) if state == "completed" else None
    return Stages(recorded, recorded, claimed, done, 2612010000000001, state, "tick")


def finding(at: datetime, word: OccurrenceClass, now: datetime = NOW) -> Finding:
    """A key of that class as a reconcile finds it."""
    reasons = {
        OccurrenceClass.OMITTED: Reason.OUTSIDE_WINDOW,
        OccurrenceClass.SUPPRESSED: Reason.PAUSED,
    }
    states = {
        OccurrenceClass.RUNNING: "leased",
        OccurrenceClass.ORPHANED: None,
        OccurrenceClass.DEAD: "dead",
        OccurrenceClass.CANCELLED: "cancelled",
    }
    other = {
        OccurrenceClass.LATE: Fate.COMPLETED_ON_TIME,
        OccurrenceClass.COMPLETED: Fate.COMPLETED_ON_TIME,
    }
    fate = other.get(word) or Fate(word)
    recorded = word not in {OccurrenceClass.MISSING, OccurrenceClass.PRUNED, *reasons}
    held = stages(at, states.get(word, "completed")) if recorded else None
    return Finding(to_epoch(at), word, now - at, fate, reasons.get(word), held)


def hourly(hours: int, odd: Mapping[int, OccurrenceClass], now: datetime = NOW) -> list[Finding]:
    """A key an hour up to now; of the class that `odd` says n hours ago, else completed."""
    return [
        finding(now - n * HOUR, odd.get(n, OccurrenceClass.COMPLETED), now)
        for n in range(hours, 0, -1)
    ]


def every(
    minutes: int, window: Window, odd: Mapping[int, OccurrenceClass], now: datetime = NOW
) -> list[Finding]:
    """A key each so many minutes over the window, the first one step after its start.

    The n-th (from 0) is of the class that `odd` says, else completed.
    """
    step = timedelta(minutes=minutes)
    count = (min(window.end, now) - window.start) // step
    return [
        finding(window.start + (n + 1) * step, odd.get(n, OccurrenceClass.COMPLETED), now)
        for n in range(count)
    ]


def section(
    name: str, found: Iterable[Finding], window: Window, filler: Filler = Filler.OURS
) -> Section:
    tally = Tally(name, filler, Canvas(window))
    expected = recorded = 0
    for one in found:
        expected += one.occurrence_class is not OccurrenceClass.UNEXPECTED
        recorded += one.stages is not None
        tally.add(one)
    return tally.section(expected, recorded)


def report(sections: Sequence[Section], window: Window, now: datetime = NOW) -> Report:
    return Report("schedules.yaml", now, window, tuple(worst_first(sections)))


def hostile() -> tuple[Report, list[tuple[str, Finding]]]:
    """A day of an hourly schedule for each hostile name, with a key of every class; its keys."""
    window = Window(NOW - DAY, NOW)
    odd = dict(enumerate(OccurrenceClass, 1))
    keys = [(name, one) for name in HOSTILE for one in hourly(24, odd)]
    sections = [section(name, hourly(24, odd), window) for name in HOSTILE]
    return report(sections, window), keys


def words_of(command: str) -> list[str]:
    """The words of a command, as a shell reads them."""
    said = subprocess.run(
        ["bash", "-c", f"printf '%s\\0' {command}"], capture_output=True, check=True, timeout=10
    )
    return said.stdout.decode().split("\0")[:-1]
