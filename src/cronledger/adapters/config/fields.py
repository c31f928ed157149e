"""How one value of the file is read from its text, and its bounds.

Each function here makes a pydantic validator; what it raises is shown to people as it stands.
"""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta
from math import prod
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from pydantic import PlainValidator, WithJsonSchema

from cronledger.adapters.config.findings import shown
from cronledger.core.instants import format_duration, parse_duration, parse_instant

if TYPE_CHECKING:
    from collections.abc import Callable
    from enum import StrEnum

MAX_TEXT = 500
_PER = {
    "s": timedelta(seconds=1),
    "m": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
}
# A year inside what the core counts, so that no zone carries a time beyond it.
FIRST_YEAR = 1970
LAST_YEAR = 2198

_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_Day = TypeVar("_Day", date, datetime)
_RATE = re.compile(r"([0-9]{1,6})/(s|m|h|d)")
_PARAMETER = re.compile(r"[a-z][a-z0-9_]{0,19}")
_PARAMETER_VALUE = re.compile(r"[A-Za-z0-9_.-]{1,40}")
COMBINATIONS_MAX = 1000
_INTEGER = re.compile(r"[-+]?[0-9]{1,9}")
# For the schema of the file: what an editor can check of a text before it is read.
_DURATION_FORM = (
    r"^(P(?=[0-9T])([0-9]+W)?([0-9]+D)?(T(?=[0-9])([0-9]+H)?([0-9]+M)?([0-9]+S)?)?|[0-9]+[smhdw])$"
)
_INSTANT_FORM = (
    r"^[0-9]{4}-[0-9]{2}-[0-9]{2}"
    r"([Tt ][0-9]{2}:[0-9]{2}(:[0-9]{2})?)?([Zz]|[+-][0-9]{2}:?[0-9]{2})?$"
)


def _reads(read: Callable[[Any], Any], form: dict[str, Any]) -> PlainValidator:
    """A validator whose place in the schema is `form`."""
    return PlainValidator(read, json_schema_input_type=Annotated[Any, WithJsonSchema(form)])


def span(low: str, high: str) -> PlainValidator:
    """A duration between two others, both included."""
    least, most = parse_duration(low), parse_duration(high)

    def read(value: Any) -> timedelta:
        found = parse_duration(as_text(value, "a duration such as PT5M, 90s or 7d"))
        if not least <= found <= most:
            given = format_duration(found)
            raise ValueError(f"{given} is out of bounds; write a duration from {low} to {high}")
        return found

    form = {"type": "string", "pattern": _DURATION_FORM, "examples": ["PT5M", "90s", "7d"]}
    return _reads(read, form)


def integer(low: int, high: int) -> PlainValidator:
    """A whole number between two others, both included."""
    expected = f"a whole number from {low} to {high}"

    def read(value: Any) -> int:
        text = as_text(value, expected)
        if _INTEGER.fullmatch(text) is None or not low <= int(text) <= high:
            raise ValueError(f"expected {expected}, got {shown(text)}")
        return int(text)

    bounded = {"type": "integer", "minimum": low, "maximum": high}
    return _reads(read, {"anyOf": [bounded, {"type": "string", "pattern": r"^[-+]?[0-9]{1,9}$"}]})


def choice(kind: type[StrEnum]) -> PlainValidator:
    """One of the words of an enumeration."""
    words = [member.value for member in kind]
    expected = f"one of {', '.join(words)}"

    def read(value: Any) -> StrEnum:
        text = as_text(value, expected)
        if text not in words:
            raise ValueError(f"expected {expected}, got {shown(text)}")
        return kind(text)

    # A digit without quotes is a number to an editor, and text to us.
    return _reads(read, {"enum": [*(int(word) for word in words if word.isdecimal()), *words]})


def instant() -> PlainValidator:
    """A time, aware if it carries a zone, else naive."""
    expected = "a time such as 2026-03-29T01:00:00Z, or 2026-03-29T02:00:00 on the schedule's clock"

    def read(value: Any) -> datetime:
        return _within_years(parse_instant(as_text(value, expected)))

    examples = ["2026-03-29T01:00:00Z", "2026-03-29T02:00:00"]
    return _reads(read, {"type": "string", "pattern": _INSTANT_FORM, "examples": examples})


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

    form = {"type": "string", "format": "date", "examples": ["2026-12-25"]}
    return _reads(of, form)


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

    form: dict[str, Any] = {"type": ["string", "number", "boolean"], "minLength": 1}
    form["maxLength"] = longest
    if pattern is not None:
        form["pattern"] = f"^{pattern.pattern}$"
    return _reads(read, form)


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


def pace() -> PlainValidator:
    """A rate such as 60/m, as the span between two."""
    expected = "a rate such as 60/m, 1/s or 500/h"

    def read(value: Any) -> timedelta:
        found = _RATE.fullmatch(as_text(value, expected))
        if found is None or int(found[1]) == 0:
            raise ValueError(f"expected {expected}, got {shown(value)}")
        return _PER[found[2]] / int(found[1])

    return _reads(read, {"type": "string", "pattern": f"^{_RATE.pattern}$", "examples": ["60/m"]})


def matrix() -> PlainValidator:
    """Parameters by name, each a list of values that a key may hold."""
    expected = "parameters such as {region: [eu, us]}"

    def read(value: Any) -> dict[str, tuple[str, ...]]:
        if not isinstance(value, dict) or not value:
            raise ValueError(f"expected {expected}")
        found = {name: _values(name, given) for name, given in value.items()}
        if prod(map(len, found.values())) > COMBINATIONS_MAX:
            raise ValueError(f"more than {COMBINATIONS_MAX} combinations; write several schedules")
        return found

    values = {"type": "array", "minItems": 1, "items": {"type": ["string", "number", "boolean"]}}
    names = {"pattern": f"^{_PARAMETER.pattern}$"}
    form = {"type": "object", "minProperties": 1, "propertyNames": names}
    return _reads(read, {**form, "additionalProperties": values})


def _values(name: Any, given: Any) -> tuple[str, ...]:
    if _PARAMETER.fullmatch(str(name)) is None:
        raise ValueError(f"{shown(name)} is no parameter; write a-z, 0-9 and '_', a letter first")
    values = given if isinstance(given, list) else []
    for value in values:
        if not isinstance(value, str) or _PARAMETER_VALUE.fullmatch(value) is None:
            form = "letters, digits, '_', '.' and '-', at most 40 characters"
            raise ValueError(f"{name}: {shown(value)} cannot stand in a key; write {form}")
    if not values or len(set(values)) != len(values):
        raise ValueError(f"{name}: expected a list of different values; write [eu, us], say")
    return tuple(values)
