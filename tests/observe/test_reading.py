"""What a leader keeps, as text and back."""

from __future__ import annotations

from sample_facts import DRIFT, LEDGER

from cronledger.adapters.postgres.reading import from_text, to_text
from cronledger.core.snapshot import Reading


def test_a_reading_comes_back_as_it_was() -> None:
    whole = Reading(LEDGER, DRIFT)
    assert from_text(to_text(whole)) == whole


def test_a_reading_of_a_later_version_is_read_as_far_as_it_is_known() -> None:
    text = to_text(Reading(LEDGER)).replace('{"ledger"', '{"weather":"fine","ledger"', 1)
    assert from_text(text) == Reading(LEDGER)
    assert from_text('{"ledger": {"taken_at": "now and then"}}') is None
