"""A schedule with parameters: one schedule of its own, with keys of its own, for each combination.

`reindex` with `region: [eu, us]` becomes `reindex[region=eu]` and `reindex[region=us]`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product

from cronledger.core.schedule import Schedule

Matrix = Mapping[str, Sequence[str]]


def prefixes(name: str, matrix: Matrix) -> Iterator[tuple[str, dict[str, str]]]:
    """Each combination's id and parameters; parameters stand in the id by name, `name` if none."""
    names = sorted(matrix)
    for values in product(*(matrix[parameter] for parameter in names)):
        parameters = dict(zip(names, values, strict=True))
        inner = ",".join(f"{key}={value}" for key, value in parameters.items())
        yield (f"{name}[{inner}]" if inner else name), parameters


def with_parameters(schedule: Schedule, matrix: Matrix) -> list[Schedule]:
    """The schedules of all combinations; the parameters are part of each job's payload."""
    if not matrix:
        return [schedule]
    return [
        replace(
            schedule,
            id=prefix,
            job=replace(schedule.job, payload={**schedule.job.payload, **parameters}),
        )
        for prefix, parameters in prefixes(schedule.id, matrix)
    ]


def declared(schedule_id: str) -> str:
    """The id that the file declares, without parameters."""
    return schedule_id.partition("[")[0]
