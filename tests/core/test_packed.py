"""Packed keys keep every key, and their difference is that of sets."""

from __future__ import annotations

import struct

from hypothesis import given
from hypothesis import strategies as st

from cronledger.core.packed import Packed, difference

# Around 1970, around 2000 and up to the last instant that anybody may owe.
FIRST, LAST = -(2**33), 7_258_118_400
EPOCHS = st.sets(st.integers(FIRST, LAST), max_size=40).map(sorted)
DENSE = st.sets(st.integers(946_684_790, 946_684_830)).map(sorted)
PLACES = st.lists(st.integers(0, 600), max_size=12)


def on_the_wire(epochs: list[int]) -> bytes:
    """What a server sends for them: a header of five words, then a length before each."""
    header = struct.pack(">iiIii", 1, 0, 1184, len(epochs), 1)
    times = [(epoch - 946_684_800) * 1_000_000 for epoch in epochs]
    return header + b"".join(struct.pack(">iq", 8, time) for time in times)


@given(EPOCHS)
def test_they_come_out_as_they_went_in(epochs: list[int]) -> None:
    assert Packed.of(epochs).epochs() == epochs
    assert len(Packed.of(epochs)) == len(epochs)


@given(EPOCHS)
def test_what_a_server_sends_equals_what_is_packed_here(epochs: list[int]) -> None:
    assert Packed.of_array(on_the_wire(epochs)) == Packed.of(epochs)


@given(DENSE, st.integers(946_684_780, 946_684_840))
def test_it_knows_what_it_holds(epochs: list[int], epoch: int) -> None:
    assert (epoch in Packed.of(epochs)) == (epoch in epochs)


def test_an_empty_array_is_a_header_without_dimensions() -> None:
    assert Packed.of_array(struct.pack(">iiI", 0, 0, 1184)) == Packed.of([])


@given(DENSE, DENSE)
def test_the_difference_is_that_of_sets(expected: list[int], recorded: list[int]) -> None:
    absent, unexpected = difference(Packed.of(expected), Packed.of(recorded))
    assert absent == sorted(set(expected) - set(recorded))
    assert unexpected == sorted(set(recorded) - set(expected))


@given(PLACES, PLACES)
def test_few_differences_among_many_keys_are_all_found(lost: list[int], strange: list[int]) -> None:
    owed = [60 * n for n in range(601)]
    recorded = sorted({*owed, *(60 * n + 7 for n in strange)} - {60 * n for n in lost})
    absent, unexpected = difference(Packed.of(owed), Packed.of(recorded))
    assert absent == sorted({60 * n for n in lost})
    assert unexpected == sorted({60 * n + 7 for n in strange})
