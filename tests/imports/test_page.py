"""The page about imports names every warning there is, and the DST policy of every origin."""

from __future__ import annotations

import re
from pathlib import Path

import cronledger.adapters.imports as package
from cronledger.adapters.imports.convert import DST, MAX_ENTRIES
from cronledger.adapters.imports.model import Origin

PAGE = (Path(__file__).parents[2] / "docs" / "import.md").read_text(encoding="utf-8")
SOURCES = sorted(Path(str(package.__file__)).parent.glob("*.py"))


def test_every_warning_is_explained_and_none_that_is_not_given() -> None:
    code = "".join(file.read_text("utf-8") for file in SOURCES)
    given = set(re.findall(r'Caution\(\s*"([a-z-]+)"', code))
    rows = set(re.findall(r"^\| `([a-z-]+)` \|", PAGE, re.MULTILINE)) - set(Origin)
    once = PAGE.split("said once:")[1].split("## ")[0]
    assert given == rows | set(re.findall(r"`([a-z]+-?[a-z-]*)`", once))


def test_every_origin_stands_in_the_table_with_its_policy() -> None:
    rows = re.findall(r"^\| `([a-z.]+)` \| .* \| .* \| `(.*)` \| `(\w+)` \|$", PAGE, re.MULTILINE)
    assert {name: dst for name, dst, _ in rows} == {o.value: dst for o, dst in DST.items()}
    assert len(rows) == len(Origin)


def test_the_bounds_are_those_of_the_code() -> None:
    assert f"{MAX_ENTRIES:,} \nentries".replace(" \n", "\n") in PAGE
