"""The page of a report as text: pure, bounded, asking nobody for anything, the worst first."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from html.parser import HTMLParser

from cronledger.adapters.report.calendar import Block, calendar
from cronledger.adapters.report.html import page
from cronledger.adapters.report.looks import LOOKS
from cronledger.adapters.report.view import GAPS_SHOWN, ROWS_MAX, verdict
from cronledger.core.diff import Finding, OccurrenceClass
from cronledger.core.expected import Standing
from cronledger.core.instants import Window
from cronledger.core.picture import Picture
from cronledger.flows.reconcile import Drift
from cronledger.flows.report import CELLS_MAX, PICTURED_MAX, Asked
from cronledger.flows.report import report as reported
from ledgers import file_of, time
from report_samples import DAY, HOSTILE, HOUR, NOW, every, finding, hostile, report, section

X = LOOKS[OccurrenceClass.MISSING].symbol
WHOLE = Window(NOW - DAY, NOW)
VOID = {"meta", "br", "hr", "img", "link", "input"}


class Parsed(HTMLParser):
    """The elements of a page in order, each with its attributes; fails on tags that do not nest."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)
            self.texts.setdefault(tag, []).append("")

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open:
            self.texts[self._open[-1]][-1] += data


def lines(picture: Picture | None, window: Window) -> list[str]:
    assert picture is not None
    return [_line(block) for block in calendar(picture, window).blocks]


def _line(block: Block) -> str:
    return f"{block.heading} |" + "".join(box.symbol or " " for box in block.boxes)


def test_the_same_report_gives_the_same_bytes() -> None:
    made = hostile()[0]
    assert page(made) == page(hostile()[0])


def test_nothing_is_loaded_and_nothing_runs_but_what_is_ours() -> None:
    text = page(hostile()[0])
    parsed = Parsed(text)
    for tag, attributes in parsed.tags:
        assert not {"src", "href", "style", "action"} & set(attributes), (tag, attributes)
        assert not [name for name in attributes if name.startswith("on")]
    assert [tag for tag, _ in parsed.tags if tag in ("script", "style", "a", "img", "link")] == [
        "style",
        "script",
    ]
    assert "url(" not in parsed.texts["style"][0]
    assert "@import" not in parsed.texts["style"][0]
    policy = next(a["content"] for tag, a in parsed.tags if a.get("http-equiv"))
    assert policy is not None
    for name in ("style", "script"):
        digest = hashlib.sha256(parsed.texts[name][0].encode()).digest()
        assert f"{name}-src 'sha256-{base64.b64encode(digest).decode()}'" in policy
    assert policy.startswith("default-src 'none'; ")


def test_hostile_names_stand_there_as_text() -> None:
    parsed = Parsed(page(hostile()[0]))
    assert sorted(parsed.texts["h3"]) == sorted(HOSTILE)


def test_every_class_has_a_look_of_its_own() -> None:
    assert set(LOOKS) == set(OccurrenceClass)
    assert len({look.symbol for look in LOOKS.values()}) == len(LOOKS)
    assert len({look.name for look in LOOKS.values()}) == len(LOOKS)


def test_few_keys_have_a_cell_each() -> None:
    window = Window(NOW - 3 * DAY, NOW)
    daily = section("s", every(1440, window, {1: OccurrenceClass.MISSING}), window)
    assert lines(daily.picture, window) == [f"29 Nov 2026, 12:00 to 1 Dec 2026, 12:00 |✓{X}✓"]
    window = Window(NOW - DAY, NOW)
    odd = {0: OccurrenceClass.DEAD, 11: OccurrenceClass.RUNNING}
    two_hourly = section("s", every(120, window, odd), window)
    assert lines(two_hourly.picture, window) == [
        "Mon 30 Nov |" + " " * 12 + "··†·✓·✓·✓·✓·",
        "Tue 1 Dec |✓·✓·✓·✓·✓·✓·▸" + " " * 11,
    ]
    # Two of them in one hour: no longer under their hours.
    crowded = [finding(NOW - n * HOUR / 2, OccurrenceClass.COMPLETED) for n in range(20, 0, -1)]
    assert lines(section("s", crowded, window).picture, window) == ["Tue 1 Dec |" + "✓" * 20]


