"""Where Debian's programs are, for the tests that let the receiving program itself judge."""

from __future__ import annotations

import os
import shutil

import pytest


def program(name: str, package: str) -> str:
    """Its path. Without it: a failure in CI, a skipped test elsewhere."""
    found = shutil.which(name)
    if found is not None:
        return found
    if os.environ.get("CI"):
        pytest.fail(f"{name} is not installed; apt-get install {package}")
    pytest.skip(f"{name} is not installed; apt-get install {package} to run this test")
