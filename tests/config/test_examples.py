"""Whole files as people might write them: what their comments say is what they owe."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest
from schedule_files import read, zones

from cronledger.core.expected import expected
from cronledger.core.instants import Window, format_instant, from_epoch
from cronledger.core.timeline import timeline

FOLDER = Path(__file__).parent.parent / "cases" / "examples"
NAMES = ["simple", "realistic", "hard"]


def text_of(name: str) -> str:
    return (FOLDER / f"{name}.yaml").read_text(encoding="utf-8")


def owed(name: str, schedule: str, start: str, end: str) -> list[str]:
    versions = timeline(read(text_of(name)).schedules[schedule])
    window = Window(datetime.fromisoformat(start), datetime.fromisoformat(end))
    found = expected(versions, window, zones().load)
    return [format_instant(from_epoch(epoch)) for epoch in found]


@pytest.mark.parametrize("name", NAMES)
def test_the_file_loads_whole(name: str) -> None:
    assert len(read(text_of(name)).schedules) == {"simple": 2, "realistic": 4, "hard": 6}[name]


CASES = [
    ("simple", "cleanup", "2026-08-07", "2026-08-08", ["2026-08-07T02:00:00Z"]),
    ("realistic", "nightly-report", "2026-03-29", "2026-03-30", ["2026-03-29T01:00:00Z"]),
    # A Friday first; the last weekday of May is the 29th, of December the 31st.
    (
        "realistic",
        "invoices",
        "2026-01-01",
        "2026-02-28",
        ["2026-01-30T17:00:00Z", "2026-02-27T17:00:00Z"],
    ),
    ("realistic", "invoices", "2026-12-01", "2027-01-01", ["2026-12-31T17:00:00Z"]),
    # The 25th of December is left out, two weeks on it goes on.
    (
        "realistic",
        "payroll-biweekly",
        "2026-12-01",
        "2027-01-10",
        ["2026-12-11T08:00:00Z", "2027-01-08T08:00:00Z"],
    ),
    (
        "hard",
        "legacy-pgcron",
        "2026-08-06",
        "2026-08-09",
        ["2026-08-06T06:00:00Z", "2026-08-07T06:00:00Z", "2026-08-08T06:00:00Z"],
    ),
    # By the first version up to the day of the edit, itself included.
    (
        "hard",
        "ledger-close",
        "2026-04-02",
        "2026-04-05",
        ["2026-04-02T12:40:00Z", "2026-04-03T12:40:00Z", "2026-04-04T12:50:00Z"],
    ),
    # A Saturday in Los Angeles, then a Monday in New York.
    (
        "hard",
        "ledger-close",
        "2026-10-31",
        "2026-11-03",
        ["2026-10-31T12:50:00Z", "2026-11-02T10:50:00Z"],
    ),
    # Summer time goes on in winter.
    ("hard", "legacy-pgcron", "2026-12-05", "2026-12-06", ["2026-12-05T06:00:00Z"]),
    (
        "hard",
        "reindex[region=eu]",
        "2026-02-27",
        "2026-03-02",
        ["2026-02-28T04:00:00Z", "2026-03-01T03:00:00Z"],
    ),
    ("hard", "reindex[region=us]", "2026-03-31", "2026-04-01", ["2026-03-31T04:00:00Z"]),
    ("hard", "reindex[region=us]", "2026-07-04", "2026-07-05", ["2026-07-04T12:00:00Z"]),
    ("hard", "reindex[region=us]", "2026-08-09", "2026-08-10", ["2026-08-09T03:00:00Z"]),
    ("hard", "reindex[region=us]", "2026-11-20", "2026-12-06", []),
    ("hard", "reindex[region=us]", "2026-12-27", "2026-12-28", []),
    # No longer an hour ahead from the 20th of September 2026.
    ("hard", "eod-export", "2026-09-30", "2026-10-01", ["2026-09-30T22:00:00Z"]),
    ("hard", "eod-export", "2026-08-31", "2026-09-01", ["2026-08-31T21:00:00Z"]),
]


@pytest.mark.parametrize(("name", "schedule", "start", "end", "wanted"), CASES)
def test_a_schedule_owes_what_its_comment_says(
    name: str, schedule: str, start: str, end: str, wanted: list[str]
) -> None:
    assert owed(name, schedule, f"{start}T00:00:00+00:00", f"{end}T00:00:00+00:00") == wanted


def test_intervals_keep_their_cadence_through_both_clock_changes() -> None:
    heartbeat = owed("simple", "heartbeat", "2026-08-07T02:00:00Z", "2026-08-07T02:06:00Z")
    assert heartbeat == ["2026-08-07T02:00:00Z", "2026-08-07T02:05:00Z"]
    for day in ("2026-03-29", "2026-10-25"):
        assert len(owed("realistic", "poll-partner", f"{day}T00:00:00Z", f"{day}T12:00:00Z")) == 48


def test_a_sampler_runs_three_times_a_minute_on_working_days() -> None:
    # 8:00 to 17:59 at Lord Howe on Monday, ten hours.
    found = owed("hard", "sampler", "2026-08-02T12:00:00Z", "2026-08-03T12:00:00Z")
    assert (len(found), found[0], found[-1]) == (
        1800,
        "2026-08-02T21:30:00Z",
        "2026-08-03T07:29:40Z",
    )
    assert owed("hard", "sampler", "2026-08-01T12:00:00Z", "2026-08-02T12:00:00Z") == []
