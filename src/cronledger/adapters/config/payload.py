"""A payload from the file: JSON by the rules of YAML 1.2's JSON schema, storable as jsonb."""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Any

from cronledger.adapters.config.nodes import ListNode, MapNode, Node, TextNode, kind_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from cronledger.adapters.config.findings import Place

MAX_PAYLOAD_BYTES = 64 * 1024
# PostgreSQL reads numbers far longer; nobody means one, and Python refuses some of them.
MAX_DIGITS = 300

_WORDS = {"null": None, "true": True, "false": False}
_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]*)")
_FLOAT = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?(?:\.?inf(?:inity)?|\.?nan)", re.IGNORECASE)


def read_payload(node: Node, refuse: Callable[[Place, str], None]) -> dict[str, Any]:
    """The JSON object that `node` spells; what is wrong with it goes to `refuse`.

    A plain `true`, `false`, `null` or number is that; every other scalar is text as written.
    """
    if not isinstance(node, MapNode):
        if isinstance(node, TextNode | ListNode):
            message = f"payload: expected a mapping, got {kind_of(node)}; write {{name: value}}"
            refuse(node.place, message)
        return {}
    found = {key: _value(entry.value, refuse) for key, entry in node.entries.items()}
    size = len(json.dumps(found, ensure_ascii=False, separators=(",", ":")).encode())
    if size > MAX_PAYLOAD_BYTES:
        limit = f"at most {MAX_PAYLOAD_BYTES} are stored"
        refuse(node.place, f"payload: {size} bytes of JSON, {limit}; hold the data elsewhere")
    return found


def _value(node: Node, refuse: Callable[[Place, str], None]) -> Any:
    match node:
        case MapNode():
            return {key: _value(entry.value, refuse) for key, entry in node.entries.items()}
        case ListNode():
            return [_value(item, refuse) for item in node.items]
        case TextNode(plain=True):
            try:
                return _plain(node.text)
            except ValueError as error:
                refuse(node.place, f"payload: {error}")
                return None
        case TextNode():
            return node.text
        case _:
            return None


def _plain(text: str) -> Any:
    if not text:
        raise ValueError('no value; write null, or "" for an empty text')
    if text in _WORDS:
        return _WORDS[text]
    if _NOT_FINITE.fullmatch(text):
        raise ValueError(f"{text} is not a JSON number; put it in quotes if text is meant")
    if len(text) > MAX_DIGITS and _FLOAT.fullmatch(text):
        raise ValueError(f"a number of {len(text)} characters; put it in quotes")
    if _INTEGER.fullmatch(text):
        return int(text)
    if _FLOAT.fullmatch(text):
        number = float(text)
        if not math.isfinite(number):
            raise ValueError(f"{text} is too large for a number; put it in quotes")
        return number
    return text
