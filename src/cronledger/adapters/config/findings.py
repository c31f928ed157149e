"""Where a problem stands and how many are kept; they come out in file order."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from cronledger.errors import ConfigError, Problem

# A file with more mistakes than this has one mistake many times.
MAX_PROBLEMS = 1000
_SHOWN = 60


# A named tuple, for its speed: a large file has half a million places.
class Place(NamedTuple):
    """A place in the file; line and column count from 1."""

    line: int
    column: int


@dataclass(slots=True)
class Findings:
    """Collects the problems of one file. `add` raises ConfigError once there are too many."""

    file: str
    problems: list[Problem] = field(default_factory=list)
    _known: set[Problem] = field(default_factory=set)

    def add(self, place: Place, message: str, subject: str = "") -> None:
        """Keep one problem. Raises ConfigError with all of them beyond `MAX_PROBLEMS`."""
        problem = Problem(message, subject, self.file, place.line, place.column)
        if problem in self._known:
            return  # of a key that several versions share
        self._known.add(problem)
        self.problems.append(problem)
        if len(self.problems) >= MAX_PROBLEMS:
            message = f"{MAX_PROBLEMS} problems found; the rest is not shown, mend these first"
            self.problems.append(Problem(message, "", self.file, place.line, place.column))
            raise self.error()

    def error(self) -> ConfigError:
        """Everything found so far as one error, in file order."""
        return ConfigError(sorted(self.problems, key=lambda found: (found.line, found.column)))


def shown(text: str) -> str:
    """`text` in quotes, escaped, and short enough for a message."""
    return repr(text) if len(text) <= _SHOWN else repr(text[:_SHOWN] + "…")


def subject(name: str) -> str:
    """The name of a schedule or queue as it stands before its problems, however odd it is."""
    return name[:63] if name.isprintable() else shown(name[:63])
