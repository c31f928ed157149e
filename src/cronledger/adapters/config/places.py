"""Where a schedule and its keys stand in the file, for findings that are made after loading."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cronledger.adapters.config.findings import Place
from cronledger.adapters.config.nodes import Entry, MapNode, TextNode, find
from cronledger.core.parameters import declared

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class Places:
    """The places of one file; `root` is its tree."""

    root: MapNode

    def of(self, schedule: str, path: Sequence[str | int], offset: int = 0) -> Place:
        """The value at `path` of a schedule, at character `offset` of its text.

        What the schedule leaves to `defaults` is shown there, else at the schedule's own key. ""
        as the schedule is the file as a whole.
        """
        whole = self._entry("schedules")
        if whole is None or not schedule:
            return Place(1, 1)
        own = find(whole.value, [declared(schedule)])
        defaults = self._entry("defaults")
        for entry in (own, *((defaults,) if defaults else ())):
            if isinstance(entry.value, MapNode) and path and path[0] in entry.value.entries:
                value = find(entry.value, path).value
                return value.place_of(offset) if isinstance(value, TextNode) else value.place
        return own.key_place

    def _entry(self, key: str) -> Entry | None:
        return self.root.entries.get(key)
