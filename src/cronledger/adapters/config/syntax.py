"""Where the syntax of a file breaks, and in our words how to mend it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from cronledger.adapters.config.findings import Place

if TYPE_CHECKING:
    import yaml

MAX_DEPTH = 20
TOO_DEEP = f"nested deeper than {MAX_DEPTH} levels; flatten it"

# What a plain value cannot start with; schedules do so all the time.
_NEEDS_QUOTES = "*&!%@`"
_AT_A_VALUE = ("while scanning for the next", "while scanning an a", "while scanning a tag")
# A word of the loader's own message, and ours.
_MESSAGES = (
    ("nesting depth", TOO_DEEP),
    ("Unicode character escape", "no character has this escape; write the character itself"),
    ("mapping values", "a key cannot stand here; mend the indentation, or quote the value"),
)


class Mark(Protocol):
    """What both loaders give for a place; line and column count from 0."""

    @property
    def line(self) -> int: ...
    @property
    def column(self) -> int: ...


def place_of(mark: Mark | None) -> Place:
    assert mark is not None
    return Place(mark.line + 1, mark.column + 1)


def explain_syntax(error: yaml.YAMLError, text: str) -> tuple[Place, str]:
    """The place of the break in `text`, and what to write instead."""
    problem = str(getattr(error, "problem", None) or "unreadable")
    found: Mark | None = getattr(error, "problem_mark", None)
    opened: Mark | None = getattr(error, "context_mark", None) or found
    if found is None or opened is None:
        return Place(1, 1), f"not YAML ({problem}); save the file as plain UTF-8 text"
    if str(getattr(error, "context", None) or "").startswith(_AT_A_VALUE):
        if _character(text, found) == "\t":
            return place_of(found), "a tab cannot indent; use spaces"
        start = _character(text, opened)
        if start and start in _NEEDS_QUOTES:
            return place_of(opened), f"a value cannot start with {start!r}; put it in quotes"
    return place_of(found), _message(problem, found, opened)


def _message(problem: str, found: Mark, opened: Mark) -> str:
    for part, message in _MESSAGES:
        if part in problem:
            return message
    if opened is not found and problem.startswith(("did not find expected", "expected")):
        began = f"what opens at {opened.line + 1}:{opened.column + 1} does not end before this"
        return f"{began}; mend the indentation or close the bracket"
    return f"not YAML ({problem}); mend the indentation or the quotes"


def _character(text: str, mark: Mark) -> str:
    lines = text.splitlines()
    return lines[mark.line][mark.column : mark.column + 1] if mark.line < len(lines) else ""
