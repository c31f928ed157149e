"""Where an exception was raised, in a few words that quote neither a message nor a value."""

from __future__ import annotations

import contextlib
import os
import sysconfig
import traceback
from pathlib import Path

FILE_MAX = 120
FUNCTION_MAX = 60

_LIBRARIES = frozenset({"site-packages", "dist-packages"})
_STANDARD = (Path(os.__file__).parent, Path(sysconfig.get_path("stdlib")))
_OURS = Path(__file__).parent


def place_of(error: BaseException) -> str | None:
    """Such as `jobs.py:42 in nightly_report`; None if the exception was never raised.

    The innermost frame of the user's own code, or else the innermost. The file is named from the
    current directory if it lies below, or else by its last two parts. Of an exception with a
    cause, its own place and not the cause's.
    """
    frames = [
        (frame.f_code.co_filename, line, frame.f_code.co_name)
        for frame, line in traceback.walk_tb(error.__traceback__)
    ]
    if not frames:
        return None
    file, line, function = next((f for f in reversed(frames) if _is_theirs(f[0])), frames[-1])
    return _storable(f"{_short(file)[-FILE_MAX:]}:{line} in {function[:FUNCTION_MAX]}")


def _is_theirs(file: str) -> bool:
    """Neither the standard library, nor installed, nor what calls the handler."""
    path = Path(file)
    return (
        not file.startswith("<frozen ")
        and not _LIBRARIES.intersection(path.parts)
        and not any(map(path.is_relative_to, (*_STANDARD, _OURS)))
    )


def _short(file: str) -> str:
    # The current directory may be gone (OSError), or elsewhere (ValueError).
    with contextlib.suppress(OSError, ValueError):
        here = Path.cwd()
        return (here / file).relative_to(here).as_posix()
    return "/".join(Path(file).parts[-2:])


def _storable(text: str) -> str:
    """Code that was compiled from text names its file as it likes; a place is one line of text."""
    return "".join(char if char.isprintable() else "?" for char in text)
