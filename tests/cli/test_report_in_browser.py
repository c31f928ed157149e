"""The page of a report in a real browser: accessible, as wide as its window, and of use without
script, mouse or colour.

With CRONLEDGER_SCREENSHOTS the pictures are kept in the folder that it names.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Dialog, Page, sync_playwright

from cronledger.adapters.report.html import page as page_of
from cronledger.adapters.report.looks import LOOKS
from cronledger.core.diff import OccurrenceClass
from cronledger.core.instants import Window
from cronledger.core.report import Filler, Report
from report_samples import DAY, HOSTILE, NOW, every, hostile, hourly, report, section, words_of

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
WIDTHS = (360, 1280)
KEPT = os.environ.get("CRONLEDGER_SCREENSHOTS", "")

pytestmark = pytest.mark.skipif(
    CHROMIUM is None and "CI" not in os.environ, reason="there is no Chromium here"
)
Open = Callable[..., Page]


def week() -> Report:
    """Something of everything, over a week: hours, keys in a line, what nobody fills."""
    window = Window(NOW - 7 * DAY, NOW)
    outage = dict.fromkeys(range(1908, 1939), OccurrenceClass.MISSING)
    rest = {3: OccurrenceClass.DEAD, 4: OccurrenceClass.CANCELLED}
    mixed = dict(enumerate(OccurrenceClass, 20))
    return report(
        [
            section("poll-inbox", every(5, window, {7: OccurrenceClass.LATE} | outage), window),
            section("nightly-report", every(1440, window, rest), window),
            section("reindex[region=eu]", hourly(160, mixed), window, Filler.MANAGED),
            section("removed", hourly(160, {9: OccurrenceClass.MISSING}), window, Filler.GONE),
            section("cleanup", every(15, window, {671: OccurrenceClass.RUNNING}), window),
        ],
        window,
    )


def quarter() -> Report:
    window = Window(NOW - 90 * DAY, NOW)
    missing = dict.fromkeys((50, 51, 70), OccurrenceClass.MISSING)
    odd = missing | {80: OccurrenceClass.LATE}
    return report([section("nightly-report", every(1440, window, odd), window)], window)


def years() -> Report:
    """Three years, and more schedules than are drawn."""
    window = Window(NOW - 1100 * DAY, NOW)
    odd = {900: OccurrenceClass.MISSING, 1000: OccurrenceClass.ORPHANED}
    drawn = section("nightly-report", every(1440, window, odd), window)
    listed = [
        section(f"tenant-{n:02}.{'long-name-' * 4}", hourly(9, {2: OccurrenceClass.DEAD}), window)
        for n in range(8)
    ]
    return report([drawn, *(replace(one, picture=None, keys=()) for one in listed)], window)


PAGES: dict[str, Callable[[], Report]] = {
    "week": week,
    "quarter": quarter,
    "years": years,
    "hostile": lambda: hostile()[0],
    "nothing": lambda: report([], Window(NOW - DAY, NOW)),
}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        made = playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        yield made
        made.close()


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Each page as a file, as it is sent around."""
    folder = tmp_path_factory.mktemp("pages")
    for name, make in PAGES.items():
        (folder / f"{name}.html").write_text(page_of(make()), encoding="utf-8")
    return {name: folder / f"{name}.html" for name in PAGES}


@pytest.fixture
def visit(browser: Browser, files: dict[str, Path]) -> Iterator[Open]:
    """Open a page; whatever it asks for beside itself, or complains of, fails the test."""
    contexts = []
    asked: list[str] = []
    complaints: list[str] = []

    def dismissed(dialog: Dialog) -> None:
        complaints.append(dialog.message)
        dialog.dismiss()

    def opened(name: str, width: int = 1280, **settings: Any) -> Page:
        context = browser.new_context(viewport={"width": width, "height": 900}, **settings)
        contexts.append(context)
        found = context.new_page()
        found.on("request", lambda request: asked.append(request.url))
        found.on("console", lambda message: complaints.append(message.text))
        found.on("pageerror", lambda error: complaints.append(str(error)))
        found.on("dialog", dismissed)
        found.goto(files[name].as_uri())
        return found

    yield opened
    for context in contexts:
        context.close()
    assert {url.rpartition("/")[2] for url in asked} <= {f"{name}.html" for name in PAGES}
    assert complaints == []


def unfold(page: Page) -> None:
    page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true })")


