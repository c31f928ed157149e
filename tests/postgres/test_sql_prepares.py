"""Every statement that is sent is one that the real schema can prepare."""

from __future__ import annotations

import re
from importlib import resources

import psycopg
import pytest

FOLDER = resources.files("cronledger.adapters.postgres").joinpath("sql")
STATEMENTS = sorted(f.name for f in FOLDER.iterdir() if f.name.endswith(".sql"))


def as_numbered(text: str) -> str:
    """The statement with each `%(name)s` as `$n`, a name keeping its number."""
    numbers: dict[str, int] = {}
    return re.sub(
        r"%\((\w+)\)s", lambda m: f"${numbers.setdefault(m[1], len(numbers) + 1)}", text
    ).replace("%%", "%")


def test_there_are_statements() -> None:
    assert len(STATEMENTS) > 15


def test_every_sql_file_prepares_on_the_real_schema(any_database: str) -> None:
    failed = {}
    with psycopg.connect(any_database, autocommit=True) as connection:
        for name in STATEMENTS:
            text = as_numbered(FOLDER.joinpath(name).read_text("utf-8"))
            # SET cannot be prepared; it can be run.
            prepared = "" if "\nset " in text else f"prepare p_{name[:-4]} as "
            try:
                with connection.transaction():
                    connection.execute(f"{prepared}{text}".encode())
            except psycopg.Error as error:
                failed[name] = str(error)
    assert failed == {}


@pytest.mark.parametrize("name", STATEMENTS)
def test_every_sql_file_is_one_statement_that_says_why(name: str) -> None:
    text = FOLDER.joinpath(name).read_text("utf-8")
    assert text.startswith("-- ")
    assert ";" not in re.sub(r"--.*", "", text)
