"""The shape of the file: which keys stand where, and the bounds of each value.

A key that is absent is None: the values of `defaults` and of the core are filled in by build.py.
"""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta
from enum import StrEnum
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, Field, WithJsonSchema

from cronledger.adapters.config.fields import (
    MAX_TEXT,
    as_text,
    choice,
    day,
    instant,
    integer,
    matrix,
    pace,
    span,
    text,
)
from cronledger.adapters.config.findings import shown
from cronledger.adapters.config.routing import RoutingModel
from cronledger.adapters.config.strict import Strict
from cronledger.core import schedule as core
from cronledger.core.calendars import Roll
from cronledger.core.cron import Layout
from cronledger.core.every import MonthEnd
from cronledger.core.keys import SCHEDULE_ID

QUEUE_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]{0,62}")
NAME_FORM = "a-z, 0-9, '_', '.' and '-', at most 63 characters, a letter or digit first"

COUNTRY = re.compile(r"[A-Z]{2}")


class Dialect(StrEnum):
    """Whose cron an expression is; without one it is ours."""

    QUARTZ = "quartz"


class Weekday(StrEnum):
    """In the order in which cron counts them."""

    SUN = "SUN"
    MON = "MON"
    TUE = "TUE"
    WED = "WED"
    THU = "THU"
    FRI = "FRI"
    SAT = "SAT"


ZoneName = Annotated[str, text("a zone name such as Europe/Berlin", 100)]
Expression = Annotated[str, text('a cron expression such as "0 2 * * *"', MAX_TEXT)]
RruleText = Annotated[str, text("a rule such as FREQ=WEEKLY;BYDAY=MO", MAX_TEXT)]
StepText = Annotated[str, text("a step such as PT5M, P1D or P1M", 100)]
DialectName = Annotated[Dialect, choice(Dialect)]
MonthEndName = Annotated[MonthEnd, choice(MonthEnd)]
RollName = Annotated[Roll, choice(Roll)]
WeekdayName = Annotated[Weekday, choice(Weekday)]
Country = Annotated[str, text("a country by its two letters, such as DE", 2, COUNTRY)]
Subdivision = Annotated[str, text("a subdivision by its code, such as BY", 20)]
Fields = Annotated[Layout, choice(Layout)]
GapName = Annotated[core.Gap, choice(core.Gap)]
FoldName = Annotated[core.Fold, choice(core.Fold)]
WildcardName = Annotated[core.Wildcard, choice(core.Wildcard)]
DayRuleName = Annotated[core.DayRule, choice(core.DayRule)]
PolicyName = Annotated[core.CatchupPolicy, choice(core.CatchupPolicy)]
OrderName = Annotated[core.Order, choice(core.Order)]
Time = Annotated[datetime, instant()]
Date = Annotated[date, day()]
Tolerance = Annotated[timedelta, span("PT0S", "P400D")]
Objective = Annotated[timedelta, span("PT1S", "P400D")]
Lookback = Annotated[timedelta, span("PT1S", "P400D")]
Lease = Annotated[timedelta, span("PT1S", "P1D")]
Timeout = Annotated[timedelta, span("PT1S", "P30D")]
Kept = Annotated[timedelta, span("P1D", "P3660D")]
Delay = Annotated[timedelta, span("PT1S", "P30D")]
Batch = Annotated[int, integer(1, 100_000)]
Attempts = Annotated[int, integer(1, 100)]
Retries = Annotated[int, integer(0, 1_000_000)]
BudgetModeName = Annotated[core.BudgetMode, choice(core.BudgetMode)]
Priority = Annotated[int, integer(-1000, 1000)]
QueueName = Annotated[str, text(f"a name of {NAME_FORM}", 63, QUEUE_NAME)]
Kind = Annotated[str, text("a kind of at most 200 printable characters", 200)]
Tenant = Annotated[str, text("a tenant of at most 200 printable characters", 200)]
SchemaVersion = Annotated[int, integer(1, 32_767)]
OrderingKey = Annotated[str, text("a key of at most 200 printable characters", 200)]
Reason = Annotated[str, text("a reason of at most 500 printable characters", MAX_TEXT)]
OverlapName = Annotated[core.Overlap, choice(core.Overlap)]
Splay = Annotated[timedelta, span("PT0S", "P1D")]
Pace = Annotated[timedelta, pace()]
Parameters = Annotated[dict[str, tuple[str, ...]], matrix()]
Manager = Annotated[str, text("the name of another scheduler, such as pg_cron", 63, QUEUE_NAME)]
Id = Annotated[str, text(f"a schedule id of {NAME_FORM}", 63, SCHEDULE_ID)]
KeyText = Annotated[str, text("a key such as cleanup:2026-08-07T02:00:00Z", 200)]


class DstModel(Strict):
    gap: GapName | None = None
    fold: FoldName | None = None
    wildcard: WildcardName | None = None


class CatchupModel(Strict):
    policy: PolicyName | None = None
    window: Lookback | None = None
    maximum: Batch | None = Field(default=None, alias="max")
    order: OrderName | None = None
    pace: Pace | None = Field(default=None, alias="rate")


