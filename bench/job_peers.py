"""Other queues on PostgreSQL, as their users would run them: enqueue, drain, start on an idle one.

A peer that is not installed is left out, and says so. Each has tables of its own in one database.
"""

from __future__ import annotations

import asyncio
import json
import logging
import shutil
import subprocess
import time
from collections.abc import Awaitable, Callable, Sequence
from importlib import import_module, metadata
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote

import psycopg

GRAPHILE = Path(__file__).parent / "graphile"
Batches = Sequence[Sequence[str]]


class Peer(Protocol):
    """Times are seconds; of `starts`, milliseconds from before the enqueue to the handler."""

    name: str

    def enqueue(self, batches: Batches) -> float:
        """Each batch in a transaction of its own."""

    def known(self, batches: Batches) -> float | None:
        """The same, of keys that all wait already; None where it cannot."""

    def drain(self, jobs: int) -> float:
        """Run all that waits by a handler that does nothing."""

    def starts(self, jobs: int, gap: float) -> list[float]:
        """Enqueue to a worker that waits, one after the other."""

    def close(self) -> None:
        """End what was begun."""


def timed(loop: asyncio.AbstractEventLoop, call: Callable[[], Awaitable[object]]) -> float:
    """Seconds of one call on the loop."""
    began = time.perf_counter()
    loop.run_until_complete(call())
    return time.perf_counter() - began


class Procrastinate:
    """Its own batch call, and its asynchronous worker with a hundred jobs at a time."""

    def __init__(self, dsn: str) -> None:
        made = import_module("procrastinate")
        self.name = f"procrastinate {metadata.version('procrastinate')}"
        logging.getLogger("procrastinate").setLevel(logging.CRITICAL)
        self._loop = asyncio.new_event_loop()
        self._app = made.App(connector=made.PsycopgConnector(conninfo=dsn, max_size=10))
        self._ran: dict[int, float] = {}
        self._task = self._app.task(name="work", pass_context=False)(self._work)
        self._loop.run_until_complete(self._app.open_async())
        self._loop.run_until_complete(self._app.schema_manager.apply_schema_async())

    async def _work(self, n: int = -1) -> None:
        self._ran[n] = time.perf_counter()

    def enqueue(self, batches: Batches) -> float:
        async def run() -> None:
            for keys in batches:
                await self._task.batch_defer_async(*[{} for _ in keys])

        return timed(self._loop, run)

    def known(self, batches: Batches) -> float | None:  # noqa: ARG002  # one known key fails all
        return None

    def drain(self, jobs: int) -> float:  # noqa: ARG002  # it ends by itself
        async def run() -> None:
            await self._app.run_worker_async(
                wait=False, concurrency=100, listen_notify=False, install_signal_handlers=False
            )

        return timed(self._loop, run)

    def starts(self, jobs: int, gap: float) -> list[float]:
        async def run() -> list[float]:
            worker = asyncio.create_task(
                self._app.run_worker_async(concurrency=10, install_signal_handlers=False)
            )
            await asyncio.sleep(1)
            began = []
            for n in range(jobs):
                await asyncio.sleep(gap)
                began.append(time.perf_counter())
                await self._task.defer_async(n=n)
            while len(self._ran.keys() & set(range(jobs))) < jobs:
                await asyncio.sleep(0.02)
            worker.cancel()
            await asyncio.gather(worker, return_exceptions=True)
            return [(self._ran[n] - at) * 1000 for n, at in enumerate(began)]

        return self._loop.run_until_complete(run())

    def close(self) -> None:
        self._loop.run_until_complete(self._app.close_async())


