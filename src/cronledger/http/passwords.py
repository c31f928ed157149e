"""Is this the password of that user? At bcrypt's price once, then from memory.

A scrape every few seconds must not cost a tenth of a second of CPU each time, and neither must a
scraper with a wrong password. What is remembered is a keyed digest, never a password.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import hmac
import os
from collections import OrderedDict
from collections.abc import Callable, Mapping

# Whether a password (at most PASSWORD_BYTES_MAX, no NUL) has this bcrypt hash.
CheckPassword = Callable[[bytes, bytes], bool]

PASSWORD_BYTES_MAX = 72  # bcrypt looks at no more
REMEMBERED_MAX = 100
# How many may wait for their turn at bcrypt; it takes one at a time.
WAITING_MAX = 16


class BusyError(Exception):
    """Too many others wait for their password to be checked."""


class Passwords:
    """Checks passwords. All on one event loop."""

    def __init__(self, check: CheckPassword) -> None:
        self._check = check
        self._key = os.urandom(32)
        # Apart, so that no flood of wrong ones drives out the right ones.
        self._right: OrderedDict[bytes, bool] = OrderedDict()
        self._wrong: OrderedDict[bytes, bool] = OrderedDict()
        self._turn = asyncio.Lock()
        self._waiting = 0

    async def match(self, users: Mapping[str, str], header: str) -> bool:
        """Whether an Authorization header names one of `users` (hashes) with its password.

        Raises BusyError rather than let a queue grow. An unknown user costs what a known one
        does, so that the time of the answer does not tell who exists.
        """
        found = _credentials(header)
        if found is None or not users:
            return False
        name, password = found
        # For an unknown user somebody's hash, the dearest, is checked all the same.
        hashed = users.get(name) or max(users.values(), key=lambda one: one.split("$")[2])
        digest = self._digest(name, password, hashed)
        known = self._remembered(digest)
        if known is not None:
            return known
        if self._waiting >= WAITING_MAX:
            raise BusyError
        self._waiting += 1
        try:
            async with self._turn:
                known = self._remembered(digest)
                if known is None:
                    known = await asyncio.to_thread(self._matches, password, hashed)
                    known = known and name in users
                    self._remember(digest, known)
                return known
        finally:
            self._waiting -= 1

    def _matches(self, password: bytes, hashed: str) -> bool:
        fits = len(password) <= PASSWORD_BYTES_MAX and b"\0" not in password
        same = self._check(password.replace(b"\0", b" ")[:PASSWORD_BYTES_MAX], hashed.encode())
        return same and fits

    def _digest(self, name: str, password: bytes, hashed: str) -> bytes:
        # A NUL cannot stand in a name or a hash, so no two triples read alike.
        text = b"\0".join((hashed.encode(), name.encode(), password))
        return hmac.digest(self._key, text, hashlib.sha256)

    def _remembered(self, digest: bytes) -> bool | None:
        for memory in (self._right, self._wrong):
            if digest in memory:
                memory.move_to_end(digest)
                return memory[digest]
        return None

    def _remember(self, digest: bytes, right: bool) -> None:
        memory = self._right if right else self._wrong
        memory[digest] = right
        if len(memory) > REMEMBERED_MAX:
            memory.popitem(last=False)


def _credentials(header: str) -> tuple[str, bytes] | None:
    """User and password of a Basic Authorization header; None if it is none."""
    scheme, _, encoded = header.partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        name, colon, password = base64.b64decode(encoded.strip(), validate=True).partition(b":")
        return (name.decode(), password) if colon and b"\0" not in name else None
    except (binascii.Error, UnicodeDecodeError):
        return None
