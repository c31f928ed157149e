"""Runs the command of a job: its environment, its output, its exit status, its whole process group.

Whatever ends the attempt ends the command: a lost lease, a timeout, a cancellation, a stop.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import threading
from collections import deque
from collections.abc import Mapping, Sequence

from cronledger.core.instants import format_instant
from cronledger.ports import Outputs
from cronledger.worker.context import JobContext
from cronledger.worker.signals import Discard, Retry

KIND = "exec"
# As sysexits.h has it, and as other schedulers do.
EXIT_RETRY = 75
EXIT_DISCARD = 100
OUTPUT_MAX = 16 * 1024
SAID_MAX = 1500
GRACE_SECONDS = 3.0
LOOK_SECONDS = 0.1
CHUNK = 64 * 1024
# What the worker itself connects with is no business of a command.
_OURS = frozenset({"CRONLEDGER_DATABASE_URL"})


class CommandFailed(Exception):  # noqa: N818  # an error class that people read in `jobs list`
    """The command ended with a status that is neither success, retry nor discard."""


class Command:
    """The handler of kind `exec`. `environ` is that of the worker."""

    def __init__(self, outputs: Outputs, environ: Mapping[str, str]) -> None:
        self._outputs = outputs
        self._keeping = threading.Lock()
        self._environ = {name: text for name, text in environ.items() if name not in _OURS}

    def __call__(self, job: JobContext) -> None:
        """Run it to its end. Raises Retry, Discard, CommandFailed, or Cancelled once it is gone."""
        started = self._start(job)
        tail = _Tail(started, str(job.payload.get("stdin", "")))
        try:
            while started.poll() is None and not job.cancelled:
                _wait(started, LOOK_SECONDS)
        finally:
            _end(started)
            text = tail.close()
        with self._keeping:
            self._outputs.keep_output(job.job_id, job.token, started.returncode, text)
        job.check()
        _judge(started.returncode, text)

    def _start(self, job: JobContext) -> subprocess.Popen[bytes]:
        command = job.payload.get("command")
        try:
            return subprocess.Popen(  # noqa: S603  # running what the schedule says is the point
                _argv(command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env={**self._environ, **_environment(job)},
                start_new_session=True,
            )
        except OSError as error:
            raise CommandFailed(f"cannot start {_argv(command)[0]!r}: {error.strerror}") from error


def _argv(command: object) -> Sequence[str]:
    """Text is for the shell; a list is a program and its arguments."""
    if isinstance(command, str) and command:
        return ["/bin/sh", "-c", command]
    if isinstance(command, list) and command and all(isinstance(word, str) for word in command):
        return command
    raise Discard("the job has no command; write job: {command: ...} in its schedule")


def _environment(job: JobContext) -> dict[str, str]:
    given = job.payload.get("environment")
    extra = {str(k): str(v) for k, v in given.items()} if isinstance(given, Mapping) else {}
    time = job.logical_time
    return extra | {
        "CRONLEDGER_KEY": job.key,
        "CRONLEDGER_LOGICAL_TIME": "" if time is None else format_instant(time),
        "CRONLEDGER_ATTEMPT": str(job.attempt),
        "CRONLEDGER_MAX_ATTEMPTS": str(job.max_attempts),
        "CRONLEDGER_JOB_ID": str(job.job_id),
        "CRONLEDGER_QUEUE": job.queue,
        "CRONLEDGER_TOKEN": str(job.token),
        "CRONLEDGER_PAYLOAD": json.dumps(dict(job.payload)),
    }


class _Tail:
    """Feeds a process its input and keeps the last part of its output, on two threads."""

    def __init__(self, process: subprocess.Popen[bytes], stdin: str) -> None:
        self._process = process
        self._kept: deque[bytes] = deque()
        self._size = 0
        self._closing = threading.Event()
        self._threads = [
            threading.Thread(target=self._feed, args=(stdin.encode(),), daemon=True),
            threading.Thread(target=self._read, daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def close(self) -> str:
        """The last `OUTPUT_MAX` bytes, as text that can be stored."""
        self._closing.set()
        self._threads[1].join()
        whole = b"".join(self._kept)[-OUTPUT_MAX:]
        return whole.decode("utf-8", "replace").replace("\x00", "\\0")

    def _feed(self, stdin: bytes) -> None:
        assert self._process.stdin is not None
        try:
            with self._process.stdin as pipe:
                pipe.write(stdin)
        except BrokenPipeError:
            return  # it did not want to read all of it

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as pipe:
            while True:
                ready, _, _ = select.select([pipe], [], [], LOOK_SECONDS)
                chunk = os.read(pipe.fileno(), CHUNK) if ready else b""
                # A grandchild of its own session may hold the pipe for ever: nobody waits for it.
                if (ready and not chunk) or (not ready and self._closing.is_set()):
                    return
                self._keep(chunk)

    def _keep(self, chunk: bytes) -> None:
        self._kept.append(chunk)
        self._size += len(chunk)
        while self._size - len(self._kept[0]) >= OUTPUT_MAX:
            self._size -= len(self._kept.popleft())


def _wait(process: subprocess.Popen[bytes], seconds: float) -> bool:
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True


def _end(process: subprocess.Popen[bytes]) -> None:
    """End what is left of the process and of its group: first asked, then killed."""
    for number, patience in ((signal.SIGTERM, GRACE_SECONDS), (signal.SIGKILL, None)):
        running = process.poll() is None
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            break
        if running and (patience is None or _wait(process, patience)):
            continue
    process.wait()


def _judge(status: int, text: str) -> None:
    said = text[-SAID_MAX:].strip()
    if status == 0:
        return
    if status == EXIT_RETRY:
        raise Retry(reason=said or "exit status 75")
    if status == EXIT_DISCARD:
        raise Discard(said or "exit status 100")
    how = f"killed by {signal.Signals(-status).name}" if status < 0 else f"exit status {status}"
    raise CommandFailed(f"{how}: {said}" if said else how)
