"""Sidecars as processes of their own."""

from __future__ import annotations

import re
import signal
import ssl
import subprocess
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from time import monotonic

import httpx

from commands import PROGRAM, environment


class Running:
    """`cronledger run` over a file and a database, with what it says on stderr.

    `trusting` is how its TLS is verified; `changes` are of its environment.
    """

    def __init__(
        self,
        file: Path,
        database: str,
        *options: str,
        trusting: ssl.SSLContext | bool = True,
        **changes: str,
    ) -> None:
        self._process = subprocess.Popen(
            [*PROGRAM, "run", str(file), "--listen", "127.0.0.1:0", "--measure-every",
             "1s", "--reconcile-every", "1s", "--database", database, *options],
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
            env=environment(**changes),
        )  # fmt: skip
        self._said: Queue[str] = Queue()
        self._listener = Thread(target=self._listen)
        self._listener.start()
        self.address = ""
        self.said: list[str] = []
        self._trusting = trusting
        self.file = file

    def _listen(self) -> None:
        assert self._process.stderr is not None
        with self._process.stderr as said:
            for line in said:
                self.said.append(line)
                self._said.put(line)

    def serves(self) -> Running:
        """Itself, once it does."""
        self.address = self.hears(r"serving (https?://\S+)/metrics").group(1)
        return self

    def hears(self, pattern: str, seconds: float = 20) -> re.Match[str]:
        """The first line from now on that matches."""
        end = monotonic() + seconds
        heard = []
        while True:
            try:
                heard.append(self._said.get(timeout=max(0.01, end - monotonic())))
            except Empty:
                raise AssertionError(f"never said {pattern!r}, only {heard}") from None
            if found := re.search(pattern, heard[-1]):
                return found

    def get(self, path: str, **headers: str) -> httpx.Response:
        url = f"{self.address}{path}"
        return httpx.get(url, timeout=5, headers=headers, verify=self._trusting)

    def metric(self, name: str, **headers: str) -> float | None:
        """The value of the first series of that name, or of the one spelled with its labels."""
        labels = "" if "{" in name else r"(?:{[^}]*})?"
        said = self.get("/metrics", **headers).text
        found = re.search(rf"^{re.escape(name)}{labels} (\S+)$", said, re.M)
        return float(found.group(1)) if found else None

    def send(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Signal it, and its exit code once it has ended."""
        if self._process.poll() is None:
            self.send(number)
        code = self._process.wait(15)
        self._listener.join()
        return code
