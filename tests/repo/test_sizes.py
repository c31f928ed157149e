"""Functions and files stay small; each exception stands here by name with its reason."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "cronledger"
FILE_LINES_MAX = 300
FUNCTION_LINES = 40
FUNCTION_LINES_WALL = 70

# Over 40 lines, under the wall, for a reason.
LONG_FUNCTIONS = {
    "adapters/observe/boards/overview.py:_is_anything_wrong": "a list of panels, not logic",
}


def _files() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


def _functions() -> Iterator[tuple[str, int]]:
    for file in _files():
        name = file.relative_to(SOURCE).as_posix()
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield f"{name}:{node.name}", _lines(node)


def _lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """From `def` to the end, the docstring left out."""
    assert function.end_lineno is not None
    length = function.end_lineno - function.lineno + 1
    first = function.body[0]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
        assert first.end_lineno is not None
        length -= first.end_lineno - first.lineno + 1
    return length


def test_no_file_is_longer_than_three_hundred_lines() -> None:
    lengths = {f: len(f.read_text("utf-8").splitlines()) for f in _files()}
    assert {f.name: n for f, n in lengths.items() if n > FILE_LINES_MAX} == {}


def test_no_function_is_longer_than_forty_lines_but_those_named() -> None:
    long = {name: n for name, n in _functions() if n > FUNCTION_LINES}
    assert set(long) == set(LONG_FUNCTIONS)
    assert max(long.values(), default=0) <= FUNCTION_LINES_WALL


def test_every_module_says_in_its_first_line_what_it_decides() -> None:
    silent = [
        f.relative_to(SOURCE).as_posix()
        for f in _files()
        if not (ast.get_docstring(ast.parse(f.read_text("utf-8"))) or "").strip()
    ]
    assert silent == []


def test_every_migration_number_is_used_once_and_none_is_left_out() -> None:
    folder = SOURCE / "adapters" / "postgres" / "migrations"
    numbers = sorted(int(f.name[:4]) for f in folder.glob("*.sql"))
    assert numbers == list(range(1, len(numbers) + 1))


def test_every_statement_file_says_why_and_is_used() -> None:
    folder = SOURCE / "adapters" / "postgres" / "sql"
    code = "".join(f.read_text("utf-8") for f in (SOURCE / "adapters").rglob("*.py"))
    for file in folder.glob("*.sql"):
        assert file.read_text("utf-8").startswith("-- "), file.name
        assert f'"{file.stem}"' in code, f"{file.name} is run by nobody"


def test_no_room_is_named_for_nothing_in_particular() -> None:
    banned = {"utils", "helpers", "common", "base", "manager", "misc"}
    assert [f for f in _files() if f.stem in banned or f.parent.name in banned] == []


def test_every_ignore_has_its_reason_beside_it() -> None:
    bare = []
    for root in ("src", "tests"):
        for file in sorted((ROOT / root).rglob("*.py")):
            for number, line in enumerate(file.read_text("utf-8").splitlines(), 1):
                for mark in ("# noqa:", "# type: ignore["):
                    _, found, rest = line.partition(mark)
                    if found and "#" not in rest and file != Path(__file__):
                        bare.append(f"{file.relative_to(ROOT)}:{number}")
    assert bare == []
