"""The stored form of triggers, calendars and exclusions: what was read, never the text to read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from datetime import date
from typing import Any, Final

from cronledger.core.calendars import Calendar, Roll
from cronledger.core.cron import Cron
from cronledger.core.every import Elapsed, MonthEnd, Stride
from cronledger.core.instants import (
    format_instant,
    format_wall,
    from_epoch,
    parse_instant,
    parse_wall,
    to_epoch,
)
from cronledger.core.rrule import Frequency, Parts, Rrule
from cronledger.core.triggers import NOTHING_EXCLUDED, At, Exclusions, Single, Trigger, Union

Spec = dict[str, Any]

_EPOCH_ORDINAL: Final = date(1970, 1, 1).toordinal()
_PARTS: Final = tuple(field.name for field in fields(Parts))


def trigger_to_spec(trigger: Trigger) -> Spec:
    """The trigger under a key that names its kind."""
    match trigger:
        case Cron():
            return {"cron": trigger.to_spec()}
        case Elapsed():
            return {"every": {"seconds": trigger.seconds, "anchor": _instant(trigger.anchor)}}
        case Stride():
            return {"every": _from_stride(trigger)}
        case Rrule():
            return {"rrule": _from_rrule(trigger)}
        case At():
            return {"at": [_instant(epoch) for epoch in trigger.epochs]}
        case Union():
            return {"any": [trigger_to_spec(single) for single in trigger.triggers]}


def trigger_from_spec(spec: Mapping[str, Any]) -> Trigger:
    """The inverse of `trigger_to_spec`; other keys do not matter."""
    if "any" in spec:
        return Union(tuple(_single(part) for part in spec["any"]))
    return _single(spec)


def limits_to_spec(calendar: Calendar | None, roll: Roll, exclusions: Exclusions) -> Spec:
    """A calendar and exclusions; nothing for what is not used."""
    spec: Spec = {}
    if calendar is not None:
        spec["calendar"] = {
            "weekend": list(calendar.weekend),
            "exclude": _dates(calendar.exclude),
            "include": _dates(calendar.include),
        }
        spec["roll"] = str(roll)
    if exclusions != NOTHING_EXCLUDED:
        spec["except"] = {
            "dates": _dates(exclusions.dates),
            "between": [[_instant(start), _instant(end)] for start, end in exclusions.spans],
            "rules": [trigger_to_spec(rule) for rule in exclusions.rules],
        }
    return spec


def limits_from_spec(spec: Mapping[str, Any]) -> tuple[Calendar | None, Roll, Exclusions]:
    """The inverse of `limits_to_spec`; other keys do not matter."""
    calendar, exclusions = None, NOTHING_EXCLUDED
    if "calendar" in spec:
        given = spec["calendar"]
        calendar = Calendar(
            tuple(given["weekend"]), _days(given["exclude"]), _days(given["include"])
        )
    if "except" in spec:
        given = spec["except"]
        spans = tuple((_epoch(start), _epoch(end)) for start, end in given["between"])
        rules = tuple(_rule(part) for part in given["rules"])
        exclusions = Exclusions(_days(given["dates"]), spans, rules)
    return calendar, Roll(spec.get("roll", Roll.NONE)), exclusions


def _single(spec: Mapping[str, Any]) -> Single:
    if "every" in spec:
        return _to_every(spec["every"])
    if "at" in spec:
        return At(tuple(_epoch(text) for text in spec["at"]))
    return _rule(spec)


def _rule(spec: Mapping[str, Any]) -> Cron | Rrule:
    return _to_rrule(spec["rrule"]) if "rrule" in spec else Cron.from_spec(spec["cron"])


def _from_stride(trigger: Stride) -> Spec:
    step = {"months": trigger.months} if trigger.months else {"days": trigger.days}
    return {**step, "start": format_wall(trigger.start), "month_end": str(trigger.month_end)}


def _to_every(spec: Mapping[str, Any]) -> Elapsed | Stride:
    if "seconds" in spec:
        return Elapsed(spec["seconds"], _epoch(spec["anchor"]))
    return Stride(
        parse_wall(spec["start"]),
        spec.get("days", 0),
        spec.get("months", 0),
        MonthEnd(spec["month_end"]),
    )


def _from_rrule(rule: Rrule) -> Spec:
    parts = {name: _listed(getattr(rule.parts, name)) for name in _PARTS}
    return {
        "text": rule.text,
        "start": format_wall(rule.start),
        **parts,
        "interval": rule.interval,
        "count": rule.count,
        "until": None if rule.until is None else _instant(rule.until),
        "until_wall": None if rule.until_wall is None else format_wall(rule.until_wall),
        "exdate": [format_wall(wall) for wall in rule.exdate],
        "rdate": [format_wall(wall) for wall in rule.rdate],
    }


def _listed(value: Any) -> Any:
    """Tuples as JSON holds them."""
    return [_listed(part) for part in value] if isinstance(value, tuple) else value


def _to_rrule(spec: Mapping[str, Any]) -> Rrule:
    parts: dict[str, Any] = {
        name: tuple(spec[name]) if isinstance(spec[name], list) else spec[name] for name in _PARTS
    }
    parts["frequency"] = Frequency(spec["frequency"])
    parts["weekdays"] = tuple((day, nth) for day, nth in spec["weekdays"])
    return Rrule(
        spec["text"],
        parse_wall(spec["start"]),
        Parts(**parts),
        spec["interval"],
        spec["count"],
        None if spec["until"] is None else _epoch(spec["until"]),
        None if spec["until_wall"] is None else parse_wall(spec["until_wall"]),
        tuple(parse_wall(text) for text in spec["exdate"]),
        tuple(parse_wall(text) for text in spec["rdate"]),
    )


def _instant(epoch: int) -> str:
    return format_instant(from_epoch(epoch))


def _epoch(text: str) -> int:
    return to_epoch(parse_instant(text))


def _dates(days: Iterable[int]) -> list[str]:
    return [date.fromordinal(day + _EPOCH_ORDINAL).isoformat() for day in days]


def _days(texts: Iterable[str]) -> tuple[int, ...]:
    return tuple(date.fromisoformat(text).toordinal() - _EPOCH_ORDINAL for text in texts)
