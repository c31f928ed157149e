"""The id of each schedule: valid, unique in its file, the same when its source is read again."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from cronledger.adapters.imports.model import Entry

ID_MAX = 63
_WORDS = re.compile(r"[a-z0-9][a-z0-9._]*")
_SUFFIX = 4


def slug(text: str) -> str:
    """`text` as the id it would have by itself; "" if nothing of it can stand in an id."""
    return "-".join(_WORDS.findall(text.lower()[:300]))[:48].rstrip("-._")


def identified(entries: Iterable[Entry]) -> Iterator[Entry]:
    """The entries, the carried ones with their ids. One added after another never renames it."""
    taken: dict[str, int] = {}
    for entry in entries:
        if entry.refusal:
            yield entry
            continue
        found = slug(entry.name) or "schedule"
        if found in taken:
            found = _told_apart(found, entry, taken)
        taken[found] = 1
        yield replace(entry, id=found)


def _told_apart(name: str, entry: Entry, taken: dict[str, int]) -> str:
    """`name` with a mark made from the entry's own words; counted if those stand twice as well.

    `taken` counts how often each was asked for.
    """
    digest = hashlib.sha256(entry.source.encode("utf-8", "replace")).hexdigest()
    marked = found = f"{name}-{digest[:_SUFFIX]}"
    while found in taken:
        taken[marked] += 1
        found = f"{marked}-{taken[marked]}"
    return found
