"""What is told of the work to a collector of traces and metrics, and whether anybody asks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Protocol

from cronledger.core.events import Event
from cronledger.core.samples import Sample
from cronledger.ports import Ledger

PROTOCOL = "http/protobuf"


class JobLike(Protocol):
    """What a trace says of a job."""

    @property
    def job_id(self) -> int: ...
    @property
    def key(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def queue(self) -> str: ...
    @property
    def attempt(self) -> int: ...
    @property
    def token(self) -> int: ...
    @property
    def headers(self) -> Mapping[str, Any]: ...


class Telemetry:
    """Tells nobody anything, at no cost. Nothing here or in a subclass raises or blocks."""

    @property
    def on(self) -> bool:
        """Whether anybody is told of attempts."""
        return False

    @property
    def measures(self) -> bool:
        """Whether samples are sent to anybody."""
        return False

    def span(self, _name: str) -> AbstractContextManager[None]:
        """What is done within is a span of that name; an error that it raises is noted."""
        return nullcontext()

    def attempt(self, _job: JobLike) -> AbstractContextManager[None]:
        """The handler of this attempt runs within; its span ends when the attempt is settled."""
        return nullcontext()

    def ids(self, _token: int) -> Mapping[str, str]:
        """Trace and span of the attempt under that lease, for its log line; {} if it has none."""
        return {}

    def ledger(self, ledger: Ledger) -> Ledger:
        """The ledger, whose jobs carry the context of who creates them."""
        return ledger

    def observe(self, _event: Event) -> None:
        """Hear what happens."""

    def measured(self, _samples: Sequence[Sample]) -> None:
        """These are the samples that `/metrics` serves from now on."""

    def close(self) -> None:
        """Send what is left, within a bounded time."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Which signals the environment asks for, and what of that cannot be done."""

    traces: bool = False
    metrics: bool = False
    problem: str = ""


def asked(environ: Mapping[str, str]) -> Asked:
    """What the variables ask for: they name an endpoint or an exporter, and do not disable it."""
    if environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return Asked()
    wanted = [signal for signal in ("TRACES", "METRICS") if _is_asked(environ, signal)]
    for signal in wanted:
        protocol = (
            environ.get(f"OTEL_EXPORTER_OTLP_{signal}_PROTOCOL")
            or environ.get("OTEL_EXPORTER_OTLP_PROTOCOL")
            or PROTOCOL
        )
        if protocol != PROTOCOL:
            return Asked(problem=f"OTLP over {protocol[:20]} is not offered; use {PROTOCOL}")
    return Asked("TRACES" in wanted, "METRICS" in wanted)


def _is_asked(environ: Mapping[str, str], signal: str) -> bool:
    exporters = {e.strip() for e in environ.get(f"OTEL_{signal}_EXPORTER", "").lower().split(",")}
    endpoint = environ.get("OTEL_EXPORTER_OTLP_ENDPOINT") or environ.get(
        f"OTEL_EXPORTER_OTLP_{signal}_ENDPOINT"
    )
    return "otlp" in exporters or (exporters == {""} and bool(endpoint))
