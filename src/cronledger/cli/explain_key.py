"""`explain KEY`: how far one occurrence came, and why it is where it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import typer

from cronledger.cli import render
from cronledger.cli.options import database, load, split_words
from cronledger.cli.render import Format
from cronledger.core.instants import Window, format_instant, human_span, to_epoch
from cronledger.core.keys import OccurrenceKey
from cronledger.errors import ConfigError

if TYPE_CHECKING:
    from cronledger.core.diff import Finding
    from cronledger.core.expected import Standing
    from cronledger.core.schedule import Schedule
    from cronledger.ports import Ledger, Zones

STAGES = ("recorded_at", "enqueued_at", "claimed_at", "committed_at")


def explain_key(
    ctx: typer.Context, words: Sequence[str], database_url: str | None, output: Format
) -> None:
    """Show the key; the file (if there is one) says how long it may lack a record."""
    from cronledger import wiring

    try:
        key = OccurrenceKey.parse(words[-1])
    except ValueError as error:
        raise ConfigError(str(error)) from None
    schedules = _schedules(ctx, words[:-1])
    with database(ctx, database_url, "explain") as store:
        found = _look(store.ledger(), wiring.zones(), key, schedules)
    if found.finding is None:
        _say_why_not(key, found)
        return
    row = key_row(key, found.finding)
    if output is not Format.TABLE:
        render.show(output, "occurrences", [row], list(row))
        return
    _say(key, found.finding, row)


@dataclass(frozen=True, slots=True)
class _Found:
    """What the ledger says of a key: nothing, if it owes nothing then or the key is in grace."""

    standing: Standing | None
    owed: bool
    finding: Finding | None
    now: datetime


def _schedules(ctx: typer.Context, words: Sequence[str]) -> Mapping[str, Schedule]:
    """Those of the file named, of --config, or of schedules.yaml where it is there."""
    path, rest = split_words(ctx, words)
    if rest:
        raise ConfigError("explain takes one key; name the file before it")
    if not words and not path.exists():
        return {}
    try:
        return load(path)[0].schedules
    except ConfigError as error:
        if words:
            raise
        render.tell(f"{error}\nthe file is left out: its grace is not known")
        return {}


def _look(
    ledger: Ledger, zones: Zones, key: OccurrenceKey, schedules: Mapping[str, Schedule]
) -> _Found:
    from cronledger.core.expected import expected
    from cronledger.flows.reconcile import reconcile

    window = Window(key.logical_time, key.logical_time + timedelta(seconds=1))
    standing = next(iter(ledger.standings([key.schedule])), None)
    owed = standing is not None and bool(expected(standing.versions, window, zones.load))
    for drift in reconcile(schedules, ledger, zones, window, only=[key.schedule]):
        for finding in drift.findings:
            if (drift.schedule, finding.epoch) == (key.schedule, to_epoch(key.logical_time)):
                return _Found(standing, owed, finding, ledger.now())
    return _Found(standing, owed, None, ledger.now())


def _say_why_not(key: OccurrenceKey, found: _Found) -> None:
    """A key without a finding: not due, in its grace (both fine), or never owed (exit 1)."""
    if found.standing is None:
        raise ConfigError(f"the ledger knows no schedule {key.schedule!r}; was its file loaded?")
    if not found.owed:
        render.say(f"{key}: never owed; no version of {key.schedule} in force then names it")
        raise typer.Exit(1)
    if key.logical_time > found.now:
        render.say(f"{key}: due in {human_span(key.logical_time - found.now)}")
    else:
        ago = human_span(found.now - key.logical_time)
        render.say(f"{key}: due {ago} ago, not recorded yet, and within its grace")


def _say(key: OccurrenceKey, finding: Finding, row: Mapping[str, Any]) -> None:
    reason = f" ({finding.reason})" if finding.reason else ""
    finer = str(finding.fate).replace("_", " ")
    more = f", {finer}" if finer != finding.occurrence_class else ""
    render.say(
        f"{key}: {finding.occurrence_class}{reason}{more}, due {human_span(finding.age)} ago"
    )
    if finding.cause is not None:
        render.say(f"  likely {finding.cause}: {finding.cause.words}")
    for stage in STAGES:
        name = stage.removesuffix("_at").replace("committed", "effect committed")
        render.say(f"  {name:<16} {format_instant(row[stage]) if row[stage] else '-'}")
    if finding.stages is not None:
        state = finding.stages.state or "gone"
        render.say(f"  job {finding.stages.job_id} is {state}; recorded by {finding.stages.via}")
        if finding.stages.job_id is not None:
            render.say(f"  more: cronledger jobs show {finding.stages.job_id}")


def key_row(key: OccurrenceKey, finding: Finding) -> dict[str, Any]:
    """One key as reports show it: its class, its four stages, its job."""
    stages = finding.stages
    return {
        "key": str(key),
        "schedule": key.schedule,
        "logical_time": key.logical_time,
        "class": str(finding.occurrence_class),
        "fate": str(finding.fate),
        "reason": str(finding.reason) if finding.reason else None,
        "cause": str(finding.cause) if finding.cause else None,
        "age_seconds": round(finding.age.total_seconds(), 3),
        "state": stages.state if stages else None,
        "job_id": stages.job_id if stages else None,
        "via": stages.via if stages else None,
        "recorded_at": stages.recorded_at if stages else None,
        "enqueued_at": stages.enqueued_at if stages else None,
        "claimed_at": stages.claimed_at if stages else None,
        "committed_at": stages.committed_at if stages else None,
    }