def test_many_keys_share_an_hour_and_the_gravest_is_shown() -> None:
    window = Window(time("2026-11-30T21:30"), time("2026-12-01T02:30"))
    odd = {4: OccurrenceClass.LATE, 39: OccurrenceClass.DEAD, 40: OccurrenceClass.LATE}
    found = section("s", every(5, window, odd), window)
    assert lines(found.picture, window) == [
        "Mon 30 Nov |                     !✓✓",
        "Tue 1 Dec |†✓✓" + " " * 21,
    ]
    assert found.picture is not None
    boxes = [box for block in calendar(found.picture, window).blocks for box in block.boxes]
    titles = {box.title: box.look for box in boxes if box.title}
    assert titles["Tue 1 Dec, 00 h: 1 dead, 1 late, 10 completed"] == "de pt"
    assert titles["Tue 1 Dec, 01 h: 12 completed"] == "co"


def test_a_month_is_drawn_as_a_calendar() -> None:
    window = Window(time("2026-10-28T12:00"), time("2026-11-16T12:00"))
    keys = every(1440, window, {3: OccurrenceClass.MISSING})
    assert lines(section("s", keys, window).picture, window) == [
        # October began on a Thursday, and the 29th was one.
        "Oct 2026 |" + " " * (28 + 3) + "✓✓✓",
        # November began on a Sunday.
        "Nov 2026 |" + " " * 6 + X + "✓" * 15,
    ]


def test_years_are_drawn_in_weeks_from_the_first_key_on() -> None:
    window = Window(time("2020-01-01"), time("2026-12-01T12:00"))
    keys = [finding(NOW - n * DAY, OccurrenceClass.COMPLETED) for n in range(400, 0, -1)]
    drawn = lines(section("s", keys, window).picture, window)
    assert [line.partition(" |")[0] for line in drawn] == ["2025", "2026"]
    weeks = {(NOW - n * DAY).isocalendar()[:2] for n in range(400, 0, -1)}
    assert sum(line.count("✓") for line in drawn) == len(weeks)


def test_the_worst_come_first_and_what_is_left_out_is_said() -> None:
    window = Window(NOW - 730 * DAY, NOW)
    gaps = dict.fromkeys(range(0, 700, 10), OccurrenceClass.MISSING)
    bad = every(1440, window, gaps)
    one = [finding(NOW - HOUR, OccurrenceClass.COMPLETED)]
    names = [f"s{n:04}" for n in range(PICTURED_MAX + ROWS_MAX + 5)]
    made = reported(drifts(dict.fromkeys(names, one) | {"z": bad}), asked(window))
    text = page(made)
    parsed = Parsed(text)
    assert parsed.texts["h3"] == ["z", *names[: PICTURED_MAX - 1]]
    assert f"And {len(gaps) - GAPS_SHOWN} more gaps." in text
    assert "And 6 more schedules, all of them no worse" in text
    assert len(parsed.texts["tr"]) == ROWS_MAX + 1


def test_a_page_stays_small_however_much_is_wrong() -> None:
    window = Window(NOW - 365 * DAY, NOW)
    words = list(OccurrenceClass)
    found = every(60 * 6, window, {n: words[n % len(words)] for n in range(10_000)})
    crowd = {f"{'s' * 55}{n:04}": found for n in range(120)}
    made = reported(drifts(crowd), asked(window))
    cells = [len(one.picture.cells) for one in made.sections if one.picture is not None]
    assert sum(cells) <= CELLS_MAX
    assert len(cells) == CELLS_MAX // 366
    assert len(page(made)) < 3_000_000


def asked(window: Window) -> Asked:
    return Asked(file_of("none: cron: '0 0 1 1 *'"), window, NOW, pictures=True)


def drifts(found: Mapping[str, Sequence[Finding]]) -> Iterator[Drift]:
    """What a reconcile yields of these schedules."""
    for name, keys in found.items():
        standing = Standing(1, name, NOW, ())
        yield Drift(name, standing, len(keys), len(keys), tuple(keys), WHOLE, {})


def test_parts_of_a_window_are_one_schedule() -> None:
    window = Window(NOW - DAY, NOW)
    keys = every(60, window, dict.fromkeys(range(10, 14), OccurrenceClass.MISSING))
    whole = reported(drifts({"s": keys}), asked(window))
    parts = (drift for part in (keys[:12], keys[12:]) for drift in drifts({"s": part}))
    assert reported(parts, asked(window)) == whole
    assert [gap.count for gap in whole.sections[0].gaps] == [4]


def test_what_is_said_when_nothing_is_there() -> None:
    window = Window(NOW - DAY, NOW)
    assert verdict(report([], window)) == "Nothing was ever loaded"
    assert verdict(report([section("s", [], window)], window)) == "Nothing was due"
    fine = section("s", every(60, window, {}), window)
    assert verdict(report([fine], window)) == "Nothing is missing in 1 schedule"
    assert "Nothing was ever loaded" in page(report([], window))
