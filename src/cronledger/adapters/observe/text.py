"""How samples are written: the text format of Prometheus, and OpenMetrics.

Both have the same lines of samples, made once for the two; they differ in what is said of a family,
and in the end. What a general writer looks for at each sample, ours never have.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from math import inf, isfinite, isnan

from cronledger.core.catalogue import CATALOGUE, Metric, MetricType
from cronledger.core.distribution import Distribution
from cronledger.core.samples import Sample

# By family, in the order of the catalogue.
Lines = dict[str, list[str]]

_SUFFIX = {MetricType.COUNTER: "_total", MetricType.INFO: "_info"}


def lines_of(samples: Iterable[Sample]) -> Lines:
    """The lines of every family of the catalogue. Each series may be there once."""
    lines: Lines = {name: [] for name in CATALOGUE}
    seen: set[tuple[str, tuple[str, ...]]] = set()
    for sample in samples:
        metric = CATALOGUE.get(sample.metric)
        assert metric is not None, f"{sample.metric} is not in the catalogue"
        assert len(sample.labels) == len(metric.labels), f"{sample.metric} takes {metric.labels}"
        series = sample.metric, sample.labels
        assert series not in seen, f"{sample} is there twice"
        seen.add(series)
        value = sample.value
        if isinstance(value, Distribution):
            assert metric.bounds, f"{metric.name} takes a number"
            lines[sample.metric] += _histogram(metric, sample.labels, value)
        else:
            assert not metric.bounds, f"{metric.name} takes a distribution"
            of_one = _labels(metric, sample.labels)
            lines[sample.metric].append(f"{metric.name}{of_one} {_number(value)}\n")
    return lines


def text(lines: Lines) -> bytes:
    """In the text format, version 0.0.4."""
    return "".join(_families(lines, openmetrics=False)).encode()


def openmetrics(lines: Lines) -> bytes:
    """In OpenMetrics 1.0.0."""
    return "".join([*_families(lines, openmetrics=True), "# EOF\n"]).encode()


def _families(lines: Lines, *, openmetrics: bool) -> Iterator[str]:
    for name, of_one in lines.items():
        metric = CATALOGUE[name]
        family = name.removesuffix(_SUFFIX.get(metric.type, "")) if openmetrics else name
        info = metric.type is MetricType.INFO and not openmetrics
        kind = MetricType.GAUGE if info else metric.type
        yield f"# HELP {family} {_escaped(metric.help)}\n# TYPE {family} {kind}\n"
        yield from of_one


def _labels(metric: Metric, values: Sequence[str]) -> str:
    if len(values) == 1:  # as most have
        return f'{{{metric.labels[0]}="{_escaped(values[0])}"}}'
    return f"{{{_pairs(metric, values)}}}" if values else ""


def _pairs(metric: Metric, values: Sequence[str]) -> str:
    pairs = zip(metric.labels, values, strict=True)
    return ",".join(f'{label}="{_escaped(value)}"' for label, value in pairs)


def _histogram(metric: Metric, labels: Sequence[str], value: Distribution) -> Iterator[str]:
    name, of_all, pairs = metric.name, _labels(metric, labels), _pairs(metric, labels)
    head = f"{pairs}," if pairs else ""
    # Each bucket with all that is below it.
    for bound, count in zip((*value.bounds, inf), accumulate(value.counts), strict=True):
        yield f'{name}_bucket{{{head}le="{_number(bound)}"}} {_number(count)}\n'
    yield f"{name}_count{of_all} {_number(value.count)}\n"
    yield f"{name}_sum{of_all} {_number(value.total)}\n"


def _escaped(value: str) -> str:
    if "\\" in value or "\n" in value or '"' in value:
        return value.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")
    return value


def _number(value: float) -> str:
    if isfinite(value):
        return repr(float(value))
    if isnan(value):
        return "NaN"
    return "+Inf" if value > 0 else "-Inf"
