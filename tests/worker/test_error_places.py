"""Where a failing attempt was raised: in its log line, and behind the stored message."""

from __future__ import annotations

import json
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from crew import Crew
from cronledger.adapters.observe.logs import log_events
from cronledger.core.events import Attempted
from cronledger.core.lifecycle import Failure
from cronledger.worker.place import FILE_MAX, FUNCTION_MAX, place_of
from workbench import Workbench

JOBS = """
import json
from cronledger import Cancelled, Discard, Retry

def raises(job):
    raise ValueError("card 4111")

async def raises_async(job):
    raise ValueError("card 4111")

def inner():
    raise KeyError("cause")

def chained(job):
    try:
        inner()
    except KeyError as error:
        raise ValueError("card 4111") from error

def again(job):
    try:
        inner()
    except KeyError:
        raise

def in_a_library(job):
    json.loads("{")

async def discards(job):
    raise Discard("4111 is gone")

def retries(job):
    raise Retry()

def long(job):
    raise ValueError("x" * 5000)

def ends(job):
    job._cancellation.cancel("stopping")
    job.check()
"""
PLACES = {
    "raises": "jobs.py:6 in raises",
    "raises_async": "jobs.py:9 in raises_async",
    "chained": "jobs.py:18 in chained",
    "again": "jobs.py:12 in inner",
    "in_a_library": "jobs.py:27 in in_a_library",
    "discards": "jobs.py:30 in discards",
    "retries": "jobs.py:33 in retries",
    "long": "jobs.py:36 in long",
    "ends": "jobs.py:40 in ends",
}


def compiled(file: Path | str, text: str = JOBS) -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(compile(text, str(file), "exec"), names)
    return names


def raised(function: Any, *arguments: object) -> BaseException:
    with pytest.raises(BaseException) as caught:  # noqa: PT011  # whatever it is, its place counts
        function(*arguments)
    return caught.value


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", PLACES)
def test_a_failed_attempt_says_where_and_a_log_line_says_no_more(
    bench: Workbench, crew: Crew, here: Path, name: str
) -> None:
    bench.enqueue(max_attempts=1)
    crew.make({"work": compiled(here / "jobs.py")[name]}).run_until_idle()
    (event,) = crew.seen.wait_for(Attempted)
    (row,) = bench.rows("select error from cronledger.dead")
    assert event.error_at == PLACES[name]
    assert row["error"].endswith(f"({PLACES[name]})")
    out = StringIO()
    log_events(stream=out)(event)
    assert json.loads(out.getvalue())["error_at"] == PLACES[name]
    assert "4111" not in out.getvalue()


@pytest.mark.parametrize(("max_attempts", "kept"), [(1, 2000), (2, 500)])
def test_a_long_message_is_cut_and_its_place_is_not(
    bench: Workbench, crew: Crew, here: Path, max_attempts: int, kept: int
) -> None:
    ids = bench.enqueue(max_attempts=max_attempts)
    crew.make({"work": compiled(here / "jobs.py")["long"]}).run_until_idle()
    job = bench.queue.job(ids[0])
    assert job is not None
    assert job.error is not None
    assert len(job.error) == kept
    assert job.error.endswith("xxx (jobs.py:36 in long)")


def test_a_completed_attempt_and_one_that_timed_out_have_no_place(
    bench: Workbench, crew: Crew
) -> None:
    bench.enqueue()
    crew.make({"work": lambda job: None}).run_until_idle()
    assert [event.error_at for event in crew.seen.wait_for(Attempted)] == [None]
    assert Failure("timeout", "ran longer").raised_at is None


def test_an_exception_that_was_never_raised_has_no_place() -> None:
    assert place_of(ValueError("made, not raised")) is None


def test_a_file_elsewhere_is_named_by_its_last_two_parts(here: Path) -> None:
    error = raised(compiled("/srv/shop/app/jobs.py")["raises"], None)
    assert place_of(error) == "app/jobs.py:6 in raises"
    below = raised(compiled(here / "a" / "b" / "jobs.py")["raises"], None)
    assert place_of(below) == "a/b/jobs.py:6 in raises"


def test_a_current_directory_that_is_gone_is_no_reason_to_fail(here: Path) -> None:
    error = raised(compiled(here / "jobs.py")["raises"], None)
    here.rmdir()
    assert place_of(error) == f"{here.name}/jobs.py:6 in raises"


def test_an_installed_package_is_passed_over_for_the_code_that_called_it(here: Path) -> None:
    library = compiled("/x/lib/python3.11/site-packages/bank/client.py")["raises"]
    ours = compiled(here / "jobs.py", "def pay(call): call(None)")
    assert place_of(raised(ours["pay"], library)) == "jobs.py:1 in pay"


def test_where_all_is_library_the_innermost_frame_is_the_place(
    bench: Workbench, crew: Crew
) -> None:
    loads: Callable[[Any], object] = json.loads
    bench.enqueue()
    crew.make({"work": loads}).run_until_idle()
    (event,) = crew.seen.wait_for(Attempted)
    assert event.error_at is not None
    assert event.error_at.startswith("json/__init__.py:")
    assert event.error_at.endswith(" in loads")


def test_a_place_is_one_short_line_whatever_the_file_calls_itself() -> None:
    name = "f" * 500
    error = raised(compiled("a\n\x1b\ud800" * 200, f"def {name}(): 1 / 0")[name])
    place = place_of(error)
    assert place is not None
    assert place.isprintable()
    assert len(place) <= FILE_MAX + FUNCTION_MAX + len(":1 in ")
