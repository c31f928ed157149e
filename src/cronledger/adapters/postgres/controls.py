"""The operator's functions as SQL, and what a refusal of the database means."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

from cronledger.adapters.postgres.session import Session
from cronledger.core.audit import By
from cronledger.errors import ConfigError, RefusedError, StoreError

_NO_SUCH = "P0002"
_WRONG_STATE = "55000"


class PostgresControls:
    """Implements `ports.Controls` on one session."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def cancel(self, job_id: int, by: By) -> str:
        """End a waiting job now; ask the worker of a leased one."""
        return str(self._do("cancel", by, job_id=job_id))

    def retry_now(self, job_id: int, by: By) -> str:
        """Let a scheduled or retrying job be claimed now."""
        return str(self._do("retry_now", by, job_id=job_id))

    def take_back(self, job_id: int, by: By) -> str:
        """Take the lease from its worker; the attempt is not charged."""
        return str(self._do("take_back", by, job_id=job_id))

    def prolong(self, job_id: int, span: timedelta, by: By) -> datetime:
        """Let a lease last for `span` from now; returns its end."""
        until: datetime = self._do("prolong", by, job_id=job_id, by=span)
        return until

    def replay(self, job_id: int, run_at: datetime | None, by: By) -> str:
        """Bring a dead job to life, under the same key; from `run_at` on, or now."""
        return str(self._do("replay", by, job_id=job_id, run_at=run_at))

    def discard(self, job_id: int, by: By) -> str:
        """Put a dead letter away."""
        return str(self._do("discard", by, job_id=job_id))

    def pause(self, queue: str, until: datetime | None, by: By) -> None:
        """Stop the claims of a queue."""
        self._do("pause_queue", by, queue=queue, until=until)

    def resume(self, queue: str, by: By) -> bool:
        """Let them go on; False if it was not paused."""
        return bool(self._do("resume_queue", by, queue=queue))

    def resolve(self, key: str, effect: str, result: str | None, by: By, *, happened: bool) -> str:
        """Say whether an effect that was begun has happened; returns its state."""
        given = {"scope": key, "name": effect, "happened": happened, "result": result}
        return str(self._do("effect_resolve", by, **given))

    def _do(self, statement: str, who: By, **parameters: Any) -> Any:
        """Run a function that answers with one value."""
        given = {**parameters, "actor": who.actor, "reason": who.reason}
        with refusals():
            (row,) = self._session.run(statement, given)
        return next(iter(row.values()))


@contextmanager
def refusals() -> Iterator[None]:
    """What a refusal by a function means to who typed the command."""
    try:
        yield
    except StoreError as error:
        said = str(error).removeprefix("database: ")
        if error.sqlstate == _NO_SUCH:
            shown = "`jobs list`, `queue list` and `effects list` show what there is"
            raise ConfigError(f"{said}; {shown}") from error
        if error.sqlstate == _WRONG_STATE:
            raise RefusedError(f"{said}; `jobs show` says where it stands") from error
        raise
