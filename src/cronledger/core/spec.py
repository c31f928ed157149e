"""The stored form of a timing: JSON-able, with the parsed field sets, and its hash.

What is stored decides what the past owed, so reading it back never parses an expression again.
"""

from __future__ import annotations

import hashlib
import json
from datetime import datetime
from typing import Any

from cronledger.core.instants import format_instant, parse_instant
from cronledger.core.schedule import DayRule, Dst, Fold, Gap, Timing, Wildcard
from cronledger.core.trigger_spec import (
    limits_from_spec,
    limits_to_spec,
    trigger_from_spec,
    trigger_to_spec,
)

Spec = dict[str, Any]


def to_spec(timing: Timing) -> Spec:
    """The timing as JSON-able values; `from_spec` gives it back unchanged.

    What came after the first release is there only if it is used: older timings keep their form.
    """
    return {
        **trigger_to_spec(timing.trigger),
        "timezone": timing.timezone,
        "dst": {
            "gap": str(timing.dst.gap),
            "fold": str(timing.dst.fold),
            "wildcard": str(timing.dst.wildcard),
        },
        "day_rule": str(timing.day_rule),
        "start": _bound(timing.start),
        "end": _bound(timing.end),
        **limits_to_spec(timing.calendar, timing.roll, timing.exclusions),
    }


def from_spec(spec: Spec) -> Timing:
    """The timing that `to_spec` stored."""
    dst = spec["dst"]
    calendar, roll, exclusions = limits_from_spec(spec)
    return Timing(
        trigger=trigger_from_spec(spec),
        timezone=spec["timezone"],
        dst=Dst(Gap(dst["gap"]), Fold(dst["fold"]), Wildcard(dst["wildcard"])),
        day_rule=DayRule(spec["day_rule"]),
        start=_instant(spec["start"]),
        end=_instant(spec["end"]),
        calendar=calendar,
        roll=roll,
        exclusions=exclusions,
    )


def timing_hash(timing: Timing) -> str:
    """Equal for timings that yield the same instants by the same fields; their wording is left out.

    SHA-256 in hex.
    """
    spec = _unworded(to_spec(timing))
    return hashlib.sha256(json.dumps(spec, sort_keys=True).encode()).hexdigest()


def _unworded(value: Any) -> Any:
    """The spec without the texts from which its fields were read."""
    if isinstance(value, dict):
        return {name: _unworded(part) for name, part in value.items() if name != "text"}
    return [_unworded(part) for part in value] if isinstance(value, list) else value


def _bound(instant: datetime | None) -> str | None:
    return None if instant is None else format_instant(instant)


def _instant(text: str | None) -> datetime | None:
    return None if text is None else parse_instant(text)
