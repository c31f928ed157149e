"""Whatever the bytes: a schedule file or a refusal with places, never anything else."""

from __future__ import annotations

import json
from pathlib import Path

import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schedule_files import read

from cronledger.adapters.config.load import sample
from cronledger.core.schedule import ScheduleFile
from cronledger.errors import ConfigError

CASES_FILE = Path(__file__).parent.parent / "cases" / "files_refused.yaml"
SEEDS = [
    case["text"] if case.get("head") is False else f"version: 1\nschedules:\n{case['text']}"
    for case in yaml.safe_load(CASES_FILE.read_text(encoding="utf-8"))["cases"]
]
SEEDS += [sample()] * 10
EXAMPLES = Path(__file__).parent.parent / "cases" / "examples"
SEEDS += [file.read_text(encoding="utf-8") for file in sorted(EXAMPLES.glob("*.yaml"))] * 5

# One example may take long on a busy machine; a hang may not.
SOME = settings(deadline=5000, suppress_health_check=[HealthCheck.too_slow])

# What YAML, cron and times are made of.
PIECES = [
    *"*&!%@`{}[]:,-?|>'\"#\n\t \\0LW/~\x00\x85\u2028\ufeff\ud7ff\u0663\U0001f600",
    *["<<", "---\n", "...\n", "%YAML 1.1\n", "&a ", "*a", "!!int ", "null", "1e999"],
    *["2026-02-30", "0001-01-01T00:00:00-14:00", "9999-12-31", "PT99999999999999999999W"],
    *[
        "every: PT1S",
        "rrule: FREQ=DAILY",
        "any: [{",
        "P1D",
        "FREQ=",
        "BYSETPOS=",
        "COUNT=999999999",
    ],
    *["60 * * * *", "0 0 30 2 *", "Europe/Berlin", "../../etc/passwd"],
]


def check(data: str | bytes) -> None:
    try:
        accepted(read(data))
    except ConfigError as error:
        refused(error)


def accepted(found: ScheduleFile) -> None:
    for schedule in found.schedules.values():
        assert schedule.job.queue in found.queues
        # What is accepted can be stored.
        json.dumps(schedule.job.payload, allow_nan=False, ensure_ascii=False).encode()


def refused(error: ConfigError) -> None:
    assert error.problems
    places = [(problem.line, problem.column) for problem in error.problems]
    assert places == sorted(places)
    for problem in error.problems:
        assert problem.line >= 1
        assert problem.column >= 1
        assert problem.message
        assert len(str(problem)) < 2000


@SOME
@given(st.binary(max_size=300))
def test_any_bytes(data: bytes) -> None:
    check(data)


@SOME
@given(st.text(st.sampled_from("".join(PIECES)) | st.characters(), max_size=200))
def test_any_text(text: str) -> None:
    check(text.encode("utf-8", "surrogatepass"))


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """A real file with a few places cut, doubled or replaced."""
    text: str = draw(st.sampled_from(SEEDS))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 12)))
        piece = draw(st.sampled_from([*PIECES, text[start:end] * 2, ""]))
        text = text[:start] + piece + text[end:]
    return text


@SOME
@given(mutated())
def test_any_slip_in_a_real_file(text: str) -> None:
    check(text.encode())


KEYS = [
    "version defaults queues schedules cron expr fields timezone dst gap fold wildcard day_rule",
    "start end grace objective deadline catchup policy window max order pause from to reason skip",
    "job queue kind payload priority max_attempts timeout lease backoff base cap every <<",
    "rrule at any month_end exdate rdate calendar roll except dates between dialect",
    "calendars weekend exclude include holidays country subdivision",
]
VALUES = st.sampled_from(
    [
        *["", "1", "0 2 * * *", "PT5M", "Europe/Berlin", "cron", "all", "2026-01-01"],
        *["P1M", "FREQ=WEEKLY;BYDAY=MO", "backward", "quartz", "H H * * *", "DE", "SAT"],
    ]
)
TREES = st.recursive(
    VALUES | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(" ".join(KEYS).split()), inner, max_size=6)
    ),
    max_leaves=25,
)


@SOME
@given(st.dictionaries(st.sampled_from(["calendars", "defaults", "queues", "schedules"]), TREES))
def test_any_tree_of_known_keys(tree: dict[str, object]) -> None:
    check(json.dumps({"version": "1"} | tree))


@SOME
@given(st.dictionaries(st.sampled_from(" ".join(KEYS).split()), TREES))
def test_any_schedule_of_known_keys(tree: dict[str, object]) -> None:
    check(json.dumps({"version": "1", "schedules": {"a": tree}}))


KINDS = st.one_of(
    st.sampled_from(["0 2 * * *", "* * * * *", "H H * * *"]).map(lambda text: {"cron": text}),
    st.just({"cron": {"expr": "0/20 0/5 * ? * *", "dialect": "quartz"}}),
    st.sampled_from(["PT1S", "PT5M", "P1D", "P1M", "7d"]).map(lambda text: {"every": text}),
    st.sampled_from(
        ["FREQ=DAILY", "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30", "FREQ=WEEKLY;BYDAY=MO;COUNT=99999"]
    ).map(lambda text: {"rrule": text}),
    st.just({"at": ["2026-01-01", "2100-01-01"]}),
)
COMPANY = st.fixed_dictionaries(
    {"start": st.sampled_from(["1970-01-01", "2026-01-05T09:00:00", "2198-01-01"])},
    optional={
        "month_end": st.just("backward"),
        "exdate": st.just(["2026-01-05T09:00:00"]),
        "rdate": st.just(["2026-01-06"]),
    },
)
TRIGGERS = st.one_of(
    KINDS,
    st.tuples(KINDS, COMPANY).map(lambda both: both[0] | both[1]),
    st.tuples(KINDS, COMPANY.map(lambda company: {"start": company["start"]})).map(
        lambda both: both[0] | both[1]
    ),
)
WHOLE = st.fixed_dictionaries(
    {},
    optional={
        "timezone": st.sampled_from(["Europe/Berlin", "Pacific/Apia"]),
        "dst": st.sampled_from(["cron", "rfc5545", "literal"]),
        "end": st.sampled_from(["2026-06-01", "2198-12-31"]),
        "calendar": st.sampled_from(
            [
                {"weekend": ["SAT", "SUN"]},
                {"exclude": ["2026-01-05"]},
                {"holidays": {"country": "DE"}},
            ]
        ),
        "roll": st.sampled_from(["preceding", "following", "none"]),
        "except": st.lists(
            st.sampled_from(
                [
                    {"dates": ["2026-01-05"]},
                    {"between": ["2000-01-01", "2198-01-01"]},
                    {"cron": "* * * * *"},
                    {"rrule": "FREQ=DAILY", "start": "1970-01-01"},
                ]
            ),
            max_size=3,
        ),
    },
)


@SOME
@given(TRIGGERS | st.lists(TRIGGERS, min_size=1, max_size=3).map(lambda of: {"any": of}), WHOLE)
def test_any_trigger_with_any_company(trigger: dict[str, object], whole: dict[str, object]) -> None:
    check(json.dumps({"version": "1", "schedules": {"a": trigger | whole}}))
