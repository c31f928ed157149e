"""What a dotted path such as `myapp.jobs:app` means: an object in a module of the user's."""

from __future__ import annotations

import difflib
import importlib
import sys
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from cronledger.errors import ConfigError


def load_handlers(dotted: str) -> Mapping[str, Callable[[Any], object]]:
    """The handlers by kind at `package.module:object`. Raises ConfigError."""
    found = load(dotted)
    if not isinstance(found, Mapping) or not all(
        isinstance(kind, str) and callable(handler) for kind, handler in found.items()
    ):
        raise ConfigError(
            f"{dotted} is a {type(found).__name__}, not a set of handlers; "
            "name a cronledger.worker.Handlers, or a dict of functions by kind"
        )
    if not found:
        raise ConfigError(f"{dotted} has no handlers; register one with @app.handler('kind')")
    return found


def load(dotted: str) -> object:
    """The object at `package.module:object`, the current folder included. Raises ConfigError."""
    module_name, colon, path = dotted.partition(":")
    parts = path.split(".")
    if not colon or not module_name or not all(parts):
        raise ConfigError(f"{dotted!r} names no object; write package.module:object")
    found: object = _module(module_name)
    for part in parts:
        if not hasattr(found, part):
            raise ConfigError(f"{dotted}: {_missing(module_name, found, part)}")
        found = getattr(found, part)
    return found


def _module(name: str) -> ModuleType:
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    # A folder made after the last look would stay unseen.
    importlib.invalidate_caches()
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and f"{name}.".startswith(f"{error.name}."):
            raise ConfigError(
                f"there is no module {error.name!r}; "
                f"install it, or run from the folder that holds it (this is {here})"
            ) from None
        raise _broken(name, error) from error
    except (Exception, SystemExit) as error:
        raise _broken(name, error) from error


def _broken(name: str, error: BaseException) -> ConfigError:
    """The module's own error, with the line of the user's that it came from."""
    line = traceback.format_exception_only(error)[-1].strip()
    if isinstance(error, SyntaxError):
        return ConfigError(f"module {name} cannot be imported: {line} ({_at(error)})")
    theirs = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename != __file__ and "importlib" not in frame.filename
    ]
    place = f" ({theirs[-1].filename}:{theirs[-1].lineno})" if theirs else ""
    return ConfigError(f"module {name} cannot be imported: {line}{place}")


def _at(error: SyntaxError) -> str:
    return f"{error.filename}:{error.lineno}"


def _missing(module: str, owner: object, name: str) -> str:
    public = [each for each in dir(owner) if not each.startswith("_")]
    close = difflib.get_close_matches(name, public, n=1)
    if close:
        return f"{module} has no {name!r}; did you mean {close[0]!r}?"
    return f"{module} has no {name!r}; it has {', '.join(public[:10]) or 'nothing public'}"
