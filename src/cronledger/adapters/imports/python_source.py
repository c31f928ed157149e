"""Python files read as text: names that stand for one literal, calls, keywords. Nothing is run."""

from __future__ import annotations

import ast
import json
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final

from cronledger.errors import ConfigError, Problem

_UNITS: Final = ("days", "seconds", "microseconds", "milliseconds", "minutes", "hours", "weeks")
_FOLLOWED_MAX = 10
# Sub-expressions nested deeper than this are of no schedule.
_DEPTH_MAX = 20
PAIRS_MAX = 100_000
LOOPS: Final = (ast.For, ast.AsyncFor, ast.While, ast.comprehension, ast.ListComp, ast.DictComp)
BRANCHES: Final = (ast.If, ast.Try, ast.For, ast.While, ast.With)
_SCOPES: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


@dataclass(slots=True)
class Module:
    """A parsed file. `names` are what its top level assigns, each value in the order of the file.

    A name that is also assigned under a condition, in a loop or in place stands for no literal.
    """

    tree: ast.Module
    names: dict[str, list[ast.expr]] = field(default_factory=dict)
    parents: dict[ast.AST, ast.AST] = field(default_factory=dict)

    def settled(self, node: ast.expr | None) -> ast.expr | None:
        """What a node stands for: the literal that a top-level name was given, else itself."""
        for _ in range(_FOLLOWED_MAX):
            if not isinstance(node, ast.Name) or not self.names.get(node.id):
                return node
            values = self.names[node.id]
            late = self.inside(node, ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
            known = values if late else [v for v in values if v.lineno < node.lineno]
            if not known:
                return node
            node = known[-1]
        return node

    def text(self, node: ast.expr | None) -> str | None:
        """The text that a node is; None if it is none, or not a literal."""
        found = self.settled(node)
        if isinstance(found, ast.Constant) and isinstance(found.value, str):
            return found.value
        return None

    def inside(self, node: ast.AST, *kinds: type[ast.AST]) -> bool:
        """Whether a node stands in a part of one of these kinds."""
        return self.within(node, *kinds) is not None

    def within(self, node: ast.AST, *kinds: type[ast.AST]) -> ast.AST | None:
        """The nearest part of one of these kinds that a node stands in."""
        above = self.parents.get(node)
        while above is not None and not isinstance(above, kinds):
            above = self.parents.get(above)
        return above


def parse(text: str, path: str) -> Module:
    """The parsed file. Raises ConfigError if it is not Python, with the line."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # odd escapes of a file that is not ours
            tree = ast.parse(text.replace("\r", "\n"))
    except SyntaxError as error:
        message = f"not Python that can be read ({error.msg}); mend it first"
        raise ConfigError([Problem(message, "", path, error.lineno or 1, 1)]) from None
    except (RecursionError, MemoryError, ValueError):
        message = "not Python that can be read (nested too deeply); split it"
        raise ConfigError([Problem(message, "", path, 1, 1)]) from None
    module = Module(tree)
    for above in ast.walk(tree):
        for below in ast.iter_child_nodes(above):
            module.parents[below] = above
    _learn_names(module)
    return module


def _learn_names(module: Module) -> None:
    for statement in module.tree.body:
        for target, value in assignments(statement):
            if isinstance(target, ast.Name):
                module.names.setdefault(target.id, []).append(value)
    for node in ast.walk(module.tree):
        stored = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        if not stored or module.inside(node, *_SCOPES):
            continue
        assert isinstance(node, ast.Name)
        if module.inside(node, ast.AugAssign, *BRANCHES):
            module.names.pop(node.id, None)


def assignments(statement: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """The targets of an assignment, each with the value; nothing for any other statement."""
    if isinstance(statement, ast.Assign):
        for target in statement.targets:
            yield target, statement.value
    elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
        yield statement.target, statement.value


def calls(module: Module) -> list[ast.Call]:
    """Every call, in the order of the file."""
    found = [node for node in ast.walk(module.tree) if isinstance(node, ast.Call)]
    return sorted(found, key=lambda node: (node.lineno, node.col_offset))


def name_of(node: ast.expr | None) -> str:
    """The last word of a dotted name, of a call the one that is called; "" for anything else."""
    if isinstance(node, ast.Call):
        return name_of(node.func)
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def dotted(node: ast.expr | None) -> str:
    """A dotted name as written; "" for anything else."""
    words: list[str] = []
    while isinstance(node, ast.Attribute):
        words.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(words)]) if isinstance(node, ast.Name) else ""


def keyword(call: ast.Call, *names: str) -> ast.keyword | None:
    """The keyword argument of one of these names."""
    return next((given for given in call.keywords if given.arg in names), None)


def number(node: ast.expr | None) -> float | None:
    """The number that a literal is, worked out if it is a product or sum of literals."""
    return _number(node, _DEPTH_MAX)


def _number(node: ast.expr | None, depth: int) -> float | None:
    if isinstance(node, ast.Constant):
        value = node.value
        fits = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e12
        return float(value) if isinstance(value, int | float) and fits else None
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _number(node.operand, depth - 1) if depth else None
        return None if inner is None else -inner
    if isinstance(node, ast.BinOp) and depth:
        left, right = _number(node.left, depth - 1), _number(node.right, depth - 1)
        if left is None or right is None:
            return None
        if isinstance(node.op, ast.Mult):
            return left * right
        if isinstance(node.op, ast.Add):
            return left + right
    return None


def span(module: Module, node: ast.expr | None) -> timedelta | None:
    """The span of a `timedelta(...)` of literals; None for anything else."""
    node = module.settled(node)
    if not isinstance(node, ast.Call) or name_of(node) != "timedelta" or len(node.args) > 3:
        return None
    given = dict(zip(_UNITS, node.args, strict=False))
    given |= {word.arg: word.value for word in node.keywords if word.arg}
    amounts = {unit: number(module.settled(value)) for unit, value in given.items()}
    if not given.keys() <= set(_UNITS) or None in amounts.values():
        return None
    if any(word.arg is None for word in node.keywords):
        return None
    try:
        return timedelta(**{unit: amount for unit, amount in amounts.items() if amount is not None})
    except OverflowError:
        return None


def shown(node: ast.AST | None) -> str:
    """A node as code, short enough for a message."""
    if node is None:
        return "nothing"
    try:
        text = ast.unparse(node)
    except (RecursionError, ValueError):
        text = "an expression nested too deeply"
    text = " ".join(text.split())
    return text if len(text) <= 60 else f"{text[:57]}..."


def pairs(module: Module, node: ast.expr | None) -> Iterator[tuple[str | None, ast.expr]]:
    """The items of a dict of any spelling, parts unpacked into it included, in order.

    The key is None where what stands there is no literal. At most `PAIRS_MAX` parts are read.
    """
    waiting: list[tuple[str | None, ast.expr | None, bool]] = [(None, node, True)]
    for _ in range(PAIRS_MAX):
        if not waiting:
            return
        key, found, is_part = waiting.pop()
        if not is_part and found is not None:
            yield key, found
            continue
        settled = module.settled(found)
        parts = _parts(module, settled) if settled is not None else []
        if parts is None and settled is not None:
            yield None, settled
        waiting += reversed(parts or [])


def _parts(module: Module, node: ast.expr) -> list[tuple[str | None, ast.expr | None, bool]] | None:
    """What a dict is made of: items, and True with what is unpacked; None if it is no dict."""
    if isinstance(node, ast.Dict):
        return [
            (None, value, True) if key is None else (module.text(key) or shown(key), value, False)
            for key, value in zip(node.keys, node.values, strict=True)
        ]
    if isinstance(node, ast.Call) and name_of(node) in {"dict", "update"}:
        given = [(word.arg, word.value, word.arg is None) for word in node.keywords]
        return [*((None, part, True) for part in node.args), *given]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return [(None, node.left, True), (None, node.right, True)]
    return None


def plain(module: Module, node: ast.expr | None) -> Any:
    """A literal as JSON can hold it; None if it is none."""
    node = module.settled(node)
    try:
        value = ast.literal_eval(node) if node is not None else None
        return json.loads(json.dumps(value, allow_nan=False))
    except (ValueError, TypeError, RecursionError, MemoryError, SyntaxError):
        return None


def zone(module: Module, node: ast.expr | None) -> str | None:
    """The zone name that a node gives, be it a text or a `ZoneInfo(...)` and its like."""
    node = module.settled(node)
    name = name_of(node)
    if isinstance(node, ast.Call) and name in {"timezone", "ZoneInfo", "Timezone", "gettz", "tz"}:
        return module.text(node.args[0]) if len(node.args) == 1 else None
    if isinstance(node, ast.Attribute) and name.lower() == "utc":
        return "UTC"
    return module.text(node)
