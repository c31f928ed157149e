"""The worker: claims as many jobs as it has free slots, runs them, settles what ended.

One thread owns the connection and all that is counted here; attempts end on other threads and
arrive in one mailbox. Everything is tried again: a database that is away costs time, not jobs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta

from cronledger.core.events import Lifecycle, LoopFailed, LoopRecovered, Rescued
from cronledger.core.lifecycle import Lease, Settlement
from cronledger.errors import RefusedError
from cronledger.ports import Clock, Observe
from cronledger.worker.alone import Alone
from cronledger.worker.attempt import Attempt
from cronledger.worker.backoff import pause_after
from cronledger.worker.clog import Clog
from cronledger.worker.handlers import Handler
from cronledger.worker.invoke import Invoker
from cronledger.worker.keeper import Keeper
from cronledger.worker.listening import Listener, Looks
from cronledger.worker.mailbox import Mailbox
from cronledger.worker.settings import Access, WorkerSettings, refuse
from cronledger.worker.signals import STOPPING
from cronledger.worker.steps import failure_of_step, never_raising

RESCUE_LIMIT = 500
PAUSE_MAX = timedelta(seconds=30)
# How long a worker that was told twice to stop waits for handlers that end when told.
HAND_BACK = timedelta(seconds=5)
# Passes that may fail in a row before `run_until_idle` gives up; `run` never does.
FAILURES_MAX = 3


class Worker:
    """Runs `handlers` under leases."""

    def __init__(
        self,
        settings: WorkerSettings,
        handlers: Mapping[str, Handler],
        access: Access,
        clock: Clock,
        observe: Observe,
    ) -> None:
        refuse(settings, handlers)
        self._settings = settings
        self._kinds = sorted(handlers)
        self._queue = access.queue
        self._effects = access.effects
        self._clock = clock
        self._observe = never_raising(observe)
        self._keeper = Keeper(access.keeper_queue, clock, self._observe, settings.name)
        self._invoker = Invoker(handlers, self._observe)
        self._clog = Clog(settings.name, settings.concurrency, self._observe)
        self._mailbox = Mailbox(clock)
        self._alone = Alone(self._keeper, self._attempt_of)
        self._looks = Looks(clock, self._mailbox.wake, settings.poll)
        self._listener = Listener(access.wakeups, settings, self._looks, clock, self._observe)
        self._running: dict[int, Attempt] = {}
        self._unsettled: list[Attempt] = []
        self._stops = 0
        self._draining = False
        self._failures = 0
        self._paused_until = self._rescue_at = clock.monotonic()
        self._dry = False

    def run(self) -> None:
        """Work until stopped; once only."""
        self._work(until_idle=False)

    def run_until_idle(self) -> None:
        """Work until nothing is eligible and nothing runs; once only.

        Jobs that wait for a later time, retries among them, stay. Raises what the database says if
        it fails too often in a row, and RefusedError if too many handlers hang to go on.
        """
        self._work(until_idle=True)
        if self._clog.clogged:
            raise RefusedError(
                f"{self._invoker.abandoned()} handlers hang past their timeouts, so what is still "
                "eligible was not claimed; the log names them (attempt, timeout)"
            )

    def stop(self) -> None:
        """Claim no more and leave when every running attempt has ended; again: leave at once.

        Running attempts are then told to end. Those that do within five seconds are handed back,
        uncharged; the leases of the others expire. Safe in a signal handler.
        """
        self._stops += 1
        self._mailbox.wake()

    def _work(self, until_idle: bool) -> None:
        settings = self._settings
        said = f"{settings.name}: queues {', '.join(settings.queues) or 'all'}; kinds"
        self._observe(Lifecycle("worker_started", f"{said} {', '.join(self._kinds)}"))
        self._keeper.start()
        if not until_idle:
            self._listener.start()
        try:
            while not self._over(until_idle):
                self._say_draining()
                error = self._pass()
                if error is not None and until_idle and self._failures >= FAILURES_MAX:
                    raise error
                self._collect(until_idle)
        finally:
            self._leave()

    def _over(self, until_idle: bool) -> bool:
        if self._stops >= 2:
            return True
        if self._stops:
            # Past its end a lease is no reason to wait for the database any longer.
            now = self._clock.monotonic()
            return not self._running and all(now >= a.held_until for a in self._unsettled)
        nothing_to_claim = (self._dry and not self._alone.waits) or self._clog.clogged
        return until_idle and nothing_to_claim and not self._running and not self._unsettled

    def _say_draining(self) -> None:
        if self._stops and not self._draining:
            self._draining = True
            detail = f"{self._settings.name}: {len(self._running)} attempts running"
            self._observe(Lifecycle("worker_draining", detail))

    def _leave(self) -> None:
        for attempt in self._running.values():
            attempt.cancellation.cancel(STOPPING)
        if self._running:
            self._hand_back()
        self._listener.stop()
        self._keeper.stop()
        self._invoker.stop()
        left = len(self._running) + len(self._unsettled)
        detail = f"{self._settings.name}: {left} attempts left to expire"
        running = self._invoker.running()
        self._observe(Lifecycle("worker_stopped", f"{detail}, {running} handlers still running"))

    def _hand_back(self) -> None:
        """Give back the jobs whose handlers end when they are told to, so that nobody has to wait
        for their leases; of handlers that run on, the leases expire."""
        until = self._clock.monotonic() + HAND_BACK
        while self._running and (left := until - self._clock.monotonic()) > timedelta(0):
            self._take(left)
        told = [a for a in self._unsettled if not a.lost and a.was_stopped]
        for step in (lambda: self._release(told), self._settle):
            error = failure_of_step(step)
            if error is not None:
                self._pause(error)

    def _release(self, attempts: Sequence[Attempt]) -> None:
        ours = self._queue.release([attempt.lease for attempt in attempts]) if attempts else ()
        for attempt in attempts:
            mine = attempt.lease.token in ours
            self._settled(attempt, Settlement.RELEASED if mine else Settlement.STALE)

    def _pass(self) -> Exception | None:
        """Settle, rescue, claim, each whatever became of the others; the first failure."""
        now = self._clock.monotonic()
        if now < self._paused_until:
            return None
        steps = [self._settle]
        idle = self._dry and not self._running and not self._unsettled
        rescues = now >= self._rescue_at
        if rescues:
            steps.append(self._rescue)
        woken = self._looks.due()
        if self._alone.waits:
            steps.append(self._let_alone)
        elif not self._stops and (woken or not (rescues and idle)):
            steps.append(self._claim)
        errors = [error for step in steps if (error := failure_of_step(step)) is not None]
        if not errors:
            if self._failures:
                self._observe(LoopRecovered("worker", self._failures))
            self._failures = 0
            return None
        self._pause(errors[0])
        return errors[0]

    def _pause(self, error: Exception) -> None:
        self._failures += 1
        delay = pause_after(self._failures, PAUSE_MAX, self._settings.name)
        self._paused_until = self._clock.monotonic() + delay
        self._observe(LoopFailed("worker", str(error), getattr(error, "sqlstate", ""), delay))

    def _settle(self) -> None:
        """Settle what ended; what cannot be settled now stays, and the fence decides later."""
        for attempt in [a for a in self._unsettled if a.committed]:
            self._settled(attempt, Settlement.COMPLETED)
        for attempt in [a for a in self._unsettled if a.lost]:
            self._settled(attempt, Settlement.STALE)
        completed = [a for a in self._unsettled if a.failure is None]
        if completed:
            # By token: of two leases of one job, the later counts.
            completed.sort(key=lambda a: a.lease.token)
            ours = self._queue.complete(
                [a.lease for a in completed], [a.timing(a.ended) for a in completed]
            )
            for attempt in completed:
                mine = attempt.lease.token in ours
                self._settled(attempt, Settlement.COMPLETED if mine else Settlement.STALE)
        for attempt in list(self._unsettled):
            self._fail(attempt)

    def _fail(self, attempt: Attempt) -> None:
        assert attempt.failure is not None
        try:
            timing = attempt.timing(attempt.ended)
            settlement = self._queue.fail(attempt.lease, attempt.failure, timing)
        except Exception:
            # To the end of the line, so that it holds up no other for ever.
            self._unsettled.remove(attempt)
            self._unsettled.append(attempt)
            raise
        self._settled(attempt, settlement)

    def _settled(self, attempt: Attempt, settlement: Settlement) -> None:
        self._unsettled.remove(attempt)
        self._observe(attempt.ended_as(settlement))

    def _rescue(self) -> None:
        count = self._queue.rescue(RESCUE_LIMIT)
        more = count >= RESCUE_LIMIT
        self._rescue_at = self._clock.monotonic() + (
            timedelta(0) if more else self._settings.rescue
        )
        if count:
            self._dry = False
            self._observe(Rescued(count))

    def _claim(self) -> None:
        room, settings = self._room(), self._settings
        if room <= 0:
            return
        sent, busy = self._clock.monotonic(), room < settings.concurrency
        leases = self._queue.claim(
            settings.queues, self._kinds, room, settings.name, alone=not busy
        )
        self._looks.found(len(leases))
        suspect = bool(leases) and leases[0].alone
        self._dry = len(leases) < room and not suspect
        if suspect and busy:
            self._alone.hold(leases[0], sent)
        else:
            self._start(leases, sent)

    def _room(self) -> int:
        """How many jobs may be claimed now; none beside a suspect."""
        suspect = self._alone.waits or any(a.lease.alone for a in self._running.values())
        if suspect or self._clog.clogged:
            return 0
        return self._settings.concurrency - len(self._running) - len(self._unsettled)

    def _let_alone(self) -> None:
        """Begin the suspect once nothing else runs; hand it back if we are to stop."""
        if self._running or self._unsettled:
            return
        held = self._alone.take()
        if held is not None and self._stops:
            self._queue.release([held[0]])
        elif held is not None:
            self._start([held[0]], held[1])

    def _attempt_of(self, lease: Lease, sent: timedelta) -> Attempt:
        return Attempt(lease, sent, self._clock, self._effects, self._mailbox.put)

    def _start(self, leases: Sequence[Lease], sent: timedelta) -> None:
        attempts = [self._attempt_of(lease, sent) for lease in leases]
        self._running.update((attempt.lease.token, attempt) for attempt in attempts)
        self._keeper.hold(attempts)
        for attempt in attempts:
            self._invoker.start(attempt)

    def _collect(self, until_idle: bool) -> None:
        """Wait for ended attempts, a stop, or the time of the next pass."""
        self._take(self._patience(until_idle))
        if not self._stops:
            self._clog.look(self._invoker.abandoned())

    def _take(self, patience: timedelta) -> None:
        ended = self._mailbox.take(patience, expected=len(self._running))
        for attempt in ended:
            del self._running[attempt.lease.token]
        self._keeper.drop(ended)
        self._unsettled += ended

    def _patience(self, until_idle: bool) -> timedelta:
        paused = self._paused_until - self._clock.monotonic()
        if paused > timedelta(0):
            return min(paused, PAUSE_MAX)
        room, idle = self._room(), not self._running and not self._unsettled
        if not self._stops and room > 0 and (not self._dry or (until_idle and idle)):
            return timedelta(0)
        return self._looks.within(self._settings.poll)
