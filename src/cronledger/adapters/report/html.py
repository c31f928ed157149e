"""The report as one page: a file of its own that asks nobody for anything and runs anywhere.

Jinja renders it, because it escapes every value unless told otherwise, and the only values that are
told otherwise are our own style sheet and script. Their hashes are all that the page's policy
allows, so that even markup that slipped through would neither run nor load anything.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from cronledger.adapters.report.view import view
from cronledger.core.report import Report

FOLDER = Path(__file__).parent


def page(report: Report) -> str:
    """The page. The same report gives the same bytes."""
    style, script = _asset("page.css"), _asset("page.js")
    policy = (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; "
        "base-uri 'none'; form-action 'none'"
    )
    template = _environment().get_template("page.html.jinja")
    return template.render(page=view(report), style=style, script=script, policy=policy)


@cache
def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


@cache
def _asset(name: str) -> Markup:
    text = FOLDER.joinpath(name).read_text(encoding="utf-8")
    return Markup(text)  # noqa: S704  # our own file, no value of anyone's


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
