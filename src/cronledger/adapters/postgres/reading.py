"""A reading as the text that the leader keeps for those who follow."""

from __future__ import annotations

from pydantic import TypeAdapter, ValidationError

from cronledger.core.snapshot import Reading

_READINGS = TypeAdapter(Reading)


def to_text(reading: Reading) -> str:
    """As JSON."""
    return _READINGS.dump_json(reading).decode()


def from_text(text: str) -> Reading | None:
    """What `to_text` wrote; None if another version of cronledger wrote what this one cannot read.

    A field that this version does not know is passed over, one that it added has its default.
    """
    try:
        return _READINGS.validate_json(text)
    except ValidationError:
        return None
