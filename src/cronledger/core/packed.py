"""Many keys as one block of memory, so that equal blocks are known as equal at once.

An instant is eight bytes, microseconds since 2000: the form in which the ledger's index holds and
sends it, because turning ten million recorded keys into another one costs more than comparing them.
"""

from __future__ import annotations

import struct
import sys
from array import array
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

_MICRO: Final = 1_000_000
_Y2000: Final = 946_684_800
_SIZE: Final = 8
# Of an array as it is sent: dimensions, whether it has nulls, the type, and of its one dimension
# the length and the lowest index. Before each element stands its length.
_HEADER: Final = struct.Struct(">iiIii")


@dataclass(frozen=True, slots=True)
class Packed:
    """Instants in whole seconds, ascending and unique."""

    block: array[int]

    @classmethod
    def of(cls, epochs: Sequence[int]) -> Packed:
        """The epochs, packed."""
        if not epochs or epochs[0] < _Y2000:
            return cls(array("q", [(epoch - _Y2000) * _MICRO for epoch in epochs]))
        # One number of as many lanes as there are keys: no lane ever reaches into the next, and
        # arithmetic on all of them is a third of the time of a step for each.
        lanes = array("Q", epochs)
        micros = int.from_bytes(lanes, sys.byteorder) * _MICRO - _starts(len(lanes))
        return cls(array("q", micros.to_bytes(_SIZE * len(lanes), sys.byteorder)))

    @classmethod
    def of_array(cls, sent: bytes) -> Packed:
        """What the server sends in binary for an array of instants."""
        if len(sent) <= _HEADER.size:
            return cls(array("q"))
        words = array("I", sent[_HEADER.size :])
        halves = array("I", bytes(len(words) // 3 * _SIZE))
        halves[0::2], halves[1::2] = words[1::3], words[2::3]
        block = array("q", halves.tobytes())
        if sys.byteorder == "little":
            block.byteswap()
        return cls(block)

    def epochs(self) -> list[int]:
        """The epochs, ascending."""
        return [micros // _MICRO + _Y2000 for micros in self.block]

    def __contains__(self, epoch: int) -> bool:
        micros = (epoch - _Y2000) * _MICRO
        place = bisect_left(self.block, micros)
        return place < len(self.block) and self.block[place] == micros

    def __len__(self) -> int:
        return len(self.block)


def difference(expected: Packed, recorded: Packed) -> tuple[list[int], list[int]]:
    """Epochs only expected, and epochs only recorded; both ascend."""
    if expected.block == recorded.block:
        return [], []
    owed, known = expected.block, recorded.block
    absent: array[int] = array("q")
    unexpected: array[int] = array("q")
    with memoryview(owed) as left, memoryview(known) as right:
        here = there = 0
        while here < len(owed) and there < len(known):
            if owed[here] == known[there]:
                run = _common(left[here:], right[there:])
                here, there = here + run, there + run
            elif owed[here] < known[there]:
                absent.append(owed[here])
                here += 1
            else:
                unexpected.append(known[there])
                there += 1
    absent += owed[here:]
    unexpected += known[there:]
    return Packed(absent).epochs(), Packed(unexpected).epochs()


def _common(left: memoryview, right: memoryview) -> int:
    """How many keys both begin with; found by ever longer steps, so that few cost little.

    Views of whole keys: Python compares views item by item, and bytes are eight times as many.
    """
    most = min(len(left), len(right))
    known, step = 0, 1
    while known < most and step:
        end = min(known + step, most)
        if left[known:end] == right[known:end]:
            known = end
            step *= 2
        elif end - known == 1:
            return known
        else:
            step = (end - known) // 2
            most = end
    return known


# Schedules of one cadence have as many keys each.
@lru_cache(maxsize=4)
def _starts(count: int) -> int:
    """The year 2000 in each of so many lanes."""
    return int.from_bytes(array("Q", [_Y2000 * _MICRO]) * count, sys.byteorder)
