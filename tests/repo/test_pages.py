"""What the pages tell people to type exists, and the tests that they name do."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from cronledger.cli.app import run

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
# In a code block or between backquotes, up to the end of either.
COMMAND = re.compile(r"(?:^\$? ?|`)cronledger ((?:[a-z-]+)(?: [^`\n|;]*)?)", re.MULTILINE)
# Where a sentence begins with the name.
PROSE = ("turns ",)
GROUPS = {"jobs", "dead", "effects", "queue", "audit", "export"}


def commands() -> list[tuple[str, str]]:
    found = {
        (page.relative_to(ROOT).as_posix(), match[1].strip())
        for page in PAGES
        if "adr" not in page.parts
        for match in COMMAND.finditer(page.read_text(encoding="utf-8"))
        if not match[1].startswith(PROSE)
    }
    return sorted(found)


@pytest.mark.parametrize(("page", "command"), commands())
def test_every_command_of_a_page_exists_with_its_options(
    page: str, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = shlex.split(command, comments=True)
    name = words[: 2 if words[0] in GROUPS and len(words) > 1 else 1]
    if name[-1].startswith("-"):
        name = name[:-1]
    assert run([*name, "--help"]) == 0, f"{page}: there is no command {' '.join(name)}"
    said = capsys.readouterr().out
    for word in words:
        if word.startswith("--") and word != "--help":
            option = word.partition("=")[0]
            assert re.search(rf"{option}\b", said), f"{page}: {' '.join(name)} has no {option}"


def test_every_test_that_the_guarantees_name_is_there() -> None:
    page = (ROOT / "docs" / "guarantees.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:tests/[a-z_/]+)?test_[a-z_]+\.py)`", page))
    assert len(named) > 15
    for name in named:
        found = [ROOT / name] if "/" in name else list((ROOT / "tests").rglob(name))
        assert found, name
        assert all(file.exists() for file in found), name
    for case in re.findall(r"\bQ\d{3}\b", page):
        assert any(
            f"test_{case.lower()}_" in file.read_text(encoding="utf-8")
            for file in (ROOT / "tests").rglob("test_*.py")
        ), case


def test_every_function_of_the_protocol_is_there_with_as_many_arguments() -> None:
    page = (ROOT / "docs" / "protocol.md").read_text(encoding="utf-8")
    folder = ROOT / "src" / "cronledger" / "adapters" / "postgres" / "migrations"
    text = "\n".join(file.read_text(encoding="utf-8") for file in sorted(folder.glob("*.sql")))
    defined = {
        name: len(arguments.split(","))
        for name, arguments in re.findall(
            r"create function cronledger\.(\w+)\(([^)]*)\)", re.sub(r"default '[^']*'", "", text)
        )
    }
    called = re.findall(r"cronledger\.(\w+)\(([^)]*)\)", page)
    assert len(called) >= 9
    for name, arguments in called:
        assert len(arguments.split(",")) <= defined[name], name
    for name in re.findall(
        r"`(\w+)`", page.partition("## What operators call")[2].split("each")[0]
    ):
        assert name in defined, name
