"""How a handler says what shall become of its attempt, and how it is told that it must end."""

from __future__ import annotations

from datetime import timedelta

LEASE_LOST = "lease_lost"
TIMEOUT = "timeout"
STOPPING = "stopping"
CANCELLED = "cancelled"

RETRY_AFTER_MAX = timedelta(days=366)


class Retry(BaseException):
    """Raised by a handler: this attempt did not work, try again.

    `after` (0 to 366 days) replaces the back-off; None keeps it. At the last attempt the job is
    dead all the same. Not an Exception, so that a handler's own `except Exception` lets it pass.
    """

    def __init__(self, after: timedelta | None = None, reason: str = "") -> None:
        if after is not None and not isinstance(after, timedelta):
            raise TypeError(f"Retry(after=...) takes a timedelta or None, not {after!r}")
        if after is not None and not timedelta(0) <= after <= RETRY_AFTER_MAX:
            raise ValueError(f"Retry(after=...) takes 0 to 366 days, not {after}")
        self.after = after
        self.reason = reason
        super().__init__(reason)


class Discard(BaseException):
    """Raised by a handler: no attempt will ever work; the job is dead now, with this reason."""

    error_class = "discard"

    def __init__(self, reason: str = "") -> None:
        self.reason = reason
        super().__init__(reason)


class EffectConflict(Discard):
    """An effect was begun with other inputs than those of an earlier attempt."""

    error_class = "effect_conflict"


class EffectInDoubt(Discard):
    """Nobody can tell whether an effect has happened; a human must say."""

    error_class = "effect_in_doubt"


class ChunkConflict(Discard):
    """A chunk, or what follows all of them, is not what an earlier attempt said."""

    error_class = "chunk_conflict"


class Cancelled(BaseException):
    """Raised by `JobContext.check`: the attempt must end.

    `reason`: lease_lost, timeout, stopping, or cancelled by an operator.

    Not an Exception, so that a handler's own `except Exception` lets it pass.
    """

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)
