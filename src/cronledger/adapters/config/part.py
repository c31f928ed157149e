"""One part of the file (a schedule, a queue, the defaults): its shape, its problems, its places."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ValidationError

from cronledger.adapters.config.nodes import (
    Entry,
    ListNode,
    MapNode,
    Node,
    RefusedNode,
    TextNode,
    find,
    kind_of,
    raw,
)
from cronledger.adapters.config.words import explain, meant_key

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pydantic_core import ErrorDetails

    from cronledger.adapters.config.findings import Findings, Place

Shape = TypeVar("Shape", bound=BaseModel)

# Taking out a bad value can leave a mapping that lacks it; as deep as models nest.
_TURNS = 4


@dataclass(frozen=True, slots=True)
class Part:
    """A mapping of the file; `place` is that of its key, `subject` goes into its problems."""

    subject: str
    place: Place
    node: MapNode
    findings: Findings

    def shape(self, model: type[Shape]) -> Shape:
        """What of this part has the right shape; everything else is reported and left out."""
        given = {key: raw(entry.value) for key, entry in self.node.entries.items()}
        for turn in range(_TURNS):
            try:
                return model.model_validate(given)
            except ValidationError as error:
                for found in error.errors(include_url=False, include_input=False):
                    # A later turn finds only what the first one has torn.
                    if turn == 0:
                        self._report(found, model)
                    _remove(given, found["loc"])
        return model()

    def refuse(self, path: Sequence[str | int], message: str, offset: int = 0) -> None:
        """Report a problem with the value at `path`, at character `offset` of its text."""
        node = find(self.node, path).value
        if isinstance(node, RefusedNode):
            return
        place = node.place_of(offset) if isinstance(node, TextNode) else node.place
        self.findings.add(place, message, self.subject)

    def refuse_at(self, place: Place, message: str) -> None:
        """Report a problem at a place."""
        self.findings.add(place, message, self.subject)

    def within(self, key: str) -> Part | None:
        """The mapping under `key` as a part of its own; None, and reported, if it is none."""
        entry = self.node.entries.get(key)
        return None if entry is None else self._part_of(entry.value, entry.key_place, key)

    def items(self, key: str) -> Iterator[Part]:
        """The mappings in the list under `key`; what is none is reported and left out."""
        entry = self.node.entries.get(key)
        if entry is None or isinstance(entry.value, RefusedNode):
            return
        if not isinstance(entry.value, ListNode):
            given = kind_of(entry.value)
            message = f"{key}: expected a list, got {given}; write [ ] or lines of '- '"
            self.refuse_at(entry.value.place, message)
            return
        for item in entry.value.items:
            part = self._part_of(item, item.place, key)
            if part is not None:
                yield part

    def _part_of(self, node: Node, place: Place, key: str) -> Part | None:
        if isinstance(node, MapNode):
            return Part(self.subject, place, node, self.findings)
        if not isinstance(node, RefusedNode):
            message = f"{key}: expected a mapping, got {kind_of(node)}; write {{key: value}}"
            self.refuse_at(node.place, message)
        return None

    def stands_for(self, key: str) -> bool:
        """Whether some key was meant to be `key`: then its absence is no second problem."""
        others = self.node.entries.keys()
        if key in others:
            return True
        known = (key,)
        return any(other == "<<" or meant_key(other, known) for other in others)

    def _report(self, error: ErrorDetails, model: type[BaseModel]) -> None:
        loc = error["loc"]
        found: Entry = find(self.node, loc)
        if isinstance(found.value, RefusedNode):
            return
        # An unknown key is wrong itself; of any other key it is the value.
        by_key = error["type"] in {"extra_forbidden", "missing"}
        place = found.key_place if by_key else found.value.place
        self.findings.add(place, explain(error, model, found.value), self.subject)


def _remove(given: dict[str, Any], path: Sequence[str | int]) -> None:
    """Take out of `given` what stands at `path`; a list keeps None in the place of an item."""
    within: Any = given
    for step, after in pairwise(path):
        inner = within.get(step)
        if isinstance(inner, list) and isinstance(after, int):
            inner[after] = None
            return
        if not isinstance(inner, dict) or after not in inner:
            within.pop(step, None)
            return
        within = inner
    within.pop(path[-1], None)
