"""What `import cronledger` offers."""

from __future__ import annotations

import cronledger


def test_the_public_names_are_listed_before_any_is_loaded() -> None:
    assert dir(cronledger) == sorted(cronledger.__all__)
    assert {"Handlers", "JobContext", "Retry", "Discard", "Cancelled"} <= set(dir(cronledger))


def test_every_public_name_is_there() -> None:
    assert [name for name in dir(cronledger) if not hasattr(cronledger, name)] == []
    assert not hasattr(cronledger, "nothing_such")
