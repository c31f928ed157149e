"""The only module that prints: tables for people, JSON, JSON lines, CSV and Markdown for the rest.

Machine formats are written as they are, never folded, coloured or aligned.
"""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

import typer

from cronledger.core.instants import format_instant, human_span

SCHEMA_VERSION = 1

Row = Mapping[str, Any]


class Format(StrEnum):
    TABLE = "table"
    JSON = "json"
    JSONL = "jsonl"
    CSV = "csv"
    MARKDOWN = "markdown"


def say(text: str) -> None:
    """A line of data, on stdout."""
    print(text)


def write(text: str) -> None:
    """Data as it is, on stdout."""
    sys.stdout.write(text)


def tell(text: str) -> None:
    """A line for whoever watches, on stderr."""
    print(text, file=sys.stderr, flush=True)


@contextmanager
def progress(length: int) -> Iterator[Callable[[int], None]]:
    """A progress bar on stderr, if that is a terminal; gives what advances it."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    with typer.progressbar(length=length, file=sys.stderr) as bar:
        yield bar.update


def show(
    output: Format,
    name: str,
    rows: Sequence[Row],
    columns: Sequence[str],
    extra: Mapping[str, Any] | None = None,
) -> None:
    """Write `rows` to stdout. JSON is `{schema_version, <extra>, <name>: [rows]}`.

    `columns` are what tables show; machine formats carry every field of the rows.
    """
    match output:
        case Format.TABLE:
            sys.stdout.write(table(rows, columns))
        case Format.MARKDOWN:
            sys.stdout.write(_markdown(rows, columns))
        case Format.JSON:
            whole = {"schema_version": SCHEMA_VERSION, **(extra or {}), name: list(rows)}
            sys.stdout.write(json.dumps(whole, default=machine, indent=2) + "\n")
        case Format.JSONL:
            sys.stdout.writelines(json.dumps(row, default=machine) + "\n" for row in rows)
        case Format.CSV:
            sys.stdout.write(_csv(rows, columns))


def annotation(level: str, properties: Mapping[str, object], message: str) -> str:
    """A workflow command that GitHub shows; `level` is error, warning or notice."""
    listed = ",".join(f"{name}={_property(str(value))}" for name, value in properties.items())
    return f"::{level} {listed}::{_data(message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def machine(value: object) -> str | float:
    """A value as machine formats have it: RFC 3339 UTC with Z, naive wall times, seconds."""
    if isinstance(value, datetime):
        return value.isoformat() if value.tzinfo is None else format_instant(value)
    if isinstance(value, timedelta):
        return value.total_seconds()
    return str(value)


def table(rows: Sequence[Row], columns: Sequence[str]) -> str:
    """Columns padded to their widest value, under their names; "" for no rows."""
    if not rows:
        return ""
    return aligned([_cells(rows, column) for column in columns])


def aligned(columns: Sequence[Sequence[str]]) -> str:
    """Columns of text side by side, each as wide as its widest cell; the first cell is its name."""
    widths = [max(map(len, column)) for column in columns]
    pad = "  ".join(f"{{:<{width}}}" for width in widths).format
    return "".join(pad(*line).rstrip() + "\n" for line in zip(*columns, strict=True))


def _cells(rows: Sequence[Row], column: str) -> list[str]:
    """One column of a table, its name first."""
    values = [row.get(column) for row in rows]
    # Most values of a long table are text already.
    shown = [value if type(value) is str else person(value) for value in values]
    return [head(column), *shown]


def head(column: str) -> str:
    """The name of a column as tables show it."""
    return column.replace("_", " ").upper()


def person(value: object) -> str:
    """A value as tables show it; `-` for none."""
    if isinstance(value, str):
        return value
    if value is None:
        return "-"
    if isinstance(value, timedelta):
        return human_span(value)
    if isinstance(value, datetime) and value.tzinfo is None:
        return value.isoformat(" ")
    return str(machine(value)) if isinstance(value, datetime) else str(value)


def _markdown(rows: Sequence[Row], columns: Sequence[str]) -> str:
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    for row in rows:
        cells = (person(row.get(column)).replace("|", "\\|") for column in columns)
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _csv(rows: Sequence[Row], columns: Sequence[str]) -> str:
    fields = list(rows[0]) if rows else list(columns)
    lines = ([row.get(field) for field in fields] for row in rows)
    return csv_line(fields) + "".join(map(csv_line, lines))


def csv_line(values: Sequence[object]) -> str:
    """One line of CSV, with its end."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow([_cell(value) for value in values])
    return text.getvalue()


def _cell(value: object) -> str | int | float:
    """As JSON would have it, where CSV can say it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return value if isinstance(value, str | int | float) else machine(value)
