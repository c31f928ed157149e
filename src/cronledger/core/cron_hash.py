"""Which value `H` stands for: a stable hash of the schedule's id spreads schedules over a field."""

from __future__ import annotations

import hashlib
import re

from cronledger.core import cron_field
from cronledger.core.cron_field import CronError, Kind, items, read_field

_HASHED = re.compile(r"H(?:\((?P<first>[0-9]+)-(?P<last>[0-9]+)\))?(?:/(?P<step>[0-9]+))?")
_MEANT = re.compile(r"H(?![A-Z])", re.IGNORECASE)
_FORMS = "H, H/15, H(0-29) or H(0-29)/10"
# Every month has these days.
_LAST_DAY = 28


def resolve(kind: Kind, text: str, column: int, seed: str) -> str:
    """`text` with each `H` replaced by what it stands for in the schedule called `seed`.

    A field without `H` comes back as it is, unread. Raises CronError for an `H` that cannot be
    resolved, and for any mistake beside one, at the column where it stands in the whole.
    """
    if _MEANT.match(text) is None and re.search(r",[Hh](?![A-Za-z])", text) is None:
        return text
    try:
        return ",".join(_item(kind, item, offset, seed) for item, offset in items(kind, text))
    except CronError as error:
        raise CronError(error.message, column + error.column) from None


def _item(kind: Kind, item: str, column: int, seed: str) -> str:
    if _MEANT.match(item) is not None:
        return _resolve(kind, item.upper(), column, seed)
    # Read here, because what follows an `H` stands elsewhere in the text that results.
    read_field(kind, item, column)
    return item


def _resolve(kind: Kind, item: str, column: int, seed: str) -> str:
    match = _HASHED.fullmatch(item)
    if kind is cron_field.YEAR:
        raise CronError("H chooses no year; write * or the years themselves", column)
    if match is None:
        raise CronError(f"cannot read {item[:20]!r} as {kind.name}; write {_FORMS}", column)
    if not seed:
        raise CronError("H needs the id of a schedule; write a value, or try it in a file", column)
    first, last = _bounds(kind, match, column)
    if match["step"] is None:
        return str(first + _hash(seed, kind) % (last - first + 1))
    step = int(match["step"])
    if step == 0:
        raise CronError("a step of 0 never moves on; write H/5, say", column + match.start("step"))
    start = first + _hash(seed, kind) % min(step, last - first + 1)
    return f"{start}-{last}/{step}"


def _bounds(kind: Kind, match: re.Match[str], column: int) -> tuple[int, int]:
    high = {cron_field.DAY: _LAST_DAY, cron_field.WEEKDAY: 6}.get(kind, kind.high)
    if match["first"] is None:
        return kind.low, high
    first, last = int(match["first"]), int(match["last"])
    if not kind.low <= first <= last <= kind.high:
        wanted = f"write H({kind.low}-{kind.high}) or a part of it"
        place = column + match.start("first")
        raise CronError(f"{first}-{last} is no span of {kind.name}; {wanted}", place)
    return first, last


def _hash(seed: str, kind: Kind) -> int:
    # Not hash(), which differs from process to process.
    return int.from_bytes(hashlib.sha256(f"{seed} {kind.name}".encode()).digest()[:8], "big")
