"""A file of ten thousand schedules is checked in seconds, second opinion included."""

from __future__ import annotations

import random
import resource
import subprocess
import sys
from pathlib import Path

import pytest

SCHEDULES = 10_000
# Of processor time: what the machine does beside it is not ours.
SECONDS_MAX = 20.0
ZONES = ["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata"]


def _expression(draw: random.Random) -> str:
    minute, hour = draw.randrange(60), draw.randrange(24)
    forms = [f"{minute} {hour} * * *"] * 6
    forms += [f"{minute} {hour} * * mon-fri", f"*/{draw.randrange(1, 31)} * * * *"]
    forms += [f"{minute} */{draw.randrange(2, 7)} * * *", f"{minute} {hour} 31 * *"]
    return draw.choice(forms)


@pytest.mark.slow
def test_ten_thousand_schedules_are_checked_in_under_twenty_seconds(tmp_path: Path) -> None:
    draw = random.Random(3)
    lines = ["version: 1", "schedules:"]
    for number in range(SCHEDULES):
        zone = draw.choice(ZONES)
        lines.append(f'  job-{number}: {{cron: "{_expression(draw)}", timezone: {zone}}}')
    file = tmp_path / "schedules.yaml"
    file.write_text("\n".join(lines) + "\n")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-m", "cronledger", "check", str(file)],
        capture_output=True,
        text=True,
        check=False,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    assert done.returncode == 0, done.stderr
    assert f"{SCHEDULES} schedules, valid" in done.stdout
    assert "beyond the limit of the second opinion" in done.stderr
    assert spent < SECONDS_MAX
