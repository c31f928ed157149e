"""Every small way to break a rule or an alert: what it compares, with what, for how long, for whom.

The expressions are taken apart as text: promtool says afterwards whether a mutant is still a rule.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

Rule = dict[str, Any]

# What stands in an expression, and what somebody might make of it.
SWAPS = (
    (r"\bmax without\b", "min without"),
    (r"\bmin without\b", "max without"),
    (r"\bsum without\b", "max without"),
    (r"\bclamp_min\b", "clamp_max"),
    (r"\babs\b", ""),
    (r"\bincrease\b", "last_over_time"),
    (r" offset \d+m", ""),
    (r" == ", " != "),
    (r" != ", " == "),
    (r" > ", " < "),
    (r" > ", " >= "),
    (r" < ", " > "),
    (r" >= ", " <= "),
    (r"\{[a-z_]+(?:=~|!~|=|!=)\"[^\"]*\"\}", ""),
    (r"\babsent\b", ""),
    (r"\n/ ", "\n* "),
)
# A length of time in an expression, a fifth of it and five times as much.
RANGE = re.compile(r"\[(\d+)([mh])\]")
NUMBER = re.compile(r"(?<![\w.:\"\[])\d+(?![\w.\]\"])")
LABELS = re.compile(r"\b(without|by|on|group_left) \(([^)]*)\)")
CLAUSE = re.compile(r"\b(and|or|unless)\b")
SPAN = re.compile(r"(\d+)([smh])")


@dataclass(frozen=True, slots=True)
class Mutant:
    """A broken rule: where it stands, what was done to it."""

    rule: str
    what: str
    broken: Rule

    def __str__(self) -> str:
        return f"{self.rule}: {self.what}"


def name_of(rule: Rule) -> str:
    return str(rule.get("alert") or rule["record"])


def mutants_of(rule: Rule) -> Iterator[Mutant]:
    """Each of them differs from `rule` by one thing."""
    for what, expr in _expressions(rule["expr"].strip()):
        yield Mutant(name_of(rule), what, {**rule, "expr": expr})
    if "alert" in rule:
        yield from _alerts(rule)


def _expressions(expr: str) -> Iterator[tuple[str, str]]:
    """Broken ones, by what was done; what comes out the same in two ways comes out once."""
    seen = {expr}
    for what, start, end, instead in _edits(expr):
        broken = expr[:start] + instead + expr[end:]
        if broken not in seen:
            seen.add(broken)
            line = expr.count("\n", 0, start) + 1
            yield f"line {line}: {what}", broken


def _edits(expr: str) -> Iterator[tuple[str, int, int, str]]:
    for pattern, instead in SWAPS:
        for found in re.finditer(pattern, expr):
            yield f"{found[0]!r} to {instead!r}", found.start(), found.end(), instead
    for found in RANGE.finditer(expr):
        unit = int(found[1]) * (60 if found[2] == "h" else 1)
        for minutes in (unit // 5, unit * 5):
            yield f"{found[0]} to [{minutes}m]", found.start(), found.end(), f"[{minutes}m]"
    for found in NUMBER.finditer(expr):
        number = int(found[0])
        for other in (1,) if number == 0 else (number * 2, number // 2):
            yield f"{number} to {other}", found.start(), found.end(), str(other)
    for found in LABELS.finditer(expr):
        names = found[2].split(", ")
        for name in names:
            rest = ", ".join(other for other in names if other != name)
            instead = f"{found[1]} ({rest})"
            yield f"{found[1]} lacks {name}", found.start(), found.end(), instead
    for found in CLAUSE.finditer(expr):
        end = _end_of_clause(expr, found.end())
        clause = " ".join(expr[found.start() : end].split())
        yield f"without {clause[:60]!r}", found.start(), end, ""


def _end_of_clause(expr: str, start: int) -> int:
    """Where the right side of a set operator ends: the next one, or the bracket around both."""
    depth = 0
    for index in range(start, len(expr)):
        if depth == 0 and CLAUSE.match(expr, index) and not expr[index - 1].isalnum():
            return index
        depth += {"(": 1, ")": -1}.get(expr[index], 0)
        if depth < 0:
            return index
    return len(expr)


def _alerts(rule: Rule) -> Iterator[Mutant]:
    name = name_of(rule)
    for key in ("for", "keep_firing_for"):
        if key not in rule:
            yield Mutant(name, f"{key} of 10m", {**rule, key: "10m"})
            continue
        rest = {other: value for other, value in rule.items() if other != key}
        yield Mutant(name, f"no {key}", rest)
        found = SPAN.fullmatch(rule[key])
        assert found is not None
        yield Mutant(name, f"{key} doubled", {**rule, key: f"{int(found[1]) * 2}{found[2]}"})
    for part in ("labels", "annotations"):
        for key in rule[part]:
            rest = {other: value for other, value in rule[part].items() if other != key}
            yield Mutant(name, f"{part} lack {key}", {**rule, part: rest})
