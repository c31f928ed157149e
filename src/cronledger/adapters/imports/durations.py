"""Spans of time as Go and systemd write them."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Final

_GO: Final = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
_GO_PART = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)(h|ms|m|s|us|µs|ns)")
_SYSTEMD: Final = {
    "": 1.0, "s": 1.0, "sec": 1.0, "second": 1.0, "seconds": 1.0,
    "ms": 1e-3, "msec": 1e-3, "us": 1e-6, "usec": 1e-6, "µs": 1e-6, "ns": 1e-9, "nsec": 1e-9,
    "m": 60.0, "min": 60.0, "minute": 60.0, "minutes": 60.0,
    "h": 3600.0, "hr": 3600.0, "hour": 3600.0, "hours": 3600.0,
    "d": 86400.0, "day": 86400.0, "days": 86400.0,
    "w": 604800.0, "week": 604800.0, "weeks": 604800.0,
    "M": 2629800.0, "month": 2629800.0, "months": 2629800.0,
    "y": 31557600.0, "year": 31557600.0, "years": 31557600.0,
}  # fmt: skip
_SYSTEMD_PART = re.compile(r"\s*(\d{1,9}(?:\.\d{1,9})?)\s*([A-Za-zµ]*)")


def go_duration(text: str) -> timedelta | None:
    """The span of `1h30m`; None if the text is no duration of Go."""
    return _sum(text.strip(), _GO_PART, _GO)


def systemd_span(text: str) -> timedelta | None:
    """The span of `1h 30min` or `90`; None if the text is no span of systemd, or has no end."""
    return _sum(text.strip(), _SYSTEMD_PART, _SYSTEMD)


def _sum(text: str, part: re.Pattern[str], units: dict[str, float]) -> timedelta | None:
    total = position = 0.0
    position = 0
    while position < len(text):
        match = part.match(text, position)
        if match is None or match[2] not in units:
            return None
        total += float(match[1]) * units[match[2]]
        position = match.end()
    return timedelta(seconds=total) if text and total < 1e10 else None
