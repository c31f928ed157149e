"""What `--app package.module:object` finds, and what it says when it does not."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cronledger.adapters.plugins import load, load_handlers
from cronledger.errors import ConfigError

APP = """
from cronledger.worker import Handlers
app = Handlers()
@app.handler("work")
def work(job): ...
plain = {"work": work}
empty = Handlers()
class settings:
    app = plain
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A current folder of the user's; what is imported from it is forgotten."""
    before, path = set(sys.modules), list(sys.path)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pack_of_mine").mkdir()
    (tmp_path / "pack_of_mine" / "__init__.py").write_text("")
    (tmp_path / "pack_of_mine" / "jobs.py").write_text(APP)
    yield tmp_path
    sys.path[:] = path
    for name in set(sys.modules) - before:
        del sys.modules[name]


@pytest.mark.parametrize("name", ["app", "plain", "settings.app"])
def test_handlers_are_found_in_a_module_of_the_current_folder(folder: Path, name: str) -> None:
    assert list(load_handlers(f"pack_of_mine.jobs:{name}")) == ["work"]


def test_any_object_can_be_named(folder: Path) -> None:
    assert load("os.path:sep") == "/"


@pytest.mark.parametrize("dotted", ["pack_of_mine.jobs", "", ":app", "os:", "os:path."])
def test_a_path_that_is_no_path_is_refused_with_its_form(dotted: str) -> None:
    with pytest.raises(ConfigError, match=r"names no object; write package\.module:object"):
        load(dotted)


@pytest.mark.parametrize(
    ("dotted", "message"),
    [
        ("nowhere_at_all:app", "there is no module 'nowhere_at_all'; install it, or run from"),
        ("nowhere_at_all.jobs:app", "there is no module 'nowhere_at_all'"),
        ("pack_of_mine.jbos:app", r"there is no module 'pack_of_mine\.jbos'"),
        ("pack_of_mine.jobs:ap", "has no 'ap'; did you mean 'app'"),
        ("pack_of_mine.jobs:qqqq", "has no 'qqqq'; it has Handlers, app, empty"),
        ("pack_of_mine.jobs:work", "is a function, not a set of handlers"),
        ("pack_of_mine.jobs:empty", "has no handlers; register one"),
        ("os:environ", "is a _Environ, not a set of handlers"),
    ],
)
def test_what_cannot_be_found_is_named_with_a_way_out(
    folder: Path, dotted: str, message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        load_handlers(dotted)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import not_installed_here", "No module named 'not_installed_here'"),
        ("from os import nothing_such", "cannot import name 'nothing_such'"),
        ("x = 1\ny = x / 0", r"ZeroDivisionError: division by zero \(.*broken\.py:2\)"),
        ("def f(:", r"SyntaxError: .*broken\.py:1"),
        ("raise SystemExit('no config')", "SystemExit: no config"),
    ],
)
def test_an_error_inside_the_module_is_shown_and_not_taken_for_its_absence(
    folder: Path, text: str, message: str
) -> None:
    (folder / "broken.py").write_text(text)
    with pytest.raises(ConfigError, match="module broken cannot be imported: ") as caught:
        load_handlers("broken:app")
    assert caught.match(message)
