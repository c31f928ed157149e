"""A queue of the file: its shape, and what it is with the defaults of the core filled in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cronledger.adapters.config.findings import shown
from cronledger.adapters.config.models import (
    NAME_FORM,
    QUEUE_NAME,
    Attempts,
    Batch,
    BudgetModeName,
    Delay,
    Kept,
    Lease,
    Objective,
    Retries,
    Timeout,
    given_by,
)
from cronledger.adapters.config.strict import Strict
from cronledger.core.schedule import QueueSpec, Retention

if TYPE_CHECKING:
    from cronledger.adapters.config.part import Part


class BackoffModel(Strict):
    base: Delay | None = None
    cap: Delay | None = None


class QueueModel(Strict):
    objective: Objective | None = None
    lease: Lease | None = None
    max_attempts: Attempts | None = None
    timeout: Timeout | None = None
    backoff: BackoffModel | None = None
    retry_budget: Retries | None = None
    budget_mode: BudgetModeName | None = None
    tenant_limit: Batch | None = None


class RetentionModel(Strict):
    jobs: Kept | None = None
    keys: Kept | None = None
    receipts: Kept | None = None
    occurrences: Kept | None = None


def build_queue(part: Part, name: str) -> QueueSpec:
    """One queue; what it leaves out is as the core has it."""
    if QUEUE_NAME.fullmatch(name) is None:
        part.refuse_at(part.place, f"{shown(name)} is no queue name; write {NAME_FORM}")
    model = part.shape(QueueModel)
    given = given_by(model)
    backoff = given_by(given.pop("backoff", None))
    queue = QueueSpec(name, **given, **{f"backoff_{key}": span for key, span in backoff.items()})
    if queue.backoff_cap < queue.backoff_base:
        part.refuse(["backoff"], "backoff: cap is shorter than base; write a longer cap")
    return queue


def build_retention(part: Part) -> Retention:
    """How long what has ended is kept; each of them outlives the one before it."""
    kept = Retention(**given_by(part.shape(RetentionModel)))
    if kept.keys < kept.jobs:
        part.refuse(["keys"], "keys: shorter than jobs; a key that is forgotten can run again")
    if kept.receipts < kept.keys:
        part.refuse(["receipts"], "receipts: shorter than keys; a job could repeat its effects")
    if kept.occurrences is not None and kept.occurrences < kept.receipts:
        part.refuse(["occurrences"], "occurrences: shorter than receipts; write a longer one")
    return kept
