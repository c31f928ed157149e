"""`crontab(...)` of Celery as a cron text: its defaults, its lists, its ranges over the end."""

from __future__ import annotations

import ast
import re
from typing import Final

from cronledger.adapters.imports import cron_text, placeholders, python_source
from cronledger.adapters.imports.model import Caution, CronTrigger
from cronledger.adapters.imports.python_source import Module, shown

# The arguments of crontab() in their order, and the fields of a cron that they are.
_ARGUMENTS: Final = {
    "minute": "minute",
    "hour": "hour",
    "day_of_week": "day-of-week",
    "day_of_month": "day-of-month",
    "month_of_year": "month",
}
_ORDER: Final = ("minute", "hour", "day_of_month", "month_of_year", "day_of_week")
# More values than any field has.
_LONGEST = 60
_ITEM = re.compile(r"(?:\*|[A-Za-z]+|\d+)(?:-(?:[A-Za-z]+|\d+))?(?:/\d+)?")


class RefusedError(ValueError):
    """Why a schedule in code is not carried."""


def read(module: Module, call: ast.Call) -> tuple[CronTrigger, list[Caution]]:
    """The cron that a call spells, and what its author may not have meant. Raises RefusedError."""
    given = _arguments(call)
    fields = [_field(module, name, given.get(name)) for name in _ORDER]
    trigger = CronTrigger(" ".join(fields))
    problem = cron_text.problem_of(trigger)
    if problem:
        raise RefusedError(problem)
    cautions = []
    if "minute" not in given and given:
        message = "crontab() without minute= runs every minute of the time it names; write minute=0"
        cautions.append(Caution("minute-not-set", message))
    return trigger, cautions


def _arguments(call: ast.Call) -> dict[str, ast.expr]:
    given = dict(zip(_ARGUMENTS, call.args, strict=False))
    for word in call.keywords:
        if word.arg is None:
            raise RefusedError(f"not a literal: {shown(call)}")
        if word.arg in {"nowfun", "tz"}:
            raise RefusedError(f"{word.arg}= in crontab() decides at run time what time it is")
        if word.arg not in {*_ARGUMENTS, "app"}:
            raise RefusedError(f"crontab() has no argument {word.arg!r}")
        if word.arg != "app":
            given[word.arg] = word.value
    if len(call.args) > len(_ARGUMENTS) or any(isinstance(a, ast.Starred) for a in call.args):
        raise RefusedError(f"not a literal: {shown(call)}")
    return given


def _field(module: Module, name: str, node: ast.expr | None) -> str:
    if node is None:
        return "*"
    kind = _ARGUMENTS[name]
    text = _written(module, node, depth=2)
    held = placeholders.in_schedule(text)
    if held:
        raise RefusedError(f"template: {name} is the placeholder {held}; fill it in")
    items = [_item(item.strip(), name, kind) for item in text.split(",")]
    return "*" if "*" in items else ",".join(items)


def _item(item: str, name: str, kind: str) -> str:
    low, high = cron_text.BOUNDS[kind]
    if not _ITEM.fullmatch(item):
        raise RefusedError(f"{name}={item!r} is no value of crontab()")
    range_, slash, step = item.partition("/")
    words = [range_] if range_ == "*" else range_.split("-")
    if slash and words != ["*"] and len(words) == 1:
        raise RefusedError(f"crontab() refuses {name}={item!r}; write {range_}-{high}/{step}")
    numbers = [word if word == "*" else _number(word, name, kind) for word in words]
    for number in numbers:
        if number != "*" and not low <= int(number) <= high:
            message = f"crontab() refuses {name}={item!r}; it has {low} to {high}"
            raise RefusedError(message)
    return cron_text.unwrapped("-".join(numbers) + slash + step, kind)


def _number(word: str, name: str, kind: str) -> str:
    number = cron_text.number_of(word, kind)
    if number is None:
        raise RefusedError(f"{name}={word!r} is no value of crontab()")
    return str(number)


def _written(module: Module, node: ast.expr, depth: int) -> str:
    """A field as one text, be it a number, a text or a list of both."""
    node = module.settled(node) or node
    text, number = module.text(node), python_source.number(node)
    if text is not None:
        return text
    if number is not None and number == int(number):
        return str(int(number))
    if depth and isinstance(node, ast.List | ast.Tuple | ast.Set) and node.elts:
        return ",".join(_written(module, item, depth - 1) for item in node.elts[:_LONGEST])
    called = python_source.name_of(node) if isinstance(node, ast.Call) else ""
    if isinstance(node, ast.Call) and called in {"set", "list", "tuple"} and len(node.args) == 1:
        return _written(module, node.args[0], depth - 1) if depth else ""
    values = _range(module, node) if isinstance(node, ast.Call) and called == "range" else []
    if not values:
        raise RefusedError(f"not a literal: {shown(node)}; write the values out")
    return ",".join(str(value) for value in values)


def _range(module: Module, call: ast.Call) -> list[int]:
    """The values of a `range(...)` of literals; none for any other."""
    bounds = [python_source.number(module.settled(part)) for part in call.args]
    whole = [int(bound) for bound in bounds if bound is not None and abs(bound) < 1e4]
    if len(whole) != len(bounds) or not 1 <= len(whole) <= 3 or whole[2:] == [0]:
        return []
    return list(range(*whole))[:_LONGEST]
