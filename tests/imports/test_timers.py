"""systemd timers: which calendar expressions a cron can say, and what the settings around mean."""

from __future__ import annotations

import pytest
from import_sources import about, codes, imported, loaded, one, zones

from cronledger.adapters.imports.convert import Asked, convert
from cronledger.adapters.imports.model import CronTrigger, Decision, Origin
from cronledger.core.cron import Layout
from cronledger.core.schedule import CatchupPolicy, Dst, Fold, Gap, Wildcard

FIVE, SECONDS, YEAR, SEVEN = Layout.FIVE, Layout.SECONDS, Layout.YEAR, Layout.SEVEN


def timer(*settings: str) -> str:
    return "\n".join(["[Unit]", "Description=A timer", "[Timer]", *settings, ""])


@pytest.mark.parametrize(
    ("text", "cron", "layout"),
    [
        ("minutely", "* * * * *", FIVE),
        ("hourly", "0 * * * *", FIVE),
        ("daily", "0 0 * * *", FIVE),
        ("weekly", "0 0 * * 1", FIVE),
        ("monthly", "0 0 1 * *", FIVE),
        ("quarterly", "0 0 1 1,4,7,10 *", FIVE),
        ("semiannually", "0 0 1 1,7 *", FIVE),
        ("yearly", "0 0 1 1 *", FIVE),
        ("Mon..Fri 09:00", "0 9 * * 1-5", FIVE),
        ("mon,Wednesday,Sat..Sun 9:5", "5 9 * * 1,3,6-7", FIVE),
        ("Mon-Fri 22:30", "30 22 * * 1-5", FIVE),
        ("Sun", "0 0 * * 0", FIVE),
        ("*-*-* 02:30:00", "30 2 * * *", FIVE),
        ("*:0/15", "0/15 * * * *", FIVE),
        ("0/6:00", "0 0/6 * * *", FIVE),
        ("8..18/2:15", "15 8-18/2 * * *", FIVE),
        ("*-*-1,15 4:00", "0 4 1,15 * *", FIVE),
        ("*-01..03-01", "0 0 1 1-3 *", FIVE),
        ("12-24 18:00", "0 18 24 12 *", FIVE),
        ("*-*~01 23:00", "0 23 L * *", FIVE),
        ("*-02~03", "0 0 L-2 2 *", FIVE),
        ("*:*:0/20", "0/20 * * * * *", SECONDS),
        ("04:05:06", "6 5 4 * * *", SECONDS),
        ("2027-01-01", "0 0 1 1 * 2027", YEAR),
        ("27-1-1 1:2:3", "3 2 1 1 1 * 2027", SEVEN),
    ],
)
def test_a_calendar_expression_is_a_cron(text: str, cron: str, layout: Layout) -> None:
    found = one(Origin.SYSTEMD, timer(f"OnCalendar={text}"))
    assert (found.refusal, found.trigger) == ("", CronTrigger(cron, layout))


@pytest.mark.parametrize(
    "text",
    ["*:*/15", "*/2:00", "*-*-*/2", "22..2:00", "Fri..Mon", "24:00", "Mond 9:00", "Mon Tue 9:00",
     "*:0/0", "*:0/90", "02:00:00.5", "*-*~07/1", "@1700000000", "9:00 PM", "daily Mars/Base",
     "*-02-30", "fortnightly", "*:00/@STEP@", "%i", "02:00 # at two", "02:00 ; at two", "{{ x }}"],
)  # fmt: skip
def test_what_systemd_refuses_or_no_cron_says_is_refused(text: str) -> None:
    found = one(Origin.SYSTEMD, timer(f"OnCalendar={text}"))
    assert found.refusal
    assert found.line == 4


