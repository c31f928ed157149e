"""Which bytes may be a schedule file: a readable file of bounded size, UTF-8, without NUL."""

from __future__ import annotations

import codecs
import re
import stat
from typing import TYPE_CHECKING

from cronledger.adapters.config.findings import Findings, Place
from cronledger.errors import ConfigError, Problem

if TYPE_CHECKING:
    from pathlib import Path

MAX_BYTES = 8 * 1024 * 1024

_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
# What YAML calls printable, and nothing else.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def read_bytes(path: Path) -> bytes:
    """The file's bytes. Raises ConfigError if it cannot be read or is larger than `MAX_BYTES`."""
    try:
        status = path.stat()
        if stat.S_ISDIR(status.st_mode):
            raise _unreadable(path, "is a directory; name the schedule file in it")
        if status.st_size > MAX_BYTES:
            raise _unreadable(path, _too_large(f"{status.st_size} bytes"))
        with path.open("rb") as file:
            # One byte more than allowed: the size of a pipe or a growing file is not known before.
            found = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        message = "there is no such file; 'cronledger init' writes one to start from"
        raise _unreadable(path, message) from None
    except PermissionError:
        raise _unreadable(path, "may not be read by this user; change its permissions") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise _unreadable(path, f"cannot be read ({reason}); name a readable file") from None
    if len(found) > MAX_BYTES:
        raise _unreadable(path, _too_large("more"))
    return found


def decode(data: bytes, findings: Findings) -> str:
    """The text of `data` without a byte order mark. Raises ConfigError at the first bad place."""
    if len(data) > MAX_BYTES:
        findings.add(Place(1, 1), _too_large(f"{len(data)} bytes"))
        raise findings.error()
    if data.startswith(_UTF16):
        findings.add(Place(1, 1), "the file is UTF-16; save it as UTF-8")
        raise findings.error()
    data = data.removeprefix(codecs.BOM_UTF8)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        place = _place_at(data[: error.start].decode("utf-8"))
        message = f"byte 0x{data[error.start]:02x} is not UTF-8; save the file as UTF-8 text"
        findings.add(place, message)
        raise findings.error() from None
    bad = _FORBIDDEN.search(text)
    if bad is not None:
        message = f"control character U+{ord(bad.group()):04X} is not text; remove it"
        findings.add(_place_at(text[: bad.start()]), message)
        raise findings.error()
    return text


def _too_large(size: str) -> str:
    return f"the file is too large ({size}); a schedule file has at most {MAX_BYTES} bytes"


def _unreadable(path: Path, message: str) -> ConfigError:
    return ConfigError([Problem(message, file=str(path))])


def _place_at(before: str) -> Place:
    return Place(before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1)
