"""How each class of key looks on the page: a symbol and a word beside its colour, never alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cronledger.core.diff import OccurrenceClass


@dataclass(frozen=True, slots=True)
class Look:
    """`symbol` is one character that fonts have; `name` is the class in the style sheet;
    `meaning` is what the glossary says, in short."""

    symbol: str
    name: str
    meaning: str


LOOKS: Mapping[OccurrenceClass, Look] = {
    OccurrenceClass.MISSING: Look(
        "\N{MULTIPLICATION SIGN}", "ms", "expected, past its grace, and not recorded"
    ),
    OccurrenceClass.UNEXPECTED: Look("+", "un", "recorded, though no version of its time owes it"),
    OccurrenceClass.ORPHANED: Look("?", "or", "recorded, but its job is gone"),
    OccurrenceClass.DEAD: Look("\N{DAGGER}", "de", "its job failed for good"),
    OccurrenceClass.CANCELLED: Look("/", "ca", "its job was cancelled"),
    OccurrenceClass.LATE: Look("!", "la", "recorded after its grace"),
    OccurrenceClass.OMITTED: Look("\N{EN DASH}", "om", "left out by catch-up policy"),
    OccurrenceClass.SUPPRESSED: Look(
        "\N{DOUBLE VERTICAL LINE}", "su", "not owed after all: paused, skipped, overlap"
    ),
    OccurrenceClass.PRUNED: Look("~", "pr", "kept no longer, by the file's retention"),
    OccurrenceClass.RUNNING: Look(
        "\N{BLACK RIGHT-POINTING SMALL TRIANGLE}", "ru", "recorded in time, its job not finished"
    ),
    OccurrenceClass.COMPLETED: Look("\N{CHECK MARK}", "co", "recorded in time, its job completed"),
}