@pytest.mark.parametrize(
    "setting",
    ["OnActiveSec=1h", "OnBootSec=15min", "OnStartupSec=5", "OnUnitActiveSec=1d",
     "OnUnitInactiveSec=1d", "OnClockChange=true", "OnTimezoneChange=yes"],
)  # fmt: skip
def test_what_is_no_time_of_the_clock_is_refused(setting: str) -> None:
    assert one(Origin.SYSTEMD, timer(setting)).refusal


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ("RandomizedDelaySec=1h", ["random-delay"]),
        ("RandomizedDelaySec=0", []),
        ("RandomizedOffsetSec=5min", ["random-delay"]),
        ("AccuracySec=12h", ["accuracy"]),
        ("AccuracySec=1h 30min", ["accuracy"]),
        ("AccuracySec=1min", []),
        ("AccuracySec=1us", []),
        ("AccuracySec=infinity", ["accuracy"]),
        ("Persistent=true", []),
    ],
)
def test_what_moves_the_start_is_warned_about(setting: str, expected: list[str]) -> None:
    found = one(Origin.SYSTEMD, timer("OnCalendar=daily", setting))
    assert codes(found) == expected


def test_both_days_must_match() -> None:
    found = imported(Origin.SYSTEMD, timer("OnCalendar=Sun *-*-1..7 03:00"))
    assert codes(found.entries[0]) == ["and-days"]
    assert loaded(found).schedules["source"].timing.day_rule == "and"


def test_a_zone_ends_the_expression() -> None:
    found = imported(Origin.SYSTEMD, timer("OnCalendar=*-*-* 02:00 Europe/Berlin"))
    assert found.entries[0].zone == "Europe/Berlin"
    assert about(found) == ["no-command"]
    assert one(Origin.SYSTEMD, timer("OnCalendar=daily utc")).zone == "UTC"


def test_persistent_catches_up_with_the_latest_and_nothing_else_does() -> None:
    caught = loaded(imported(Origin.SYSTEMD, timer("OnCalendar=daily", "Persistent=yes")))
    assert caught.schedules["source"].catchup.policy is CatchupPolicy.LATEST
    passed = loaded(imported(Origin.SYSTEMD, timer("OnCalendar=daily")))
    assert passed.schedules["source"].catchup.policy is CatchupPolicy.NONE


def test_the_missing_hour_is_skipped_and_the_repeated_one_runs_once() -> None:
    timing = loaded(imported(Origin.SYSTEMD, timer("OnCalendar=daily"))).schedules["source"].timing
    assert timing.dst == Dst(Gap.SKIP, Fold.FIRST, Wildcard.SAME)


def test_an_empty_value_takes_back_what_stands_before_it() -> None:
    text = timer("OnCalendar=daily", "OnBootSec=5min", "OnCalendar=", "OnCalendar=hourly")
    found = imported(Origin.SYSTEMD, text)
    assert [entry.line for entry in found.entries] == [7]
    assert about(found).count("overridden") == 2


def test_continued_lines_and_other_sections_are_read_as_systemd_reads_them() -> None:
    text = "[Install]\nOnCalendar=daily\n[Timer]\n; x\nOnCalendar=Mon..Fri \\\n# no\n 9:00\n"
    found = one(Origin.SYSTEMD, text)
    assert (found.line, found.trigger) == (5, CronTrigger("0 9 * * 1-5"))


def test_the_command_is_found_in_the_unit_beside_the_timer() -> None:
    units = {"x.service": "[Service]\nExecStart=-/usr/bin/x --now\n"}
    asked = Asked(Origin.SYSTEMD, "/etc/systemd/x.timer", beside=units.get)
    found = convert(timer("OnCalendar=daily").encode(), asked, zones())
    assert found.entries[0].payload["command"] == "/usr/bin/x --now"
    assert found.entries[0].payload["unit"] == "x.service"
    assert "no-command" not in about(found)


def test_the_instances_of_a_template_unit_are_not_known() -> None:
    asked = Asked(Origin.SYSTEMD, "backup@.timer")
    found = convert(timer("OnCalendar=daily").encode(), asked, zones())
    assert "template-unit" in about(found)
    assert found.count(Decision.CARRY) == 1


def test_a_setting_with_a_comment_after_it_is_ignored_aloud() -> None:
    found = imported(Origin.SYSTEMD, timer("OnCalendar=daily", "RandomizedDelaySec=1h # spread"))
    assert codes(found.entries[0]) == []
    assert "ignored-setting" in about(found)
