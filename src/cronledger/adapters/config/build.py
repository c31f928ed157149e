"""Parts of the file to schedules and queues: defaults filled in, values checked together."""

from __future__ import annotations

from dataclasses import fields
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from cronledger.adapters.config.findings import shown
from cronledger.adapters.config.models import (
    NAME_FORM,
    DefaultsModel,
    JobModel,
    ScheduleModel,
    given_by,
)
from cronledger.adapters.config.nodes import entry_at
from cronledger.adapters.config.payload import read_payload
from cronledger.adapters.config.timings import Defaults, build_times
from cronledger.adapters.config.zonebook import instant_of
from cronledger.core.instants import EPOCH
from cronledger.core.keys import SCHEDULE_ID, OccurrenceKey
from cronledger.core.parameters import prefixes, with_parameters
from cronledger.core.routing import Routing
from cronledger.core.schedule import (
    Catchup,
    JobSpec,
    Pause,
    Schedule,
    Timing,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from cronledger.adapters.config.part import Part
    from cronledger.core.instants import Zone

_CORE_ZONE = str(next(given.default for given in fields(Timing) if given.name == "timezone"))
ID_LENGTH_MAX = 200
# The kind of the jobs that are commands; `work --exec` runs them.
EXEC = "exec"
_BEFORE_ALL = EPOCH - timedelta(days=2)


def build_schedules(part: Part, name: str, defaults: Defaults) -> list[Schedule]:
    """One schedule, or one for each combination of its parameters; none if its times are wrong."""
    if SCHEDULE_ID.fullmatch(name) is None:
        part.refuse_at(part.place, f"{shown(name)} is no schedule id; write {NAME_FORM}")
    model = part.shape(ScheduleModel)
    job = _job(part, model.job, defaults, name)
    matrix = model.matrix or {}
    ids = dict(prefixes(name, matrix))
    skip = frozenset(_skipped(part, model, ids))
    times = build_times(part, model, name, defaults)
    if times.zone is None:
        return []
    pauses = tuple(_pauses(part, model, times.zone))
    if times.timing is None:
        return []
    _check_parameters(part, job, ids)
    policies = _policies(model, defaults.model)
    policies |= {"pauses": pauses, "skip": skip, "versions": times.versions}
    return with_parameters(Schedule(name, times.timing, job, **policies), matrix)


def _check_parameters(part: Part, job: JobSpec, ids: Mapping[str, dict[str, str]]) -> None:
    if max(map(len, ids)) > ID_LENGTH_MAX:
        part.refuse(["matrix"], f"matrix: ids get longer than {ID_LENGTH_MAX}; shorten the values")
    both = sorted({key for given in ids.values() for key in given} & set(job.payload))
    if both:
        message = f"matrix: {both[0]!r} stands in the payload too; remove one of the two"
        part.refuse(["matrix"], message)


def _pauses(part: Part, model: ScheduleModel, zone: Zone) -> Iterator[Pause]:
    for index, pause in enumerate(model.pause or ()):
        if pause is None:
            continue
        start = instant_of(pause.start, zone)
        end = None if pause.end is None else instant_of(pause.end, zone)
        if end is not None and end <= start:
            part.refuse(
                ["pause", index, "to"],
                "pause.to: is not after 'from'; write a later time, or remove it for no end",
            )
        yield Pause(start, end, pause.reason)


def _skipped(part: Part, model: ScheduleModel, ids: Collection[str]) -> Iterator[OccurrenceKey]:
    for index, text in enumerate(model.skip or ()):
        if text is None:
            continue
        try:
            key = OccurrenceKey.parse(text)
        except ValueError as error:
            part.refuse(["skip", index], f"skip: {error}")
            continue
        if key.schedule not in ids:
            mine = next(iter(ids))
            message = f"skip: {shown(text)} is of another schedule; write {mine}:<logical time>"
            part.refuse(["skip", index], message)
        yield key


def _job(part: Part, model: JobModel | None, defaults: Defaults, name: str) -> JobSpec:
    given = {"kind": name} | given_by(defaults.model.job) | given_by(model)
    command = given.pop("command", None)
    payload = entry_at(part.node, ["job", "payload"])
    if payload is not None:
        given["payload"] = read_payload(payload.value, part.refuse_at)
    if command is not None:
        _check_command(part, given)
        given |= {"kind": EXEC, "payload": {"command": command, **given.get("payload", {})}}
    return JobSpec(**given)


def _check_command(part: Part, given: Mapping[str, Any]) -> None:
    kind = entry_at(part.node, ["job", "kind"])
    if kind is not None and given["kind"] != EXEC:
        message = f"kind: a command is of kind {EXEC}; remove it"
        part.refuse_at(kind.key_place, message)
    if "command" in given.get("payload", {}):
        part.refuse(["job", "payload"], "payload: has a 'command' too; remove one of the two")


def _policies(model: ScheduleModel, defaults: DefaultsModel) -> dict[str, Any]:
    """The policies around the timing that are given, by the schedule or else by `defaults`."""
    both = given_by(defaults) | given_by(model)
    names = ("grace", "objective", "deadline", "overlap", "splay", "managed_by")
    policies = {key: both[key] for key in names if key in both}
    routing = {field.name: both[field.name] for field in fields(Routing) if field.name in both}
    if routing:
        policies["routing"] = Routing(**routing)
    if model.aliases:
        policies["aliases"] = tuple(alias for alias in model.aliases if alias is not None)
    catchup = given_by(defaults.catchup) | given_by(model.catchup)
    return policies | ({"catchup": Catchup(**catchup)} if catchup else {})