class PgQueuer:
    """On asyncpg, in batches of five hundred."""

    def __init__(self, dsn: str) -> None:
        self._made = import_module("pgqueuer")
        self._types = import_module("pgqueuer.domain.types")
        self.name = f"pgqueuer {metadata.version('pgqueuer')}"
        logging.getLogger("pgqueuer").setLevel(logging.CRITICAL)
        self._loop = asyncio.new_event_loop()
        self._dsn = _url(dsn)
        self._driver = self._loop.run_until_complete(self._connect())
        self._queries = self._made.Queries(self._driver)
        self._loop.run_until_complete(self._queries.install())

    async def _connect(self) -> Any:
        return self._made.AsyncpgDriver(await import_module("asyncpg").connect(self._dsn))

    def enqueue(self, batches: Batches) -> float:
        async def run() -> None:
            for keys in batches:
                n = len(keys)
                await self._queries.enqueue(["work"] * n, [None] * n, [0] * n)

        return timed(self._loop, run)

    def known(self, batches: Batches) -> float | None:
        async def run() -> None:
            for keys in batches:
                n = len(keys)
                await self._queries.enqueue(
                    ["work"] * n,
                    [None] * n,
                    [0] * n,
                    dedupe_key=list(keys),
                    on_conflict="skip",
                )

        timed(self._loop, run)
        return timed(self._loop, run)

    def drain(self, jobs: int) -> float:  # noqa: ARG002  # it ends by itself
        async def run() -> None:
            worker = self._made.PgQueuer(await self._connect())

            @worker.entrypoint("work")  # type: ignore[untyped-decorator]  # it has no types
            async def work(_: object) -> None: ...

            await worker.run(mode=self._types.QueueExecutionMode.drain, batch_size=500)

        return timed(self._loop, run)

    def starts(self, jobs: int, gap: float) -> list[float]:
        async def run() -> list[float]:
            ran: dict[int, float] = {}
            worker = self._made.PgQueuer(await self._connect())

            @worker.entrypoint("start")  # type: ignore[untyped-decorator]  # it has no types
            async def start(job: Any) -> None:
                ran[int(job.payload)] = time.perf_counter()

            running = asyncio.create_task(worker.run())
            await asyncio.sleep(1)
            began = []
            for n in range(jobs):
                await asyncio.sleep(gap)
                began.append(time.perf_counter())
                await self._queries.enqueue("start", str(n).encode())
            while len(ran) < jobs:
                await asyncio.sleep(0.02)
            worker.shutdown.set()
            await asyncio.gather(running, return_exceptions=True)
            return [(ran[n] - at) * 1000 for n, at in enumerate(began)]

        return self._loop.run_until_complete(run())

    def close(self) -> None:
        self._loop.close()


class Graphile:
    """In Node.js, with its local queue and completions in batches. Its jobs leave no history."""

    def __init__(self, dsn: str) -> None:
        if shutil.which("npm") is None:
            raise ImportError("there is no Node.js here")
        if not (GRAPHILE / "node_modules").exists():
            subprocess.run(["npm", "ci", "--silent"], cwd=GRAPHILE, check=True)
        found = json.loads((GRAPHILE / "node_modules/graphile-worker/package.json").read_text())
        self.name = f"graphile-worker {found['version']}"
        self._process = subprocess.Popen(
            ["node", "peer.mjs", _url(dsn)],
            cwd=GRAPHILE,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={"PATH": "/usr/local/bin:/usr/bin:/bin", "GRAPHILE_LOGGER_DEBUG": "0"},
        )
        assert self._answer() == "ready"

    def _answer(self) -> Any:
        assert self._process.stdout
        for line in self._process.stdout:
            if line.startswith("answer "):  # its log goes to the same pipe
                return json.loads(line.removeprefix("answer "))
        raise RuntimeError("graphile-worker has ended")

    def _ask(self, **command: Any) -> Any:
        assert self._process.stdin
        self._process.stdin.write(json.dumps(command) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def enqueue(self, batches: Batches) -> float:
        return float(self._ask(op="enqueue", batches=batches, keyed=False))

    def known(self, batches: Batches) -> float | None:
        self._ask(op="enqueue", batches=batches, keyed=True)
        return float(self._ask(op="enqueue", batches=batches, keyed=True))

    def drain(self, jobs: int) -> float:  # noqa: ARG002  # it ends by itself
        return float(self._ask(op="drain"))

    def starts(self, jobs: int, gap: float) -> list[float]:
        return list(self._ask(op="starts", n=jobs, gap=gap))

    def close(self) -> None:
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait(20)


def peers(dsn: str) -> list[Peer]:
    """Those that are installed, each in a database of its own on the server of `dsn`."""
    found: list[Peer] = []
    for kind in (Procrastinate, PgQueuer, Graphile):
        name = f"bench_{kind.__name__.lower()}"
        with psycopg.connect(dsn, autocommit=True) as admin:
            admin.execute(f"create database {name}".encode())
        try:
            found.append(kind(psycopg.conninfo.make_conninfo(dsn, dbname=name)))
        except ImportError as error:
            print(f"{kind.__name__.lower()} is left out: {error}")
    return found


def _url(dsn: str) -> str:
    """As a URL, for those who read no other."""
    parts = psycopg.conninfo.conninfo_to_dict(dsn)
    user, name = parts.get("user", ""), parts.get("dbname", "")
    if str(parts.get("host", "")).startswith("/"):
        return f"postgresql://{user}@/{name}?host={quote(str(parts['host']), safe='')}"
    return f"postgresql://{user}@{parts.get('host')}:{parts.get('port', 5432)}/{name}"
