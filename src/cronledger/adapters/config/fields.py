"""How one value of the file is read from its text, and its bounds.

Each function here makes a pydantic validator; what it raises is shown to people as it stands.
"""

from __future__ import annotations

import re
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import PlainValidator

from cronledger.adapters.config.findings import shown
from cronledger.core.instants import format_duration, parse_duration, parse_instant

if TYPE_CHECKING:
    from datetime import timedelta
    from enum import StrEnum

MAX_TEXT = 500
# A year inside what the core counts, so that no zone carries a time beyond it.
FIRST_YEAR = 1970
LAST_YEAR = 2198

_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_Day = TypeVar("_Day", date, datetime)
_INTEGER = re.compile(r"[-+]?[0-9]{1,9}")


def span(low: str, high: str) -> PlainValidator:
    """A duration between two others, both included."""
    least, most = parse_duration(low), parse_duration(high)

    def read(value: Any) -> timedelta:
        found = parse_duration(as_text(value, "a duration such as PT5M, 90s or 7d"))
        if not least <= found <= most:
            given = format_duration(found)
            raise ValueError(f"{given} is out of bounds; write a duration from {low} to {high}")
        return found

    return PlainValidator(read)


def integer(low: int, high: int) -> PlainValidator:
    """A whole number between two others, both included."""
    expected = f"a whole number from {low} to {high}"

    def read(value: Any) -> int:
        text = as_text(value, expected)
        if _INTEGER.fullmatch(text) is None or not low <= int(text) <= high:
            raise ValueError(f"expected {expected}, got {shown(text)}")
        return int(text)

    return PlainValidator(read)


def choice(kind: type[StrEnum]) -> PlainValidator:
    """One of the words of an enumeration."""
    words = [member.value for member in kind]
    expected = f"one of {', '.join(words)}"

    def read(value: Any) -> StrEnum:
        text = as_text(value, expected)
        if text not in words:
            raise ValueError(f"expected {expected}, got {shown(text)}")
        return kind(text)

    return PlainValidator(read)


def instant() -> PlainValidator:
    """A time, aware if it carries a zone, else naive."""
    expected = "a time such as 2026-03-29T01:00:00Z, or 2026-03-29T02:00:00 on the schedule's clock"

    def read(value: Any) -> datetime:
        return _within_years(parse_instant(as_text(value, expected)))

    return PlainValidator(read)


def day() -> PlainValidator:
    """A date."""
    expected = "a date such as 2026-12-25"

    def of(value: Any) -> date:
        found = as_text(value, expected)
        try:
            # Other spellings that Python takes, such as 2026-W01, are refused.
            read = date.fromisoformat(found if _DATE.fullmatch(found) else "")
        except ValueError:
            raise ValueError(f"expected {expected}, got {shown(found)}") from None
        return _within_years(read)

    return PlainValidator(of)


def _within_years(found: _Day) -> _Day:
    if not FIRST_YEAR <= found.year <= LAST_YEAR:
        years = f"write one from {FIRST_YEAR} to {LAST_YEAR}"
        raise ValueError(f"the year {found.year} is out of bounds; {years}")
    return found


def text(expected: str, longest: int, pattern: re.Pattern[str] | None = None) -> PlainValidator:
    """Printable text of bounded length, of the form `pattern` if there is one."""

    def read(value: Any) -> str:
        found = as_text(value, expected)
        fits = pattern is None or pattern.fullmatch(found)
        if len(found) > longest or not found.isprintable() or not fits:
            raise ValueError(f"expected {expected}, got {shown(found)}")
        return found

    return PlainValidator(read)


def as_text(value: Any, expected: str) -> str:
    """`value` if it is text that is not empty nor beyond `MAX_TEXT`, else ValueError."""
    if isinstance(value, dict | list):
        kind = "a list" if isinstance(value, list) else "a mapping"
        raise ValueError(f"expected {expected}, got {kind}")
    if not value:
        raise ValueError(f"no value; write {expected}, or remove the key")
    if len(value) > MAX_TEXT:
        raise ValueError(f"expected {expected}, got {len(value)} characters")
    assert isinstance(value, str)
    return value
