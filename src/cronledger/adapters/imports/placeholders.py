"""Whether a text is still a template, whose placeholders nobody has filled in."""

from __future__ import annotations

import re
from typing import Final

# Nobody means a placeholder further into a line.
_SEEN_MAX = 4000
_FORMS: Final = (
    re.compile(r"\{\{[^{}]+\}\}"),  # Jinja, Go, Helm, Mustache, Ansible
    re.compile(r"\{\{(?!\})"),  # the same, over several words
    re.compile(r"\{%.*%\}"),  # Jinja, Twig, Liquid
    re.compile(r"<%.*%>"),  # ERB, EJS
    re.compile(r"(?<![\w.])@[A-Za-z][A-Za-z0-9_.]*@"),  # autoconf, CMake, Maven
    re.compile(r"(?<![A-Za-z0-9_])__[A-Z][A-Z0-9_]*__(?![A-Za-z0-9_])"),
    re.compile(r"(?<![A-Za-z0-9_])_[A-Z][A-Z0-9]{3,}_(?![A-Za-z0-9_])"),
    re.compile(r"%%[A-Z][A-Z0-9_]*%%"),
    re.compile(r"#\{[A-Za-z_]"),  # Ruby
)
_VARIABLE = re.compile(r"\$\{?[A-Za-z_]|\$\(|\$\{\{")
# docker ps --format '{{.Names}}' is not a template of the file: the program itself reads it.
_FORMAT_OPTION = re.compile(
    r"(?:--format|--template|-f|-o|--output)[= ]?\s*(?:go-template=)?"
    r"(\"[^\"]*\"|'[^']*'|\{\{[^{}]*\}\})"
)
_CONTROL = re.compile(
    r"\s*(?:\{%.*%\}|<%-?(?!=).*%>|\{\{-?\s*(?:[#/^!]|(?:if|else|end|range|with|define|template|"
    r"include|block|fail)\b).*\}\})\s*"
)


def in_schedule(text: str) -> str:
    """The placeholder in a text that should say when; "" if there is none."""
    text = text[:_SEEN_MAX]
    found = _first(text)
    variable = _VARIABLE.search(text)
    if not found and variable is not None:
        found = text[variable.start() :].split(maxsplit=1)[0]
    return found[:40]


def in_command(text: str) -> str:
    """The placeholder in a command; "" if there is none. A shell's own variables are none."""
    shown = _FORMAT_OPTION.sub(lambda match: _without_fields(match[0]), text[:_SEEN_MAX])
    return _first(shown)[:40]


def is_control(line: str) -> bool:
    """Whether a line is only a template's own `if`, `end` and their like."""
    return _CONTROL.fullmatch(line[:_SEEN_MAX]) is not None


def is_template(text: str) -> bool:
    """Whether a whole file holds marks of a template language with blocks."""
    lines = (line[:_SEEN_MAX] for line in text.split("\n"))
    return any(form.search(line) for line in lines for form in _FORMS[:4])


def _first(text: str) -> str:
    for form in _FORMS:
        match = form.search(text)
        if match is not None:
            return match[0]
    return ""


def _without_fields(text: str) -> str:
    return re.sub(r"\{\{[^{}]*\}\}", "", text)