class PauseModel(Strict):
    start: Time = Field(alias="from")
    end: Time | None = Field(default=None, alias="to")
    reason: Reason


class CronModel(Strict):
    expr: Expression
    layout: Fields | None = Field(default=None, alias="fields")
    dialect: DialectName | None = None


def _argv(value: Any) -> Any:
    """Text for the shell, or a program and its arguments."""
    expected = 'a command such as "make report", or [make, report]'
    if not isinstance(value, list):
        return as_text(value, expected)
    if not value:
        raise ValueError(f"an empty list; write {expected}")
    return [as_text(word, expected) for word in value]


CommandForm = Annotated[
    str | list[str] | None,
    BeforeValidator(_argv, json_schema_input_type=str | list[str]),
]


class JobDefaults(Strict):
    queue: QueueName | None = None
    priority: Priority | None = None
    max_attempts: Attempts | None = None
    timeout: Timeout | None = None
    tenant: Tenant | None = None


class JobModel(JobDefaults):
    kind: Kind | None = None
    ordering_key: OrderingKey | None = None
    schema_version: SchemaVersion | None = None
    command: CommandForm = None
    # Read from the tree by payload.py: here any shape passes.
    payload: Any = None


def _preset(value: Any) -> Any:
    """The parts of a preset that is given by name."""
    if not isinstance(value, str) or not value:
        return value
    preset = core.DST_PRESETS.get(value)
    if preset is None:
        names = ", ".join(core.DST_PRESETS)
        raise ValueError(f"expected one of {names}, or {{gap, fold, wildcard}}, got {shown(value)}")
    return {"gap": preset.gap, "fold": preset.fold, "wildcard": preset.wildcard}


def _spelled_out(value: Any) -> Any:
    """A bare expression as the mapping it is short for."""
    if isinstance(value, list | str):
        return {"expr": as_text(value, 'a cron expression such as "0 2 * * *"')}
    return value


_Preset = Annotated[str, WithJsonSchema({"enum": list(core.DST_PRESETS)})]
DstForm = Annotated[
    DstModel | None, BeforeValidator(_preset, json_schema_input_type=_Preset | DstModel)
]
CronForm = Annotated[
    CronModel | None, BeforeValidator(_spelled_out, json_schema_input_type=Expression | CronModel)
]


class ClockModel(Strict):
    """How wall times become instants."""

    timezone: ZoneName | None = None
    dst: DstForm = None
    day_rule: DayRuleName | None = None


class DefaultsModel(ClockModel, RoutingModel):
    grace: Tolerance | None = None
    objective: Objective | None = None
    deadline: Tolerance | None = None
    catchup: CatchupModel | None = None
    overlap: OverlapName | None = None
    splay: Splay | None = None
    job: JobDefaults | None = None


class RuleModel(Strict):
    """What names times by a rule of the wall clock."""

    cron: CronForm = None
    rrule: RruleText | None = None
    start: Time | None = None


class TriggerModel(RuleModel):
    """A trigger, as a schedule or an item of `any` has it."""

    every: StepText | None = None
    at: list[Time | None] | None = None
    month_end: MonthEndName | None = None
    exdate: list[Time | None] | None = None
    rdate: list[Time | None] | None = None


class ExceptModel(RuleModel):
    """An item of `except`."""

    dates: list[Date | None] | None = None
    between: list[Time | None] | None = None


class HolidaysModel(Strict):
    country: Country
    subdivision: Subdivision | None = None


class CalendarModel(Strict):
    weekend: list[WeekdayName | None] | None = None
    exclude: list[Date | None] | None = None
    include: list[Date | None] | None = None
    holidays: HolidaysModel | None = None


class TimingModel(ClockModel, TriggerModel):
    """What moves instants, as a schedule or an item of `versions` has it."""

    # Mappings within these are parts of their own: here any shape passes.
    any_of: Any = Field(default=None, alias="any")
    calendar: Any = None
    exceptions: Any = Field(default=None, alias="except")
    roll: RollName | None = None
    end: Time | None = None


class VersionModel(TimingModel):
    """An item of `versions`."""

    effective_from: Time | None = None


class ScheduleModel(DefaultsModel, TimingModel):
    versions: Any = None
    # An item is None where it was refused, so that the others keep their numbers.
    pause: list[PauseModel | None] | None = None
    skip: list[KeyText | None] | None = None
    aliases: list[Id | None] | None = None
    managed_by: Manager | None = None
    matrix: Parameters | None = None
    job: JobModel | None = None


class FileModel(Strict):
    """The top level: only its keys; load.py reads each part by itself."""

    version: Any = None
    tzdata: Any = None
    calendars: Any = None
    defaults: Any = None
    queues: Any = None
    retry_budget: Retries | None = None
    budget_mode: BudgetModeName | None = None
    retention: Any = None
    schedules: Any = None


def given_by(model: BaseModel | None) -> dict[str, Any]:
    """The values that the file gives, by field name."""
    if model is None:
        return {}
    values = model.__dict__
    # Sorted, so that nothing hangs on the order of a set.
    given = {name: values[name] for name in sorted(model.model_fields_set)}
    return {name: value for name, value in given.items() if value is not None}
