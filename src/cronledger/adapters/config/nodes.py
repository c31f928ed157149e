"""The file as a tree of raw text with places: no YAML type is ever guessed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from cronledger.adapters.config.findings import Place, shown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True, slots=True)
class TextNode:
    """A scalar as written. `plain`: it stood without quotes.

    `inset` is how many characters of the source precede the text; None if the source does not show
    it character for character on one line (escapes, folded lines, blocks).
    """

    text: str
    place: Place
    plain: bool = True
    inset: int | None = 0

    def place_of(self, offset: int) -> Place:
        """Where character `offset` of the text (from 0) stands in the file, as near as is known."""
        if self.inset is None:
            return self.place
        return Place(self.place.line, self.place.column + self.inset + offset)


@dataclass(frozen=True, slots=True)
class ListNode:
    items: tuple[Node, ...]
    place: Place


@dataclass(frozen=True, slots=True)
class Entry:
    """A value in a mapping, with the place of its key."""

    key_place: Place
    value: Node


@dataclass(frozen=True, slots=True)
class MapNode:
    entries: Mapping[str, Entry]
    place: Place


@dataclass(frozen=True, slots=True)
class RefusedNode:
    """What the reader has already complained about; nobody complains again."""

    place: Place


Node: TypeAlias = TextNode | ListNode | MapNode | RefusedNode
Raw: TypeAlias = "str | list[Raw] | dict[str, Raw] | None"


def raw(node: Node) -> Raw:
    """The tree below `node` as plain objects; None stands for what was refused."""
    match node:
        case TextNode():
            return node.text
        case ListNode():
            return [raw(item) for item in node.items]
        case MapNode():
            return {key: raw(entry.value) for key, entry in node.entries.items()}
        case RefusedNode():
            return None


def find(node: Node, path: Sequence[str | int]) -> Entry:
    """The deepest entry that `path` leads to; a missing step ends the walk early."""
    found = Entry(node.place, node)
    for step in path:
        value = found.value
        if isinstance(value, MapNode) and isinstance(step, str) and step in value.entries:
            found = value.entries[step]
        elif isinstance(value, ListNode) and isinstance(step, int) and step < len(value.items):
            found = Entry(value.items[step].place, value.items[step])
        else:
            break
    return found


def entry_at(node: Node, path: Sequence[str]) -> Entry | None:
    """The entry at `path`, or None if there is none."""
    found = None
    for step in path:
        found = node.entries.get(step) if isinstance(node, MapNode) else None
        if found is None:
            return None
        node = found.value
    return found


def kind_of(node: Node) -> str:
    """What `node` is, for a message."""
    match node:
        case TextNode(text=""):
            return "nothing"
        case TextNode():
            return f"the text {shown(node.text)}"
        case ListNode():
            return "a list"
        case _:
            return "a mapping"
