"""Where promtool is, for the tests that let Prometheus itself judge."""

from __future__ import annotations

import os
import shutil

import pytest


def promtool() -> str:
    """The program's path. Without it: a failure in CI, a skipped test elsewhere."""
    found = shutil.which("promtool")
    if found is not None:
        return found
    if os.environ.get("CI"):
        pytest.fail("promtool is not installed; apt-get install prometheus")
    pytest.skip("promtool is not installed; apt-get install prometheus to run this test")
