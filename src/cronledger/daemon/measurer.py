"""What is measured in one pass, by whoever leads, and prepared for `/metrics` by everybody."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from cronledger.core.events import Disputed, Lifecycle, Rescued
from cronledger.core.expected import Standing
from cronledger.core.exposition import Exposition
from cronledger.core.snapshot import Facts, LedgerSnapshot, Reading
from cronledger.daemon.board import Board
from cronledger.daemon.passes import Tools
from cronledger.daemon.stopwatch import Stopwatch
from cronledger.flows.measure import Neighbours, file_facts
from cronledger.ports import LeasedQueue, Measured

RESCUE_LIMIT = 1000
# For so many intervals a sidecar leads without saying so again; then another one may.
LEADS_FOR = 3
# A reading that is older than so many intervals is not shown, or ages would grow of their own
# accord until somebody leads again.
FRESH_FOR = 2


@dataclass(frozen=True, slots=True)
class Instruments:
    """What a measurement is made with. `holder` names this sidecar among all over the ledger."""

    measured: Measured
    queue: LeasedQueue
    render: Callable[[Facts], Exposition]
    holder: str


class Measurer:
    """Leads or follows, and prepares the bytes that `/metrics` serves.

    The one that leads measures the ledger, and keeps the reading for those that follow. Who follows
    and finds none that it can read, or an old one, measures for itself.
    """

    def __init__(
        self, board: Board, tools: Tools, instruments: Instruments, interval: timedelta
    ) -> None:
        self._board, self._ledger = board, tools.ledger
        self._observe, self._clock = tools.observe, tools.clock
        self._neighbours = Neighbours(tools.zones)
        self._measured, self._queue = instruments.measured, instruments.queue
        self._render, self._holder = instruments.render, instruments.holder
        self._interval = interval
        self._leads_until = timedelta(0)

    def once(self) -> timedelta:
        """One pass."""
        stopwatch = Stopwatch(self._clock)
        try:
            with stopwatch.phase("measure"):
                self._pass()
        finally:
            self._board.spent(stopwatch.spent)
        self.publish()
        return self._interval

    def _pass(self) -> None:
        board, began = self._board, self._clock.monotonic()
        followed = self._lead(began)
        sent = self._clock.now()
        now = self._ledger.now()
        board.clock_skew = sent + (self._clock.now() - sent) / 2 - now
        reading = None if board.leads else self._measured.kept()
        if reading is None or now - reading.ledger.taken_at > self._interval * FRESH_FOR:
            board.ledger = self._measure()
        else:
            board.ledger, board.drift = reading.ledger, reading.drift
        if board.leads and followed:
            self._measured.keep(self._holder, Reading(board.ledger, board.drift))
        standings = self._ledger.standings(board.file.schedules.keys())
        self._dispute(standings)
        board.file_facts = file_facts(board.file, standings, self._neighbours, now)
        board.snapshot_duration = self._clock.monotonic() - began
        board.database_up = True
        board.measured_at = self._clock.monotonic()

    def failed(self) -> None:
        """Say that the database did not answer; the last reading stays, with its age."""
        self._board.database_up = False
        if self._board.leads and self._clock.monotonic() >= self._leads_until:
            self._now_leads(False)
        self.publish()

    def publish(self) -> None:
        """Prepare the exposition of what the board holds."""
        board = self._board
        facts = board.file_facts or file_facts(board.file, (), self._neighbours, self._clock.now())
        board.exposition = self._render(
            Facts(board.process_facts(), facts, board.ledger, board.drift)
        )

    def resign(self) -> None:
        """Lead no more, so that nobody waits for us; once the passes have ended."""
        if self._board.leads:
            self._measured.resign(self._holder)

    def _lead(self, sent: timedelta) -> bool:
        span = self._interval * LEADS_FOR
        lead = self._measured.lead(self._holder, span)
        self._leads_until = sent + span
        self._now_leads(lead.leads)
        return lead.followed

    def _now_leads(self, leads: bool) -> None:
        board = self._board
        if leads == board.leads:
            return
        if leads or board.leads is not None:
            board.leader_transitions += 1
        board.leads = leads
        what = "sidecar_leads" if leads else "sidecar_follows"
        self._observe(Lifecycle(what, self._holder))

    def _measure(self) -> LedgerSnapshot:
        """Hygiene first, so that the reading shows its effect."""
        rescued = self._queue.rescue(RESCUE_LIMIT)
        if rescued:
            self._observe(Rescued(rescued))
        self._measured.fold_counters()
        return self._measured.snapshot()

    def _dispute(self, standings: Sequence[Standing]) -> None:
        """Say so when schedules that our file declares were ended in the ledger."""
        if not self._board.ticked:
            return  # what the file takes up again is ended until it is noted
        ours = self._board.file.schedules
        ended = (s.name for s in standings if s.versions[-1].effective_to is not None)
        disputed = tuple(name for name in ended if name in ours)
        if disputed and disputed != self._board.disputed:
            self._observe(Disputed(disputed))
        self._board.disputed = disputed
