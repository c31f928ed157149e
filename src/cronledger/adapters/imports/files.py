"""Reading a source from the disk, or from standard input, within bounds."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from cronledger.adapters.imports.convert import MAX_BYTES
from cronledger.errors import ConfigError, Problem

STDIN = "-"


def read_source(path: str) -> bytes:
    """The bytes at `path`, `-` for standard input. Raises ConfigError if they cannot be read.

    One byte more than `MAX_BYTES` is read at most, so that the caller sees that there are more.
    """
    if path == STDIN:
        return sys.stdin.buffer.read(MAX_BYTES + 1)
    found = Path(path)
    try:
        if found.is_dir():
            raise _unreadable(path, "is a directory; name a file in it")
        with found.open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise _unreadable(path, "there is no such file; name one that exists") from None
    except PermissionError:
        raise _unreadable(path, "may not be read by this user; change its permissions") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise _unreadable(path, f"cannot be read ({reason}); name a readable file") from None


def beside(path: str) -> Callable[[str], str | None]:
    """Gives the text of a file in the folder of `path` by its name; None if it cannot be read."""

    def read(name: str) -> str | None:
        if path == STDIN or name != Path(name).name or "\0" in name:
            return None
        try:
            with (Path(path).parent / name).open("rb") as file:
                return file.read(MAX_BYTES).decode("utf-8")
        except (OSError, ValueError):
            return None

    return read


def _unreadable(path: str, message: str) -> ConfigError:
    return ConfigError([Problem(message, file=path)])
