"""What a scraper is handed: one snapshot, in the form that it asks for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import Enum, auto


class Form(Enum):
    """The two formats of Prometheus, plain and compressed."""

    TEXT = auto()
    TEXT_GZIP = auto()
    OPENMETRICS = auto()
    OPENMETRICS_GZIP = auto()


TEXT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
OPENMETRICS_TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8"
CONTENT_TYPES: Mapping[Form, str] = {
    Form.TEXT: TEXT_TYPE,
    Form.TEXT_GZIP: TEXT_TYPE,
    Form.OPENMETRICS: OPENMETRICS_TYPE,
    Form.OPENMETRICS_GZIP: OPENMETRICS_TYPE,
}


class Exposition:
    """One snapshot. `write` makes a form of it, and is asked for each once."""

    def __init__(self, write: Callable[[Form], bytes]) -> None:
        self._write = write
        self._made: dict[Form, bytes] = {}
        self.asked: set[Form] = set()

    def body(self, form: Form) -> bytes:
        """For a scraper; of a form that was prepared it costs nothing."""
        self.asked.add(form)
        return self._of(form)

    @property
    def prepared(self) -> frozenset[Form]:
        """The forms that are made already."""
        return frozenset(self._made)

    def prepare(self, forms: Iterable[Form]) -> None:
        """Make these before a scraper asks."""
        for form in forms:
            self._of(form)

    def _of(self, form: Form) -> bytes:
        made = self._made.get(form)
        if made is None:
            # Two threads at once would make the same bytes.
            made = self._made[form] = self._write(form)
        return made
