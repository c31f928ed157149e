"""What docs/metrics.md says. `python -m cronledger.adapters.observe.reference` prints it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping

from cronledger.adapters.observe.signals import GOLDEN, MINIMUM
from cronledger.core.catalogue import CATALOGUE, KINDS_MAX, OTHER, Metric, Source

_HEADINGS: Mapping[Source, tuple[str, str]] = {
    Source.FILE: (
        "From the schedule file",
        "The same on every replica that has loaded the same file: fold with `max`.",
    ),
    Source.DB: (
        "Measured in the database",
        "Read at each snapshot, the same for every replica: fold with `max`.",
    ),
    Source.LEDGER: (
        "Counted in the database",
        "Durable counters and histograms: they survive restarts and are the same on every replica."
        f" Fold with `max`, never with `sum`. {KINDS_MAX} kinds have series of their own, those"
        f" with the most jobs when the process began first; all others are `{OTHER}`.",
    ),
    Source.PROCESS: (
        "Of this process",
        "Counters and histograms start at 0 with the process: fold them with `sum`, gauges as the"
        " question asks.",
    ),
}

_INTRODUCTION = """\
# Metrics

<!-- Written by `python -m cronledger.adapters.observe.reference`; edit src/cronledger/core. -->

`/metrics` serves the last snapshot from memory and never asks the database.

- Ages are not exported, timestamps are: `time() - x` is the age, and it keeps growing when the
  exporter stalls. `NaN` says that there is none or that it never happened; comparisons drop it.
- The threshold is a metric too (`..._objective_seconds`), so that one alert serves every schedule.
- A series that is not there yet is not known. Known label sets are there at 0 from the first
  snapshot.
- `cronledger_snapshot_timestamp_seconds` tells how old everything measured is.

The recording rules in `rules/` fold replicas and turn timestamps into ages; the alerts in `alerts/`
and the dashboards in `dashboards/` are built on them. None of the alerts looks at queue depth.

## Definitions

| term | meaning |
|---|---|
| due | the logical time of the occurrence key has come |
| expected | the key follows from the schedule versions in force, and lies in the lookback |
| missing | expected, past due plus grace, and neither recorded nor omitted nor suppressed |
| unexpected | recorded in the lookback, but under no schedule version that was in force |
| orphaned | recorded, but its job is gone without an outcome |
| eligible | a worker could claim the job this instant, whether or not anybody promoted it |
| unfinished | not completed, cancelled or dead; a missing occurrence is unfinished as well |
"""


def reference() -> str:
    """The whole page, in Markdown."""
    return "\n".join([_INTRODUCTION, *_answers(), *_sections()])


def _answers() -> Iterator[str]:
    for heading, signals in (
        ("The four golden signals", GOLDEN),
        ("What a first board must show", MINIMUM),
    ):
        rows = "\n".join(f"| {s.asked} | `{s.metric}` | {s.panel} |" for s in signals)
        yield f"## {heading}\n\n| asked | metric | board: panel |\n|---|---|---|\n{rows}\n"


def _sections() -> Iterator[str]:
    for source, (heading, note) in _HEADINGS.items():
        rows = "\n".join(_row(m) for m in CATALOGUE.values() if m.source is source)
        yield (
            f"## {heading}\n\n{note}\n\n"
            f"| name | type | labels | unit | meaning |\n|---|---|---|---|---|\n{rows}\n"
        )


def _row(metric: Metric) -> str:
    labels = ", ".join(metric.labels)
    return f"| `{metric.name}` | {metric.type} | {labels} | {metric.unit} | {metric.help} |"


if __name__ == "__main__":
    sys.stdout.write(reference())
