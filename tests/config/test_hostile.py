"""Bombs, giants and rubbish: a clear refusal, soon."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from schedule_files import problems, refusal, zones

from cronledger.adapters.config.load import load
from cronledger.adapters.config.source import MAX_BYTES
from cronledger.errors import ConfigError

# Of this process; the promise is one second on a machine that does nothing else.
SOON_SECONDS = 3.0
FULL = MAX_BYTES - 1000
HEAD = "version: 1\nx: "


@contextmanager
def soon() -> Iterator[None]:
    began = time.process_time()
    yield
    assert time.process_time() - began < SOON_SECONDS


def alias_bomb() -> str:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    for level in range(1, 10):
        inner = ", ".join([f"*a{level - 1}"] * 9)
        lines.append(f"a{level}: &a{level} [{inner}]")
    return "\n".join(lines)


BOMBS: dict[str, tuple[Callable[[], str], str]] = {
    "aliases of aliases": (alias_bomb, "alias '*a0' is not read"),
    "many aliases": (lambda: HEAD + "[" + "*a," * (FULL // 3), "1000 problems found"),
    "many lists": (lambda: HEAD + "[" + "[]," * (FULL // 3), "more than 20000 values"),
    "many lines": (lambda: HEAD + "\n" + "- \n" * (FULL // 3), "more than 20000 values"),
    "many keys": (
        lambda: "\n".join(f"a{number}: {{}}" for number in range(400_000)),
        "more than 20000 keys",
    ),
    "many equal keys": (lambda: HEAD + "{" + "a," * (FULL // 2), "1000 problems found"),
    "deep flow lists": (lambda: HEAD + "[" * FULL, "nested deeper than 20 levels"),
    "deep flow mappings": (lambda: HEAD + "{a: " * (FULL // 4), "nested deeper than 20 levels"),
    "deep block lists": (lambda: "- " * (FULL // 2), "nested deeper than 20 levels"),
    "deep keys": (lambda: "? " * (FULL // 2), "nested deeper than 20 levels"),
    "a long text": (lambda: HEAD + "a " * (FULL // 2), "unknown key 'x'"),
    "a text without end": (lambda: HEAD + '"' + "a" * FULL, "unexpected end of stream"),
    "a long key": (lambda: "schedules: {" + "a" * FULL + ": 1}", "does not end before this"),
    "a long cron": (
        lambda: 'version: 1\nschedules: {a: {cron: "' + "*," * (FULL // 2) + '"}}',
        "a: cron: expected a cron expression",
    ),
    "many documents": (lambda: "---\n" * (FULL // 4), "a second document starts here"),
    "many directives": (lambda: "%a b\n" * (FULL // 5), "unknown directive"),
    "comments only": (lambda: "#" * FULL, "the file is empty"),
    "empty lines": (lambda: "\n" * FULL, "the file is empty"),
    "many tags": (lambda: HEAD + "!a " * (FULL // 3), "tag '!a' is not read"),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_refused_soon(name: str) -> None:
    build, expected = BOMBS[name]
    text = build()
    with soon():
        found = problems(text)
    assert any(expected in line for line in found)
    assert sum(map(len, found)) < 200_000


RUBBISH = {
    "NUL": (b"version: 1\n\x00", "2:1: control character U+0000 is not text; remove it"),
    "control characters": (b"a: \x1b[1m", "1:4: control character U+001B is not text; remove it"),
    "UTF-16": ("version: 1".encode("utf-16"), "1:1: the file is UTF-16; save it as UTF-8"),
    "Latin-1": (
        "version: 1\nx: gr\u00fcn".encode("latin-1"),
        "2:6: byte 0xfc is not UTF-8; save the file as UTF-8 text",
    ),
    "cut short": (
        "x: \u20ac".encode()[:-1],
        "1:4: byte 0xe2 is not UTF-8; save the file as UTF-8 text",
    ),
    "surrogates": (b"x: \xed\xa0\x80", "1:4: byte 0xed is not UTF-8; save the file as UTF-8 text"),
    "gzip": (
        b"\x1f\x8b\x08\x00\x00",
        "1:2: byte 0x8b is not UTF-8; save the file as UTF-8 text",
    ),
}


@pytest.mark.parametrize("name", RUBBISH)
def test_rubbish_is_refused_with_its_place(name: str) -> None:
    data, expected = RUBBISH[name]
    assert problems(data) == [expected]


def test_random_bytes_are_refused_soon() -> None:
    data = random.Random(7).randbytes(FULL)
    with soon():
        assert len(refusal(data).problems) == 1


def _refused(path: Path) -> str:
    with soon(), pytest.raises(ConfigError) as refused:
        load(path, zones())
    (problem,) = refused.value.problems
    assert problem.file == str(path)
    return problem.message


def test_a_huge_file_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "huge.yaml"
    with path.open("wb") as file:
        file.truncate(50 * 1024 * 1024 * 1024)
    assert _refused(path) == (
        "the file is too large (53687091200 bytes); a schedule file has at most 8388608 bytes"
    )


def test_a_device_without_end_is_refused() -> None:
    assert _refused(Path("/dev/zero")) == (
        "the file is too large (more); a schedule file has at most 8388608 bytes"
    )


def test_too_many_bytes_are_refused_however_they_come() -> None:
    assert problems(b"#" * (MAX_BYTES + 1)) == [
        "1:1: the file is too large (8388609 bytes); a schedule file has at most 8388608 bytes"
    ]


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    expected = "there is no such file; 'cronledger init' writes one to start from"
    assert _refused(tmp_path / "none.yaml") == expected


def test_a_directory_is_refused(tmp_path: Path) -> None:
    assert _refused(tmp_path) == "is a directory; name the schedule file in it"


def test_a_name_that_no_file_can_have_is_refused() -> None:
    assert "cannot be read" in _refused(Path("a\0b"))
    assert "cannot be read" in _refused(Path("a" * 5000))
    assert "cannot be read" in _refused(Path(__file__) / "b.yaml")


def test_a_file_that_may_not_be_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "secret.yaml"
    path.write_text("version: 1\n")
    path.chmod(0)
    with _as_nobody():
        assert _refused(path) == "may not be read by this user; change its permissions"


@contextmanager
def _as_nobody() -> Iterator[None]:
    """Root may read every file, so root becomes somebody else for a moment."""
    before = os.geteuid()
    if before == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(before)


def test_a_large_file_is_read_in_a_few_seconds() -> None:
    rows = "".join(
        f'  job-{number}:\n    cron: "{number % 60} {number % 24} * * *"\n'
        f"    timezone: Europe/Berlin\n    catchup: {{policy: all, window: P7D}}\n"
        f"    job: {{queue: q{number % 20}, kind: work, payload: {{n: {number}}}}}\n"
        for number in range(2000)
    )
    text = f"version: 1\nschedules:\n{rows}"
    with soon():
        assert len(refusal(text + "extra: 1\n").problems) == 1
