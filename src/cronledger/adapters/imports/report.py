"""The report of an import as plain data: what became of each entry, in file order."""

from __future__ import annotations

from typing import Any

from cronledger.adapters.imports.model import Caution, CronTrigger, Decision, Entry, Every, Imported
from cronledger.adapters.imports.write import elapsed_text
from cronledger.core.cron import Layout


def report(imported: Imported) -> dict[str, Any]:
    """Counts, warnings about the source as a whole, and the entries."""
    refused = imported.count(Decision.REFUSE)
    return {
        "origin": imported.origin.value,
        "path": imported.path,
        "counts": {
            "entries": len(imported.entries),
            "carried": len(imported.entries) - refused,
            "with_warning": imported.count(Decision.WARN),
            "refused": refused,
        },
        "warnings": [_caution(caution, caution.line) for caution in imported.cautions],
        "entries": [_entry(entry) for entry in imported.entries],
    }


def _entry(entry: Entry) -> dict[str, Any]:
    return {
        "line": entry.line,
        "source": entry.source,
        "decision": entry.decision.value,
        "schedule": entry.id or None,
        "trigger": None if entry.refusal else _trigger(entry),
        "timezone": entry.zone,
        "reason": entry.refusal or None,
        "warnings": [_caution(caution, entry.line) for caution in entry.cautions],
    }


def _trigger(entry: Entry) -> str | None:
    match entry.trigger:
        case CronTrigger(text, Layout.FIVE):
            return text
        case CronTrigger(text, layout):
            return f"{text} (fields: {layout.value})"
        case Every(span):
            return f"every {elapsed_text(span)}"
        case None:
            return None


def _caution(caution: Caution, line: int) -> dict[str, Any]:
    return {"code": caution.code, "message": caution.message, "line": line or None}
