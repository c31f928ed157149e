"""How reconcile's machine formats are written: key by key, so that only the table holds its rows,
since their widths decide its columns."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Protocol

from cronledger.cli import render
from cronledger.cli.explain_key import key_row
from cronledger.core.instants import Window, format_instant, from_epoch
from cronledger.core.keys import OccurrenceKey

if TYPE_CHECKING:
    from cronledger.core.diff import Finding, OccurrenceClass
    from cronledger.core.report import Report, Section

COLUMNS = ("key", "class", "reason", "age", "state", "recorded_at", "claimed_at", "committed_at")
# Of a row, in the order in which CSV has them.
FIELDS = (
    "key",
    "schedule",
    "logical_time",
    "class",
    "fate",
    "reason",
    "cause",
    "age_seconds",
    "state",
    "job_id",
    "via",
    "recorded_at",
    "enqueued_at",
    "claimed_at",
    "committed_at",
)


class Writer(Protocol):
    """Hears of every key, and at last of the report."""

    def key(self, schedule: str, finding: Finding) -> None:
        """The next key."""

    def end(self, report: Report) -> None:
        """No key is left."""


class Whole:
    """Formats that show the report and no list of keys."""

    def key(self, schedule: str, finding: Finding) -> None:
        """The report has what is shown of it."""

    def end(self, report: Report) -> None:
        """Whoever made this writes the report."""


class Rows:
    """Formats with a row for each key of the classes in `shown`."""

    def __init__(self, shown: Collection[OccurrenceClass]) -> None:
        self._shown = frozenset(shown)

    def key(self, schedule: str, finding: Finding) -> None:
        if finding.occurrence_class in self._shown:
            self.row(key_row(OccurrenceKey(schedule, from_epoch(finding.epoch)), finding))

    def row(self, row: dict[str, Any]) -> None:
        raise NotImplementedError

    def end(self, report: Report) -> None:
        """Nothing but the rows."""


class Lines(Rows):
    """JSON lines."""

    def row(self, row: dict[str, Any]) -> None:
        render.write(_json(row) + "\n")


class Csv(Rows):
    """Comma-separated values; the header stands there without rows as well."""

    def __init__(self, shown: Collection[OccurrenceClass]) -> None:
        super().__init__(shown)
        render.write(render.csv_line(FIELDS))

    def row(self, row: dict[str, Any]) -> None:
        render.write(render.csv_line([row[field] for field in FIELDS]))


class Json(Rows):
    """One object; the list of keys comes first, since it is written before the sums are known."""

    def __init__(
        self, shown: Collection[OccurrenceClass], file: str, now: datetime, window: Window
    ) -> None:
        from cronledger.core.report import VERSION

        super().__init__(shown)
        self._comma = ""
        head = {
            "schema_version": VERSION,
            "file": file,
            "now": now,
            "window": {"from": window.start, "to": window.end},
        }
        fields = ",\n".join(f"  {_json(name)}: {_json(value)}" for name, value in head.items())
        render.write(f'{{\n{fields},\n  "occurrences": [')

    def row(self, row: dict[str, Any]) -> None:
        render.write(f"{self._comma}\n    {_json(row)}")
        self._comma = ","

    def end(self, report: Report) -> None:
        render.write("\n  ],\n" if self._comma else "],\n")
        tail = {
            "interrupted_after": report.interrupted_after,
            "expected": report.expected,
            "recorded": report.recorded,
            "summary": _summary(report.counts),
            "schedules": {s.schedule: _schedule(report, s) for s in report.sections},
        }
        fields = ",\n".join(f"  {_json(name)}: {_json(value)}" for name, value in tail.items())
        render.write(f"{fields}\n}}\n")


class Table(Rows):
    """For people: gravest class first, and a line that sums up."""

    def __init__(self, shown: Collection[OccurrenceClass]) -> None:
        super().__init__(shown)
        self._rows: list[dict[str, Any]] = []

    def row(self, row: dict[str, Any]) -> None:
        self._rows.append(row | {"age": timedelta(seconds=row["age_seconds"])})

    def end(self, report: Report) -> None:
        from cronledger.cli.report_text import summary
        from cronledger.core.diff import OccurrenceClass

        severity = list(OccurrenceClass)
        self._rows.sort(key=lambda row: severity.index(row["class"]))
        render.write(render.table(self._rows, COLUMNS))
        render.say(summary(report))


def _json(value: object) -> str:
    return json.dumps(value, default=render.machine)


def _summary(counts: Mapping[OccurrenceClass, int]) -> dict[str, int]:
    from cronledger.core.diff import OccurrenceClass

    return {str(word): counts.get(word, 0) for word in OccurrenceClass}


def _schedule(report: Report, section: Section) -> dict[str, Any]:
    from cronledger.core.report import gap_command

    return {
        "expected": section.expected,
        "recorded": section.recorded,
        "in_grace": section.in_grace,
        "summary": _summary(section.counts),
        "gaps": [
            {
                "first": format_instant(from_epoch(gap.first)),
                "last": format_instant(from_epoch(gap.last)),
                "count": gap.count,
                "command": gap_command(report, section, gap),
            }
            for gap in section.gaps
        ],
        "more_gaps": section.more_gaps,
    }
