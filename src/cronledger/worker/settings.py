"""How a worker is set up, and what no worker can be set up with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from cronledger.errors import ConfigError
from cronledger.ports import Effects, LeasedQueue
from cronledger.worker.handlers import Handler, refuse_unusable
from cronledger.worker.wakeups import WakeUps


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """`name` is unique to this process. `queues` are claimed from in the order given;
    none stands for all there are, by name.

    `poll`: how often an idle worker looks for jobs. `rescue`: how often it takes back expired
    leases, anyone's; on an idle worker in the place of a claim, so that it costs nothing.
    """

    name: str
    queues: tuple[str, ...] = ()
    concurrency: int = 4
    poll: timedelta = timedelta(seconds=1)
    rescue: timedelta = timedelta(seconds=5)


@dataclass(frozen=True, slots=True)
class Access:
    """How a worker reaches the database; no two of these share a connection.

    Without `wakeups` it only polls.
    """

    queue: LeasedQueue
    keeper_queue: LeasedQueue
    effects: Effects
    wakeups: WakeUps | None = None


def refuse(settings: WorkerSettings, handlers: Mapping[str, Handler]) -> None:
    """Raises ConfigError for settings or handlers that no worker can run."""
    if settings.concurrency < 1:
        raise ConfigError(f"concurrency is {settings.concurrency}; use 1 or more")
    if settings.poll <= timedelta(0):
        raise ConfigError("the poll interval must be longer than zero; use 1s")
    if not handlers:
        raise ConfigError("there are no handlers; register one with @app.handler('kind')")
    for kind, handler in handlers.items():
        refuse_unusable(kind, handler)
