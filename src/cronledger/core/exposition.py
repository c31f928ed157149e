"""What a scraper is handed: the rendered metrics, every form of them prepared once per snapshot."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Body:
    """One text, plain and gzipped, with the content type that says its format."""

    content_type: str
    plain: bytes
    gzipped: bytes


@dataclass(frozen=True, slots=True)
class Exposition:
    """The same samples in the Prometheus text format and in OpenMetrics."""

    text: Body
    openmetrics: Body
