"""`explain`: a schedule in words, or how far one key came and why it is where it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cronledger.cli import render
from cronledger.cli.options import Database, Output, Words, load, pick, split_words
from cronledger.cli.render import Format
from cronledger.cli.schedules import note, occurrence_row
from cronledger.core.instants import (
    Window,
    format_duration,
    format_instant,
    from_epoch,
)
from cronledger.errors import ConfigError

if TYPE_CHECKING:
    from cronledger.core.clock_changes import Effect
    from cronledger.core.expand import Occurrence
    from cronledger.core.schedule import Schedule, Timing, Version
    from cronledger.ports import Zones

NEXT_SHOWN = 3
EFFECTS_SHOWN = 20
TWO_YEARS = timedelta(days=731)
_WEEKDAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")


def explain(
    ctx: typer.Context,
    words: Words = None,
    cron: Annotated[str | None, typer.Option("--cron", help="An expression by itself.")] = None,
    tz: Annotated[str, typer.Option("--tz", help="The zone of --cron.")] = "UTC",
    database_url: Database = None,
    output: Output = Format.TABLE,
) -> None:
    """A schedule in words (FILE SCHEDULE, or --cron EXPR --tz ZONE), or one occurrence (KEY)."""
    from cronledger import wiring
    from cronledger.core.schedule import Version
    from cronledger.core.timeline import ALWAYS

    now = wiring.clock().now()
    if cron is not None:
        alone = Version(1, ALWAYS, None, _timing(cron, tz))
        _show_version("expression", alone, wiring.zones(), now, output)
        return
    if words and ":" in words[-1]:
        from cronledger.cli.explain_key import explain_key

        explain_key(ctx, words, database_url, output)
        return
    path, names = split_words(ctx, words)
    file, zones = load(path)
    for name in pick(file, names):
        schedule = file.schedules[name]
        _show_schedule(name, schedule, zones, now, output)


def _timing(expression: str, zone: str) -> Timing:
    from cronledger.core.cron import CronError, parse
    from cronledger.core.schedule import Timing

    try:
        return Timing(parse(expression), zone)
    except CronError as error:
        raise ConfigError(f"--cron, column {error.column + 1}: {error.message}") from None


def _show_schedule(
    name: str, schedule: Schedule, zones: Zones, now: datetime, output: Format
) -> None:
    """Each version that is in force now or later, then what is the same for all."""
    from cronledger.core.timeline import timeline

    for version in timeline(schedule):
        if version.effective_to is None or version.effective_to > now:
            _show_version(name, version, zones, now, output)
    if output is Format.TABLE:
        render.say(_policies(schedule))


def _show_version(name: str, version: Version, zones: Zones, now: datetime, output: Format) -> None:
    from cronledger.core.clock_changes import effects
    from cronledger.core.timeline import next_owed, occurrences

    timing = version.timing
    window = version.share_of(Window(now, now + TWO_YEARS))
    following = next_owed([version], now, NEXT_SHOWN, zones.load)
    found = list(effects(timing, zones.load(timing.timezone), window))
    if output is not Format.TABLE:
        noted = [o for o in occurrences([version], window, zones.load) if note(o)]
        rows = [occurrence_row(name, occurrence) for occurrence in (*following, *noted)]
        columns = ("key", "local_time", "note")
        render.show(output, "occurrences", rows, columns, _in_words(timing, found))
        return
    for line in _said(name, timing):
        render.say(line)
    for line in _in_force(version):
        render.say(line)
    for occurrence in following:
        render.say(f"  next           {_both_clocks(occurrence)}")
    _say_effects(found)


def _in_words(timing: Timing, found: Sequence[Effect]) -> dict[str, Any]:
    """What JSON says beside the occurrences: the sentence, and each clock change that matters."""
    from cronledger.core.clock_changes import tell
    from cronledger.core.cron import Cron
    from cronledger.core.words import describe

    cron = timing.trigger
    return {
        "words": describe(cron, timing.day_rule) if isinstance(cron, Cron) else None,
        "clock_changes": [
            {
                "at": from_epoch(effect.change),
                "fate": effect.fate,
                "runs": [from_epoch(run) for run in effect.runs],
                "message": tell(effect),
            }
            for effect in found
        ],
    }


def _said(name: str, timing: Timing) -> Iterator[str]:
    """The timing in words where a sentence says it exactly, else its fields; then its policies."""
    from cronledger.core.cron import Cron
    from cronledger.core.words import describe

    trigger = timing.trigger
    yield f"{name}: {trigger.text} in {timing.timezone}"
    sentence = describe(trigger, timing.day_rule) if isinstance(trigger, Cron) else None
    if sentence:
        yield f"  runs           {sentence}"
    for field, values in [*([] if sentence else _fields(timing)), *_limits(timing)]:
        yield f"  {field:<14} {values}"
    yield f"  clock changes  {_clock_changes(timing)}"


def _in_force(version: Version) -> Iterator[str]:
    from cronledger.core.timeline import ALWAYS

    if version.effective_from > ALWAYS:
        yield f"  in force from  {format_instant(version.effective_from)}"
    if version.effective_to is not None:
        yield f"  in force until {format_instant(version.effective_to)}"


def _clock_changes(timing: Timing) -> str:
    from cronledger.core.every import Elapsed
    from cronledger.core.triggers import At, singles

    if all(isinstance(single, Elapsed | At) for single in singles(timing.trigger)):
        return "do not touch it: it names instants"
    dst = timing.dst
    return (
        f"a skipped time: {dst.gap}; a repeated time: {dst.fold}; "
        f"every real slot for wildcards: {dst.wildcard}"
    )


def _say_effects(found: Sequence[Effect]) -> None:
    from cronledger.core.clock_changes import tell

    if not found:
        render.say("  within 2 years no clock change touches a time of day that it asks for")
    for effect in found[:EFFECTS_SHOWN]:
        render.say(f"  clock change   {tell(effect)}")
    if len(found) > EFFECTS_SHOWN:
        render.say(f"  clock change   and {len(found) - EFFECTS_SHOWN} more within 2 years")


def _both_clocks(occurrence: Occurrence) -> str:
    local = occurrence.local_time.isoformat(" ")
    return f"{format_instant(occurrence.logical_time)} ({local} local)"


def _fields(timing: Timing) -> list[tuple[str, str]]:
    """A cron's fields as written, by name, with H resolved; the parts of a union by number."""
    from cronledger.core.cron import Cron
    from cronledger.core.triggers import Union

    trigger = timing.trigger
    if isinstance(trigger, Union):
        return [(f"trigger {n}", single.text) for n, single in enumerate(trigger.triggers, 1)]
    if not isinstance(trigger, Cron):
        return []
    words = trigger.text.split()
    names = {
        5: ("minute", "hour", "day of month", "month", "day of week"),
        6: ("field 1", "field 2", "field 3", "field 4", "field 5", "field 6"),
        7: ("second", "minute", "hour", "day of month", "month", "day of week", "year"),
    }.get(len(words), ("macro",) * len(words))
    return [(name, word) for name, word in zip(names, words, strict=True) if word != "*"]


