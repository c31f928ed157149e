"""YAML text to a tree of raw text: one document, no aliases, anchors or tags, bounded depth."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import yaml

from cronledger.adapters.config.findings import Findings, Place, shown, subject
from cronledger.adapters.config.nodes import (
    Entry,
    ListNode,
    MapNode,
    Node,
    RefusedNode,
    TextNode,
)
from cronledger.adapters.config.syntax import MAX_DEPTH, TOO_DEEP, explain_syntax, place_of

MAX_NODES = 1_000_000
# A mapping's keys, and so the schedules of a file.
MAX_KEYS = 20_000
# The values of one schedule, one queue or another part of the file.
MAX_PART_NODES = 20_000

LOADER: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_SHARE = "shared settings go under 'defaults'"
# Neither UTF-8 nor PostgreSQL can hold these.
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


def read(text: str, findings: Findings, loader: type[Any] = LOADER) -> Node | None:
    """The tree of the one document in `text`; None if there is no document.

    Duplicate keys, aliases, anchors and tags go to `findings`. Raises ConfigError where reading
    cannot go on: broken syntax, a second document, too deep, too many values.
    """
    builder = _Builder(findings)
    try:
        for event in yaml.parse(text, Loader=loader):
            builder.take(event)
    except yaml.YAMLError as error:
        place, message = explain_syntax(error, text)
        findings.add(place, message)
        raise findings.error() from None
    return builder.root


@dataclass(slots=True)
class _Frame:
    """A collection still open; a mapping has a `key` while its value is awaited."""

    place: Place
    is_map: bool
    items: list[Node] = field(default_factory=list)
    entries: dict[str, Entry] = field(default_factory=dict)
    key: TextNode | RefusedNode | None = None

    def closed(self) -> Node:
        if self.is_map:
            return MapNode(self.entries, self.place)
        return ListNode(tuple(self.items), self.place)


@dataclass(slots=True)
class _Builder:
    """Builds the tree from events, without recursion."""

    findings: Findings
    root: Node | None = None
    stack: list[_Frame] = field(default_factory=list)
    documents: int = 0
    nodes: int = 0
    part_nodes: int = 0

    def take(self, event: yaml.Event) -> None:
        if isinstance(event, yaml.ScalarEvent):
            self._attach(self._scalar(event))
        elif isinstance(event, yaml.CollectionStartEvent):
            self._open(event)
        elif isinstance(event, yaml.CollectionEndEvent):
            self._attach(self.stack.pop().closed())
        elif isinstance(event, yaml.AliasEvent):
            place = place_of(event.start_mark)
            self._complain(place, f"alias '*{event.anchor}' is not read; {_SHARE}")
            self._attach(RefusedNode(place))
        elif isinstance(event, yaml.DocumentStartEvent):
            self.documents += 1
            if self.documents > 1:
                message = "a second document starts here; write one file for each"
                self._stop(place_of(event.start_mark), message)

    def _scalar(self, event: yaml.ScalarEvent) -> Node:
        place = self._check(event)
        value: str = event.value
        bad = _UNSTORABLE.search(value)
        if bad is not None:
            message = f"character U+{ord(bad.group()):04X} cannot be stored; remove it"
            self._complain(place, message)
            return RefusedNode(place)
        plain = event.style not in {"'", '"', "|", ">"}
        inset = 0 if plain else 1
        end = place_of(event.end_mark)
        width = end.column - place.column if place.line == end.line else -1
        return TextNode(value, place, plain, inset if width == len(value) + 2 * inset else None)

    def _open(self, event: yaml.CollectionStartEvent) -> None:
        place = self._check(event)
        if len(self.stack) >= MAX_DEPTH:
            self._stop(place, TOO_DEEP)
        self.stack.append(_Frame(place, isinstance(event, yaml.MappingStartEvent)))

    def _check(self, event: yaml.ScalarEvent | yaml.CollectionStartEvent) -> Place:
        place = place_of(event.start_mark)
        self.nodes += 1
        self.part_nodes += 1
        if self.nodes > MAX_NODES:
            self._stop(place, f"more than {MAX_NODES} values; split the file")
        if self.part_nodes > MAX_PART_NODES:
            self._stop(place, f"more than {MAX_PART_NODES} values in one part; shorten it")
        if event.anchor is not None:
            self._complain(place, f"anchor '&{event.anchor}' is not read; {_SHARE}")
        if event.tag is not None:
            tag = event.tag.replace("tag:yaml.org,2002:", "!!")
            self._complain(place, f"tag {shown(tag)} is not read; remove it")
        return place

    def _attach(self, node: Node) -> None:
        if not self.stack:
            self.root = node
            return
        frame = self.stack[-1]
        if not frame.is_map:
            frame.items.append(node)
        elif frame.key is None:
            frame.key = self._as_key(node)
            if len(self.stack) == 1 or (len(self.stack) == 2 and self._in_named_section()):
                self.part_nodes = 0
        else:
            if isinstance(frame.key, TextNode):
                self._keep(frame, frame.key, node)
            frame.key = None

    def _as_key(self, node: Node) -> TextNode | RefusedNode:
        if isinstance(node, ListNode | MapNode):
            self._complain(node.place, "a list or mapping cannot be a key; write text")
            return RefusedNode(node.place)
        return node

    def _keep(self, frame: _Frame, key: TextNode, value: Node) -> None:
        first = frame.entries.get(key.text)
        if first is None:
            if len(frame.entries) == MAX_KEYS:
                self._stop(key.place, f"more than {MAX_KEYS} keys in one mapping; split the file")
            frame.entries[key.text] = Entry(key.place, value)
            return
        where = f"{first.key_place.line}:{first.key_place.column}"
        self._complain(
            key.place, f"duplicate key {shown(key.text)}, first at {where}; remove one of the two"
        )

    def _in_named_section(self) -> bool:
        section = self.stack[0].key
        return isinstance(section, TextNode) and section.text in {"schedules", "queues"}

    def _subject(self) -> str:
        """The schedule or queue that is being read."""
        name = self.stack[1].key if len(self.stack) > 1 else None
        return subject(name.text) if isinstance(name, TextNode) and self._in_named_section() else ""

    def _complain(self, place: Place, message: str) -> None:
        self.findings.add(place, message, self._subject())

    def _stop(self, place: Place, message: str) -> None:
        self._complain(place, message)
        raise self.findings.error()
