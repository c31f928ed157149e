"""What an import says of each entry of its source: carried, carried with a warning, or refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from cronledger.core.cron import Layout

if TYPE_CHECKING:
    from cronledger.core.instants import Zone

UTC = "UTC"


class Origin(StrEnum):
    """Where an entry comes from, spelled as the command line spells it."""

    CRONTAB = "crontab"
    CRON_D = "cron.d"
    SUPERCRONIC = "supercronic"
    KUBERNETES = "kubernetes"
    GITHUB = "github"
    SYSTEMD = "systemd"
    CELERY = "celery"
    AIRFLOW = "airflow"
    DAGSTER = "dagster"


class Decision(StrEnum):
    CARRY = "carry"
    WARN = "warn"
    REFUSE = "refuse"


class Zones(Protocol):
    """Time zone data; `load` raises ConfigError for an unknown name."""

    def load(self, name: str) -> Zone: ...


@dataclass(frozen=True, slots=True)
class CronTrigger:
    """A cron text of the language of the schedule file."""

    text: str
    layout: Layout = Layout.FIVE


@dataclass(frozen=True, slots=True)
class Every:
    """An interval that elapses, counted from the epoch."""

    span: timedelta


Trigger: TypeAlias = CronTrigger | Every


@dataclass(frozen=True, slots=True)
class Caution:
    """A warning: `code` for machines, `message` for people; `line` 0 is the entry's own."""

    code: str
    message: str
    line: int = 0


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of the source. It is refused if `refusal` says why, carried otherwise.

    `line` counts from 1. `source` are its own words; `name` is what its id is made from. `zone` is
    None where the source names none, so that an assumed one is taken. `pause` and `notes` are for
    people: why it is paused, and what the language of the file has no key for.
    `kind` names the handler; the id does if it is empty. Only a carried entry gets an `id`.
    """

    line: int
    source: str
    name: str
    trigger: Trigger | None = None
    zone: str | None = None
    day_rule: str = "vixie"
    payload: Mapping[str, Any] = field(default_factory=dict)
    cautions: tuple[Caution, ...] = ()
    refusal: str = ""
    pause: str = ""
    deadline: timedelta | None = None
    catchup: str = ""
    overlap: str = ""
    notes: tuple[str, ...] = ()
    kind: str = ""
    id: str = ""

    @property
    def decision(self) -> Decision:
        """What becomes of the entry."""
        if self.refusal:
            return Decision.REFUSE
        return Decision.WARN if self.cautions else Decision.CARRY

    def refused(self, reason: str) -> Entry:
        """The same entry, not carried. The first reason given stays."""
        return replace(self, refusal=self.refusal or reason)

    def warned(self, *cautions: Caution) -> Entry:
        """The same entry with more warnings."""
        return replace(self, cautions=(*self.cautions, *cautions))


@dataclass(frozen=True, slots=True)
class Reading:
    """What one source holds: its entries in file order, and warnings about the file as a whole.

    `zone_matters`: entries without a zone run in one that the source does not tell, so assuming
    UTC must be said. Where it is False, UTC is what the origin itself takes.
    """

    entries: tuple[Entry, ...]
    cautions: tuple[Caution, ...] = ()
    zone_matters: bool = True


@dataclass(frozen=True, slots=True)
class Source:
    """A source as its reader gets it: `text` with line ends as LF, `name` without its suffix.

    `ends_open`: the last line lacks its line end. `beside` is the text of another file in the same
    folder, None if there is none.
    """

    text: str
    name: str
    ends_open: bool = False
    beside: Callable[[str], str | None] = lambda _: None


@dataclass(frozen=True, slots=True)
class Imported:
    """A finished import: the schedule file as text, and what became of each entry."""

    origin: Origin
    path: str
    text: str
    entries: tuple[Entry, ...]
    cautions: tuple[Caution, ...]

    def count(self, decision: Decision) -> int:
        """How many entries met that decision."""
        return sum(entry.decision is decision for entry in self.entries)