def _limits(timing: Timing) -> list[tuple[str, str]]:
    """What the calendar and the exclusions do."""
    from cronledger.core.rrule import Rrule
    from cronledger.core.triggers import singles

    said = []
    rules = [single for single in singles(timing.trigger) if isinstance(single, Rrule)]
    for name, dates in (
        ("exdate", sum(len(rule.exdate) for rule in rules)),
        ("rdate", sum(len(rule.rdate) for rule in rules)),
    ):
        if dates:
            said.append((name, f"{dates} time{'s' if dates > 1 else ''}"))
    if timing.calendar is not None:
        weekend = ", ".join(_WEEKDAYS[number] for number in timing.calendar.weekend) or "no weekend"
        dates = len(timing.calendar.exclude)
        said.append(("calendar", f"not on {weekend}, nor on {dates} dates; roll: {timing.roll}"))
    out = timing.exclusions
    said += [("except", f"{len(out.dates)} dates")] if out.dates else []
    said += [("except", f"{len(out.spans)} spans of time")] if out.spans else []
    said += [("except", rule.text) for rule in out.rules]
    return said


def _policies(schedule: Schedule) -> str:
    catchup = schedule.catchup
    return (
        f"  job            kind {schedule.job.kind} in queue {schedule.job.queue}\n"
        f"  on time        up to {format_duration(schedule.deadline)} late; missing after "
        f"{format_duration(schedule.grace)}; to be finished within "
        f"{format_duration(schedule.objective)}\n"
        f"  catch-up       {catchup.policy}, looking back {format_duration(catchup.window)}, "
        f"at most {catchup.maximum} in one pass"
    )
