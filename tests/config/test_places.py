"""Where findings are shown: the value meant, in the schedule, in the defaults, else its key."""

from __future__ import annotations

from schedule_files import NAME, zones

from cronledger.adapters.config.load import parse_placed
from cronledger.adapters.config.places import Places
from cronledger.core.findings import CRON_PATH

TEXT = """version: 1
defaults:
  timezone: Europe/Berlin
  catchup: {policy: all, window: P3D}
schedules:
  quoted:
    cron: "0 2 * * *"
  plain: {cron: 0 2 * * *, timezone: UTC}
  spelled:
    cron:
      expr: "0 0 2 * * *"
      fields: 6s
  folded:
    cron: "0 2
      * * *"
"""


def placed() -> Places:
    return parse_placed(TEXT.encode(), NAME, zones())[1]


def at(schedule: str, *path: str, offset: int = 0) -> tuple[int, int]:
    return placed().of(schedule, path, offset)


def test_a_character_of_a_cron_is_found_in_every_form() -> None:
    assert at("quoted", *CRON_PATH, offset=2) == (7, 14)
    assert at("plain", *CRON_PATH, offset=2) == (8, 19)
    assert at("spelled", *CRON_PATH, offset=2) == (11, 16)


def test_a_cron_on_several_lines_is_shown_at_its_start() -> None:
    assert at("folded", *CRON_PATH, offset=5) == (14, 11)


def test_what_the_defaults_give_is_shown_there() -> None:
    assert at("quoted", "timezone") == (3, 13)
    assert at("plain", "timezone") == (8, 38)
    assert at("quoted", "catchup", "window") == (4, 34)


def test_a_part_that_is_not_given_is_shown_at_what_holds_it() -> None:
    assert at("quoted", "catchup", "max") == (4, 12)


def test_what_nobody_gives_is_shown_at_the_key_of_the_schedule() -> None:
    assert at("quoted", "objective") == (6, 3)


def test_the_file_as_a_whole_is_its_first_line() -> None:
    assert at("") == (1, 1)
