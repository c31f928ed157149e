"""Garbage and broken files of every origin: a file that loads or a clear refusal, never a crash."""

from __future__ import annotations

import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from import_sources import CASES, imported, loaded

from cronledger.adapters.imports.model import Imported, Origin
from cronledger.errors import ConfigError

ORIGINS = st.sampled_from(list(Origin))
FILES = {
    origin: [file.read_bytes() for file in sorted((CASES / origin.value).glob("*"))]
    for origin in Origin
    if (CASES / origin.value).is_dir()
}
FILES[Origin.DAGSTER] = [
    b"@schedule(cron_schedule='0 6 * * 1', job=j, execution_timezone='Asia/Tokyo')\ndef f(c): ...\n"
]
BITS = st.sampled_from(
    [word.encode() for word in ("*", "/", "%", "{{ x }}", "'", '"', ":", "- ", "\\", "~", "#", "(")]
    + [b"\n", b"\r\n", b"\t", b"\xff", b"\0", b"[", b"0", b"99", b"CRON_TZ=", b"@every"]
    + [b"&a ", b"*a", b"!!x ", b"---\n"]
)
CHEAP = settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow], deadline=None)


def survives(origin: Origin, data: bytes) -> None:
    try:
        found = imported(origin, data)
    except ConfigError:
        return
    text = data.decode("utf-8").replace("\r\n", "\n")
    is_sound(found, 1 + sum(text.count(end) for end in "\n\r\x85\u2028\u2029"))


def is_sound(found: Imported, lines: int) -> None:
    """Every entry is accounted for, each refusal has a line, and the file loads."""
    for entry in found.entries:
        assert 1 <= entry.line <= lines
        assert bool(entry.refusal) == (not entry.id)
    assert found.entries or found.cautions
    loaded(found)


@given(ORIGINS, st.text(max_size=300))
@CHEAP
def test_any_text_is_read_or_refused(origin: Origin, text: str) -> None:
    survives(origin, text.encode("utf-8", "replace"))


@given(ORIGINS, st.binary(max_size=200))
@CHEAP
def test_any_bytes_are_read_or_refused(origin: Origin, data: bytes) -> None:
    survives(origin, data)


@given(st.data())
@settings(CHEAP, max_examples=400)
def test_a_damaged_file_is_read_or_refused(data: st.DataObject) -> None:
    origin = data.draw(ORIGINS)
    text = data.draw(st.sampled_from(FILES[origin]))
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        length = data.draw(st.integers(0, 6))
        text = text[:start] + data.draw(BITS) + text[start + length :]
    survives(origin, text)


@given(
    st.sampled_from([Origin.CRONTAB, Origin.CRON_D, Origin.SUPERCRONIC]),
    st.lists(
        st.lists(
            st.text("0123456789*/,-~?LW#@ \t%={}'\"$ABCDEFmonjanTZ_", min_size=1, max_size=8),
            min_size=3,
            max_size=9,
        ),
        min_size=1,
        max_size=4,
    ),
)
@CHEAP
def test_lines_that_look_like_cron_are_read_or_refused(
    origin: Origin, lines: list[list[str]]
) -> None:
    survives(origin, "\n".join(" ".join(words) for words in lines).encode())


@given(st.text("0123456789*/,.-~:MonTueFri UTC", max_size=30))
@CHEAP
def test_any_calendar_expression_is_read_or_refused(text: str) -> None:
    survives(Origin.SYSTEMD, f"[Timer]\nOnCalendar={text}\n".encode())


def doubled(first: str, line: str) -> str:
    """A name that stands for twice the one before it, forty times over."""
    return first + "".join(line.format(new=n + 1, old=n) for n in range(40))


HURTFUL: dict[str, tuple[Origin, str]] = {
    "open brackets": (Origin.CRONTAB, "0 1 * * * " + "[ " * 20_000),
    "open braces": (Origin.CRONTAB, "0 1 * * * " + "{{" * 20_000),
    "open tags": (Origin.CRONTAB, "0 1 * * * " + "<%" * 20_000),
    "open substitutions": (Origin.CRONTAB, "0 1 * * * " + "$(date " * 8_000),
    "what leads up": (Origin.CRONTAB, "0 1 * * * " + "sudo -u x " * 5_000),
    "many fields": (Origin.CRONTAB, "* " * 500_000),
    "a long list": (Origin.CRONTAB, "1," * 30_000 + "1 * * * * x\n"),
    "a long setting": (Origin.CRONTAB, "A=" + "x" * 1_000_000 + "\n0 1 * * * x\n"),
    "a setting for many lines": (Origin.CRONTAB, f"A={'x' * 2_000}\n" + "0 1 * * * x\n" * 4_500),
    "deep lists": (Origin.KUBERNETES, "[" * 50_000),
    "open blocks": (Origin.KUBERNETES, "{%" * 500_000),
    "many documents": (Origin.KUBERNETES, "---\n" * 50_000),
    "shared parts": (
        Origin.KUBERNETES,
        "a0: &a0 [x, x]\n" + "".join(f"a{n + 1}: &a{n + 1} [*a{n}, *a{n}]\n" for n in range(40)),
    ),
    "many items": (
        Origin.GITHUB,
        "on: {schedule: [" + "{cron: '0 1 * * *'}," * 5_000 + "]}",
    ),
    "continued lines": (Origin.SYSTEMD, "[Timer]\n" + "OnCalendar=1,\\\n" * 50_000),
    "open parentheses": (Origin.CELERY, "beat_schedule = " + "(" * 5_000),
    "nested lists": (Origin.CELERY, "beat_schedule = " + "[" * 90 + "]" * 90),
    "unpacked twice": (
        Origin.CELERY,
        doubled("a0 = {}\n", "a{new} = {{**a{old}, **a{old}}}\n") + "beat_schedule = a40\n",
    ),
    "listed twice": (
        Origin.CELERY,
        doubled("a0 = [1]\n", "a{new} = [a{old}, a{old}]\n")
        + "beat_schedule = {'a': {'schedule': crontab(minute=a40)}}\n",
    ),
    "many signs": (Origin.AIRFLOW, "DAG('d', schedule=" + "-" * 3_000 + "1)"),
    "many sums": (Origin.AIRFLOW, "DAG('d', schedule='x', start_date=" + "1-" * 3_000 + "1)"),
}


@pytest.mark.parametrize("name", HURTFUL)
def test_a_file_made_to_hurt_takes_a_bearable_time(name: str) -> None:
    origin, text = HURTFUL[name]
    started = time.monotonic()
    survives(origin, text.encode())
    assert time.monotonic() - started < 30
