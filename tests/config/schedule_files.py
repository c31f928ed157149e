"""Schedule files in tests: read from text, with the real zones."""

from __future__ import annotations

from functools import cache

from cronledger.adapters.config.load import parse
from cronledger.adapters.zones import PinnedZones
from cronledger.core.schedule import Schedule, ScheduleFile
from cronledger.errors import ConfigError

NAME = "schedules.yaml"


@cache
def zones() -> PinnedZones:
    return PinnedZones()


def read(text: str | bytes) -> ScheduleFile:
    data = text if isinstance(text, bytes) else text.encode()
    return parse(data, NAME, zones())


def read_one(settings: str, head: str = "") -> Schedule:
    """The schedule `job` with these settings, a flow mapping without its braces."""
    found = read(f"version: 1\n{head}\nschedules:\n  job: {{{settings}}}\n")
    return found.schedules["job"]


def refusal(text: str | bytes) -> ConfigError:
    try:
        read(text)
    except ConfigError as error:
        return error
    raise AssertionError("the file was accepted")


def problems(text: str | bytes) -> list[str]:
    """Each problem as people see it, without the name of the file."""
    return [str(problem).removeprefix(f"{NAME}:") for problem in refusal(text).problems]
