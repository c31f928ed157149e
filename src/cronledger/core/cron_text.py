"""Cron text to its fields: layouts, macros, `H` resolved, and the column of each mistake."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from cronledger.core import cron_field
from cronledger.core.cron_field import CronError, Field, Kind, read_field, read_word
from cronledger.core.cron_hash import resolve

if TYPE_CHECKING:
    from collections.abc import Mapping

TEXT_MAX = 500


class Layout(StrEnum):
    """Which fields a cron text has, spelled as the schedule file spells it."""

    FIVE = "5"
    SECONDS = "6s"  # seconds first
    YEAR = "6y"  # year last
    SEVEN = "7"  # seconds first, year last


_DAY_KINDS = (cron_field.DAY, cron_field.MONTH, cron_field.WEEKDAY)
_FIVE = (cron_field.MINUTE, cron_field.HOUR, *_DAY_KINDS)
_KINDS: Final[Mapping[Layout, tuple[Kind, ...]]] = {
    Layout.FIVE: _FIVE,
    Layout.SECONDS: (cron_field.SECOND, *_FIVE),
    Layout.YEAR: (*_FIVE, cron_field.YEAR),
    Layout.SEVEN: (cron_field.SECOND, *_FIVE, cron_field.YEAR),
}
_MACROS: Final[Mapping[str, str]] = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}


def read_fields(text: str, layout: Layout, seed: str) -> tuple[str, Mapping[Kind, Field]]:
    """The text with each `H` resolved for the schedule called `seed`, and its fields by kind."""
    kinds, words = _KINDS[layout], text.split()
    if len(words) == len(kinds) and text.isascii() and "H" not in text.upper():
        try:
            return text, dict(zip(kinds, map(read_word, kinds, words), strict=True))
        except CronError:
            pass  # read again below, to say at which column
    return _read_with_columns(text, layout, seed)


def _read_with_columns(text: str, layout: Layout, seed: str) -> tuple[str, Mapping[Kind, Field]]:
    words = [(word[0], word.start()) for word in re.finditer(r"\S+", text)]
    if words and words[0][0].startswith("@"):
        expanded = _expand_macro(*words[0], len(words), layout)
        words = [(word, 0) for word in expanded.split()]
    kinds = _KINDS[layout]
    if len(words) != len(kinds):
        raise _miscounted(text, words, kinds)
    shown = [resolve(kind, *word, seed) for kind, word in zip(kinds, words, strict=True)]
    read = {
        kind: read_field(kind, word, column)
        for kind, word, (_, column) in zip(kinds, shown, words, strict=True)
    }
    changed = any(word != found for word, (found, _) in zip(shown, words, strict=True))
    return " ".join(shown) if changed else text, read


def place_of(kind: Kind, text: str, layout: Layout) -> int:
    """The column at which the field of that kind begins."""
    return [word.start() for word in re.finditer(r"\S+", text)][_KINDS[layout].index(kind)]


def _expand_macro(word: str, column: int, words: int, layout: Layout) -> str:
    name = word.lower()
    if name == "@reboot":
        hint = "start the work from the service itself, or write a time"
        raise CronError(f"@reboot names no time, so nothing can be owed at it; {hint}", column)
    if name == "@every":
        hint = "write every: PT5M in place of cron:"
        raise CronError(f"@every is an interval, not a cron; {hint}", column)
    if name not in _MACROS:
        raise CronError(f"unknown {word[:20]!r}; write one of {', '.join(_MACROS)}", column)
    if words > 1:
        raise CronError(f"{name} stands alone; remove what follows it", column)
    if layout is not Layout.FIVE:
        hint = f"remove fields: {layout.value}, or write the fields"
        raise CronError(f"{name} stands for five fields; {hint}", column)
    return _MACROS[name]


def _miscounted(text: str, words: list[tuple[str, int]], kinds: tuple[Kind, ...]) -> CronError:
    order = " ".join(kind.name for kind in kinds)
    column = words[len(kinds)][1] if len(words) > len(kinds) else len(text.rstrip())
    if words and re.match(r"(CRON_)?TZ=", words[0][0]):
        return CronError("a cron holds no zone; write timezone: beside it", words[0][1])
    problem = f"{len(words)} field{'' if len(words) == 1 else 's'} instead of {len(kinds)}"
    if kinds is not _FIVE or len(words) not in {6, 7}:
        return CronError(f"{problem}; write {order}", column)
    spelled = " ".join(word for word, _ in words)
    forms = ("6s", "6y") if len(words) == 6 else ("7",)
    hint = " or ".join(f'{{expr: "{spelled}", fields: {form}}}' for form in forms)
    meaning = " (6s: seconds first, 6y: year last)" if len(words) == 6 else ""
    return CronError(f"{problem}, which schedulers read differently; write {hint}{meaning}", column)