@pytest.mark.parametrize("name", [name for name in PAGES if name != "hostile"])
def test_nothing_keeps_anybody_out(visit: Open, name: str) -> None:
    page = visit(name, bypass_csp=True)  # for the checker's own script
    unfold(page)
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        found = Axe().run(page).response["violations"]
        assert [(one["id"], [node["html"] for node in one["nodes"]]) for one in found] == [], scheme


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("width", WIDTHS)
def test_it_is_as_wide_as_its_window(visit: Open, name: str, width: int) -> None:
    page = visit(name, width)
    for scheme in SCHEMES if KEPT else ():
        page.emulate_media(color_scheme=scheme)
        picture = Path(KEPT) / f"report-{name}-{scheme}-{width}.png"
        page.screenshot(path=picture, full_page=True)
    unfold(page)
    assert page.evaluate("document.documentElement.scrollWidth") == width
    wide = page.evaluate(
        "[...document.body.querySelectorAll('*')].filter(one => !one.closest('.vh')"
        " && one.getBoundingClientRect().right > innerWidth + 1).map(one => one.outerHTML)"
    )
    assert wide == []


def test_hostile_names_are_text_and_nothing_else(visit: Open) -> None:
    page = visit("hostile")
    names = page.locator("h3").all_text_contents()
    # A parser makes one line feed of every end of a line.
    assert sorted(names) == sorted(name.replace("\r\n", "\n") for name in HOSTILE)
    assert page.locator("script, img, iframe, a").count() == 1
    commands = page.locator(".command code").all_text_contents()
    assert {words_of(command)[3] for command in commands} == set(HOSTILE)


def test_each_cell_says_in_a_sign_and_in_words_what_its_colour_says(visit: Open) -> None:
    page = visit("week")
    cells = page.locator(".calendar .c[title]").evaluate_all(
        "found => found.map(one => [one.classList[1], one.textContent, one.title])"
    )
    signs = {look.name: (look.symbol, str(word)) for word, look in LOOKS.items()}
    assert {name for name, _, _ in cells} == set(signs)
    for name, text, title in cells:
        sign, word = signs[name]
        assert text == sign
        assert word in title
    labels = [one.get_attribute("aria-label") for one in page.locator("[role=img]").all()]
    assert all(label and label.startswith("Calendar of ") for label in labels)
    assert any("missing" in str(label) for label in labels)


def test_the_keyboard_reaches_and_copies_each_command(visit: Open) -> None:
    page = visit("week", permissions=["clipboard-read", "clipboard-write"])
    summaries = page.locator("summary").count()
    boxes = page.locator(".command pre").count()
    reached = []
    for _ in range(summaries + 2 * boxes):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.tagName"))
    assert reached.count("SUMMARY") == summaries
    assert (reached.count("PRE"), reached.count("BUTTON")) == (boxes, boxes)
    page.locator(".command button").first.focus()
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Copied").wait_for()
    command = page.locator(".command code").first.text_content()
    assert page.evaluate("navigator.clipboard.readText()") == command
    page.locator("summary").first.focus()
    page.keyboard.press("Enter")
    assert page.locator(".legend dd").first.is_visible()


def test_a_click_selects_a_command_without_script(visit: Open) -> None:
    page = visit("week", java_script_enabled=False)
    assert page.locator("button").first.is_hidden()
    box = page.locator(".command pre").first
    assert box.is_visible()
    assert "cronledger backfill schedules.yaml poll-inbox --from" in str(box.text_content())
    assert page.locator(".stages").first.is_hidden()
    page.locator("article summary").first.click()
    assert page.locator(".stages").first.is_visible()
    assert box.evaluate("one => getComputedStyle(one).userSelect") == "all"


def test_on_paper_it_is_dark_on_white_and_unfolded(visit: Open) -> None:
    page = visit("week", color_scheme="dark")
    stage = page.locator("article details:not([open]) .stages").first
    assert stage.evaluate("one => one.checkVisibility({contentVisibilityAuto: true})") is False
    page.emulate_media(media="print", color_scheme="dark")
    style = page.evaluate(
        "[getComputedStyle(document.body)].map(s => [s.backgroundColor, s.color])"
    )
    assert style == [["rgb(255, 255, 255)", "rgb(0, 0, 0)"]]
    assert page.locator("button").first.is_hidden()
    assert stage.evaluate("one => one.getBoundingClientRect().height") > 0
    assert len(page.pdf(format="A4")) > 10_000


def test_a_dark_page_is_dark(visit: Open) -> None:
    page = visit("nothing")
    brightness = []
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        brightness.append(
            page.evaluate(
                "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)"
            )
        )
    light, dark = map(sum, brightness)
    assert light > 600
    assert dark < 100
