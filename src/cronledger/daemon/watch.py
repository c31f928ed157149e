"""Files that are read again when they change: looked at before they are read, so that no change in
between is overlooked."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from cronledger.core.events import WebReloaded, WebReloadFailed
from cronledger.core.web import WebSettings
from cronledger.errors import ConfigError
from cronledger.ports import Observe

Look: TypeAlias = tuple[int, int, int] | None


class Watch:
    """Knows how files looked."""

    def __init__(self, *files: Path) -> None:
        self._seen = {file: _look(file) for file in files}

    def changed(self) -> bool:
        """Whether one of them looks different from how it did when this was last asked."""
        before, self._seen = self._seen, {file: _look(file) for file in self._seen}
        return before != self._seen

    def follow(self, *files: Path) -> None:
        """These from now on; one that is known already is compared with how it looked."""
        old = self._seen
        self._seen = {file: old[file] if file in old else _look(file) for file in files}


class WebFile:
    """The web config and its certificates. Raises ConfigError if it cannot be used."""

    def __init__(self, path: Path, load: Callable[[Path], WebSettings]) -> None:
        self._path, self._load = path, load
        self._watch = Watch(path)
        self.settings = self._read()

    def changed(self) -> bool:
        """Whether the file or a certificate looks different."""
        return self._watch.changed()

    def reload(self, apply: Callable[[WebSettings], None], observe: Observe) -> None:
        """Read it again and hand it to `apply`; what cannot be used changes nothing."""
        try:
            apply(self._read())
        except ConfigError as error:
            problems = tuple(str(problem) for problem in error.problems)
            observe(WebReloadFailed(str(self._path), problems))
        else:
            observe(WebReloaded(str(self._path)))

    def _read(self) -> WebSettings:
        settings = self._load(self._path)
        files = settings.tls.files if settings.tls is not None else ()
        self._watch.follow(self._path, *map(Path, files))
        return settings


def _look(path: Path) -> Look:
    """What changes when a file is written or replaced; None while it is away."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
