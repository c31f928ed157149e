"""Intervals of other schedulers: which of them `every:` can say, and how its phase differs."""

from __future__ import annotations

import ast
from dataclasses import replace
from datetime import timedelta

from cronledger.adapters.imports.model import Caution, Entry, Every
from cronledger.adapters.imports.python_source import shown

_PHASE = "the interval counts from when its scheduler started there, from the epoch here"
_SECOND = timedelta(seconds=1)
_LONGEST = timedelta(days=400)


def every(entry: Entry, span: timedelta | float | None, node: ast.AST) -> Entry:
    """The entry with an interval as its trigger; refused if `node` gives no usable one."""
    if span is None:
        return entry.refused(f"not a literal: {shown(node)}; write the schedule out")
    if not isinstance(span, timedelta):
        span = timedelta(seconds=span)
    return elapsed(entry, span)


def elapsed(entry: Entry, span: timedelta) -> Entry:
    """The entry with this interval as its trigger; refused if it is no whole number of seconds."""
    if span < _SECOND or span % _SECOND or span > _LONGEST:
        total = span.total_seconds()
        return entry.refused(f"an interval of {total:g} s; write whole seconds, at most 400 days")
    return replace(entry, trigger=Every(span)).warned(Caution("interval-phase", _PHASE))
