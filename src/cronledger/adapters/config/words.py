"""What pydantic found, in our words: unknown keys with the key meant, shapes, later versions."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, get_args

from pydantic import BaseModel

from cronledger.adapters.config.findings import shown
from cronledger.adapters.config.models import JobModel, ScheduleModel
from cronledger.adapters.config.nodes import Node, kind_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pydantic_core import ErrorDetails

# Keys of the language that this version does not read, and what to do instead.
LATER: Mapping[str, str] = {
    "target": "name the queue under 'queue'",
    "heartbeat": "write 'lease'; it is extended while the handler runs",
}
# What other schedulers call our keys.
_ELSEWHERE: Mapping[str, str] = {
    "tz": "timezone",
    "zone": "timezone",
    "time_zone": "timezone",
    "schedule": "cron",
    "crontab": "cron",
    "expression": "expr",
    "until": "end",
    "retries": "max_attempts",
    "args": "payload",
    "kwargs": "payload",
    "misfire": "catchup",
    "backfill": "catchup",
    "suspend": "pause",
    "paused": "pause",
    "jobs": "schedules",
    "interval": "every",
    "dtstart": "start",
    "exceptions": "except",
}


def explain(error: ErrorDetails, model: type[BaseModel], node: Node) -> str:
    """What is wrong and what to write instead; `node` is where the error stands."""
    loc = error["loc"]
    where = ".".join(str(step) for step in loc if isinstance(step, str))
    match error["type"]:
        case "extra_forbidden":
            return unknown_key(str(loc[-1]), keys_of(_model_at(model, loc[:-1])))
        case "missing":
            *above, key = [step for step in loc if isinstance(step, str)]
            return f"{'.'.join(above)}: missing key '{key}'; add it"
        case "value_error":
            return f"{where}: {error['ctx']['error']}"
        case "list_type":
            return f"{where}: expected a list, got {kind_of(node)}; write [ ] or lines of '- '"
        case _:
            return f"{where}: expected a mapping, got {kind_of(node)}; write {{key: value}}"


def unknown_key(key: str, known: Iterable[str]) -> str:
    """Why `key` is refused where only `known` may stand."""
    known = tuple(known)
    if key in LATER:
        return f"'{key}' is not supported by this version; {LATER[key]}"
    if key == "<<":
        return "merge key '<<' is not read; shared settings go under 'defaults'"
    problem = f"unknown key {shown(key)}"
    meant = meant_key(key, known)
    if meant:
        return f"{problem}; did you mean '{meant}'?"
    of_job = meant_key(key, keys_of(JobModel))
    if of_job and "job" in known:
        return f"{problem}; {_under_job(key, of_job)}"
    if "schedules" in known and key in keys_of(ScheduleModel):
        return f"{problem}; write it under 'defaults' or under one of 'schedules'"
    return f"{problem}; known are {', '.join(known)}"


def _under_job(key: str, meant: str) -> str:
    return "write it under 'job'" if meant == key else f"did you mean '{meant}' under 'job'?"


def meant_key(key: str, known: Iterable[str]) -> str:
    """The one of `known` that `key` most likely stands for; "" if none is near."""
    spellings = {name: name for name in known}
    spellings |= {word: name for word, name in _ELSEWHERE.items() if name in spellings}
    folded = key[:63].lower().replace("-", "_")
    close = get_close_matches(folded, spellings, n=1, cutoff=0.75)
    return spellings[close[0]] if close else ""


def keys_of(model: type[BaseModel]) -> tuple[str, ...]:
    """The keys that may stand in a mapping of this shape, as the file spells them."""
    return tuple(info.alias or name for name, info in model.model_fields.items())


def _model_at(model: type[BaseModel], loc: Sequence[str | int]) -> type[BaseModel]:
    for step in loc:
        if isinstance(step, str):
            fields = {info.alias or name: info for name, info in model.model_fields.items()}
            model = _model_in(fields[step].annotation) or model
    return model


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for part in get_args(annotation) if (found := _model_in(part))), None)
