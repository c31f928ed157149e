"""YAML of other tools as raw text with lines: every document by itself, no tag ever run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import yaml

MAX_DEPTH = 100
MAX_NODES = 1_000_000
# The key that stands for a mapping or list used as a key: an unquoted {{ placeholder }}.
NO_TEXT = "{{ }}"

_LOADER: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_OTHER_BREAKS = re.compile("[\r\x85\u2028\u2029]")
_START = re.compile(r"^---(?=\s|$)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Text:
    """A scalar as written. `plain`: it stood without quotes."""

    text: str
    line: int
    plain: bool = True


@dataclass(frozen=True, slots=True)
class Items:
    items: tuple[Node, ...]
    line: int


@dataclass(frozen=True, slots=True)
class Map:
    """A mapping; each key with its line and its value, the last of several equal keys."""

    entries: dict[str, tuple[int, Node]]
    line: int


Node: TypeAlias = Text | Items | Map


@dataclass(frozen=True, slots=True)
class Document:
    """One document: its tree, or why it cannot be read, and where. `first_line` counts from 1."""

    text: str
    first_line: int
    root: Node | None = None
    problem: str = ""
    problem_line: int = 0


class _BrokenError(Exception):
    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.message = message
        self.line = line


def documents(text: str) -> Iterator[Document]:
    """The documents of a file, in order; empty ones are left out."""
    # The other line breaks of YAML 1.1, so that every count of lines is the same.
    text = _OTHER_BREAKS.sub("\n", text)
    starts = [0, *(match.start() for match in _START.finditer(text) if match.start())]
    before = 0
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        part = text[start:end]
        first, before = before, before + part.count("\n")
        try:
            root = _Builder(first).read(part)
        except _BrokenError as error:
            yield Document(part, first + 1, None, error.message, error.line)
            continue
        if root is not None:
            yield Document(part, first + 1, root)


def at(node: Node | None, *path: str) -> Node | None:
    """The value that `path` leads to; None if there is none."""
    for step in path:
        if not isinstance(node, Map) or step not in node.entries:
            return None
        node = node.entries[step][1]
    return node


def text_at(node: Node | None, *path: str) -> str | None:
    """The text at `path`; None if there is none, or if it is a null."""
    found = at(node, *path)
    if not isinstance(found, Text) or (found.plain and found.text in {"", "~", "null", "Null"}):
        return None
    return found.text


def line_of(node: Map, key: str) -> int:
    """The line of a key; that of the mapping if the key is not there."""
    return node.entries[key][0] if key in node.entries else node.line


def is_placeholder(node: Node | None) -> bool:
    """Whether a value is a placeholder that stood without quotes, which YAML reads as a mapping."""
    return isinstance(node, Map) and NO_TEXT in node.entries


def hint_of(line: str) -> str:
    """What most often breaks a line such as `schedule: */5 * * * *`."""
    starred = re.match(r"\s*(?:-\s+)?[\w\"']+\s*:\s+[*@%]", line)
    return "; a value that starts with * or @ must be quoted" if starred else "; mend it first"


def texts(node: Node | None) -> list[str]:
    """The texts of a list, or the one that stands in its place."""
    if isinstance(node, Text):
        return [node.text]
    items = node.items if isinstance(node, Items) else ()
    return [item.text for item in items if isinstance(item, Text)]


def every_text(node: Node | None) -> Iterator[Text]:
    """All scalars under a node; each shared part once."""
    seen: set[int] = set()
    waiting = [node]
    while waiting:
        found = waiting.pop()
        if found is None or id(found) in seen:
            continue
        seen.add(id(found))
        if isinstance(found, Text):
            yield found
        elif isinstance(found, Items):
            waiting += reversed(found.items)
        else:
            if NO_TEXT in found.entries:
                yield Text("{{ an unquoted placeholder }}", found.line)
            waiting += [value for _, value in reversed(found.entries.values())]


@dataclass(slots=True)
class _Frame:
    """A collection still open; `key` awaits its value."""

    line: int
    is_map: bool
    anchor: str | None
    items: list[Node] = field(default_factory=list)
    entries: dict[str, tuple[int, Node]] = field(default_factory=dict)
    key: Text | None = None

    def add(self, node: Node) -> None:
        if not self.is_map:
            self.items.append(node)
        elif self.key is None:
            self.key = node if isinstance(node, Text) else Text(NO_TEXT, node.line)
        else:
            self._keep(self.key, node)
            self.key = None

    def _keep(self, key: Text, node: Node) -> None:
        if key.text != "<<" or not key.plain:
            self.entries[key.text] = (key.line, node)
            return
        for part in node.items if isinstance(node, Items) else (node,):
            for name, found in part.entries.items() if isinstance(part, Map) else ():
                self.entries.setdefault(name, found)

    def closed(self) -> Node:
        return Map(self.entries, self.line) if self.is_map else Items(tuple(self.items), self.line)


@dataclass(slots=True)
class _Builder:
    """Builds one tree from events, without recursion."""

    lines_before: int
    root: Node | None = None
    stack: list[_Frame] = field(default_factory=list)
    anchors: dict[str, Node] = field(default_factory=dict)
    nodes: int = 0

    def read(self, text: str) -> Node | None:
        try:
            for event in yaml.parse(text, Loader=_LOADER):
                self._take(event)
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            # A mark at the end of the text stands on a line of its own.
            line = 1 if mark is None else min(mark.line, text.count("\n")) + 1
            words = getattr(error, "problem", None) or "a character that YAML forbids"
            raise _BrokenError(f"not valid YAML ({words})", self.lines_before + line) from None
        return self.root

    def _take(self, event: Any) -> None:
        line = self.lines_before + event.start_mark.line + 1
        self.nodes += 1
        if self.nodes > MAX_NODES:
            raise _BrokenError(f"more than {MAX_NODES} values; split the file", line)
        if isinstance(event, yaml.ScalarEvent):
            plain = event.style not in {"'", '"', "|", ">"}
            self._attach(Text(event.value, line, plain), event.anchor)
        elif isinstance(event, yaml.CollectionStartEvent):
            if len(self.stack) >= MAX_DEPTH:
                raise _BrokenError(f"nested deeper than {MAX_DEPTH} levels", line)
            is_map = isinstance(event, yaml.MappingStartEvent)
            self.stack.append(_Frame(line, is_map, event.anchor))
        elif isinstance(event, yaml.CollectionEndEvent):
            frame = self.stack.pop()
            self._attach(frame.closed(), frame.anchor)
        elif isinstance(event, yaml.AliasEvent):
            if event.anchor not in self.anchors:
                raise _BrokenError(f"the alias *{event.anchor} has no anchor before it", line)
            self._attach(self.anchors[event.anchor], None)

    def _attach(self, node: Node, anchor: str | None) -> None:
        if anchor is not None:
            self.anchors[anchor] = node
        if self.stack:
            self.stack[-1].add(node)
        elif self.root is None:
            self.root = node
