"""What an edit of the schedule file does to the keys of a window, and what else it changes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import chain, zip_longest
from typing import Any, Final

from cronledger.core.cron import Cron
from cronledger.core.expand import Occurrence
from cronledger.core.instants import Window, Zone
from cronledger.core.schedule import QueueSpec, Schedule, Timing, Version
from cronledger.core.timeline import occurrences, timeline

ZoneOf = Callable[[str], Zone]

# Said by the keys themselves, or by the name under which an edit stands.
_NOT_SETTINGS: Final = {"id", "name", "timing", "versions", "job"}
_NESTED: Final = {"dst", "catchup"}
# As the file spells what the core calls otherwise.
_SPELLED: Final = {"maximum": "max", "pauses": "pause", "trigger": "cron"}
_DAY: Final = 86400


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting that differs, with both values; None where that side does not have it."""

    name: str
    old: Any
    new: Any


@dataclass(frozen=True, slots=True)
class Edit:
    """What becomes of one schedule. Keys are epochs, ascending; `moved` are (old, new).

    `change` is `added`, `removed` or `changed`. A removed and an added key of one local day count
    as moved, the first with the first, and so on.
    """

    schedule: str
    change: str
    added: tuple[int, ...] = ()
    removed: tuple[int, ...] = ()
    moved: tuple[tuple[int, int], ...] = ()
    settings: tuple[Setting, ...] = ()


@dataclass(frozen=True, slots=True)
class QueueEdit:
    """What becomes of the settings of one queue."""

    queue: str
    change: str
    settings: tuple[Setting, ...] = ()


def compare_schedules(
    old: Mapping[str, Schedule], new: Mapping[str, Schedule], zone_of: ZoneOf, window: Window
) -> Iterator[Edit]:
    """One edit for each schedule that differs: those that went, then the others as `new` has them.

    Keys are those that the timings owe; pauses and skips stand among the settings.
    """
    for name, schedule in old.items():
        if name not in new:
            yield Edit(name, "removed", removed=_keys(schedule, zone_of, window))
    for name, schedule in new.items():
        before = old.get(name)
        if before is None:
            yield Edit(name, "added", added=_keys(schedule, zone_of, window))
        elif before != schedule:
            yield _changed(before, schedule, zone_of, window)


def compare_versions(
    old: Mapping[str, Sequence[Version]],
    new: Mapping[str, Sequence[Version]],
    zone_of: ZoneOf,
    window: Window,
) -> Iterator[Edit]:
    """One edit for each schedule that ends, with keys in the window or without, and then for each
    whose keys differ, as in `new`."""
    gone = [name for name in old if name not in new and goes_on(old[name])]
    for name in (*gone, *new):
        edit = compare_keys(old.get(name, ()), new.get(name, ()), zone_of, window)
        if edit.added or edit.removed or edit.moved or name in gone:
            change = "changed" if name in old and name in new else "added"
            yield replace(edit, schedule=name, change="removed" if name in gone else change)


def goes_on(versions: Sequence[Version]) -> bool:
    """Whether a version of them has no end."""
    return any(version.effective_to is None for version in versions)


def compare_queues(
    old: Mapping[str, QueueSpec], new: Mapping[str, QueueSpec]
) -> Iterator[QueueEdit]:
    """One edit for each queue that differs."""
    for name in chain(old, (name for name in new if name not in old)):
        before, after = old.get(name), new.get(name)
        if before is None:
            yield QueueEdit(name, "added")
        elif after is None:
            yield QueueEdit(name, "removed")
        elif before != after:
            yield QueueEdit(name, "changed", tuple(_settings(before, after)))


def _changed(old: Schedule, new: Schedule, zone_of: ZoneOf, window: Window) -> Edit:
    settings = (
        *_timing_settings(old.timing, new.timing),
        *_counted("versions", len(old.versions), len(new.versions)),
        *_settings(old.job, new.job, "job."),
        *_settings(old, new),
    )
    if timeline(old) == timeline(new):
        return Edit(new.id, "changed", settings=settings)
    moves = compare_keys(timeline(old), timeline(new), zone_of, window)
    return replace(moves, schedule=new.id, settings=settings)


def compare_keys(
    old: Sequence[Version], new: Sequence[Version], zone_of: ZoneOf, window: Window
) -> Edit:
    """What becomes of the keys that the versions owe; of no schedule by name."""
    before, after = (_owed(versions, zone_of, window) for versions in (old, new))
    kept = before.keys() & after.keys()
    gone = [found for at, found in before.items() if at not in kept]
    come = [found for at, found in after.items() if at not in kept]
    added, removed, moved = _pair(gone, come)
    return Edit("", "changed", tuple(added), tuple(removed), tuple(moved))


def _pair(
    gone: list[Occurrence], come: list[Occurrence]
) -> tuple[list[int], list[int], list[tuple[int, int]]]:
    """Added, removed and moved: keys of one local day belong together, in their order."""
    days: dict[int, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    for side, keys in enumerate((gone, come)):
        for found in keys:
            days[(found.instant + found.offset) // _DAY][side].append(found.instant)
    added: list[int] = []
    removed: list[int] = []
    moved: list[tuple[int, int]] = []
    for day in sorted(days):
        for before, after in zip_longest(*days[day]):
            if before is None:
                added.append(after)
            elif after is None:
                removed.append(before)
            else:
                moved.append((before, after))
    return added, removed, moved


def _owed(versions: Sequence[Version], zone_of: ZoneOf, window: Window) -> dict[int, Occurrence]:
    return {found.instant: found for found in occurrences(versions, window, zone_of)}


def _keys(schedule: Schedule, zone_of: ZoneOf, window: Window) -> tuple[int, ...]:
    return tuple(_owed(timeline(schedule), zone_of, window))


def _counted(name: str, old: int, new: int) -> Iterator[Setting]:
    if old != new:
        yield Setting(name, old or None, new or None)


def _timing_settings(old: Timing, new: Timing) -> Iterator[Setting]:
    """The parts of the timing that differ; a cron as its text."""
    for setting in _settings(old, new):
        old_text, new_text = (
            side.text if isinstance(side, Cron) else side for side in (setting.old, setting.new)
        )
        yield Setting(setting.name, old_text, new_text)


def _settings(old: Any, new: Any, prefix: str = "") -> Iterator[Setting]:
    """The fields of two dataclasses of one kind that differ; of a nested one, its fields."""
    for field in fields(new):
        before, after = getattr(old, field.name), getattr(new, field.name)
        if field.name in _NOT_SETTINGS or before == after:
            continue
        if field.name in _NESTED:
            yield from _settings(before, after, f"{field.name}.")
        else:
            yield Setting(prefix + _SPELLED.get(field.name, field.name), before, after)
